package binaries

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// compile runs the go command with no flag that changes how packages are compiled: each set of such flags would
// begin with an empty build cache. -buildvcs belongs to the link alone; the key tells versions apart.
func (t target) compile(ctx context.Context, output string, r *reporter) error {
	if t.packages == 0 {
		r.phase("looking at its modules")
		var dependencies bytes.Buffer
		if err := t.goCommand(ctx, &dependencies, r, "list", "-deps", "--", t.pkg); err != nil {
			return err
		}
		t.packages = bytes.Count(dependencies.Bytes(), []byte("\n"))
	}
	r.compiles(t.packages)
	args := []string{"build", "-v", "-buildvcs=false", "-o", output}
	if t.ldflags != "" {
		args = append(args, "-ldflags="+t.ldflags)
	}
	if err := t.goCommand(ctx, nil, r, append(args, "--", t.pkg)...); err != nil {
		return err
	}
	r.built()
	return nil
}

// goCommand runs the go command in its own process group, so that its compilers end with it, and reads its
// progress from standard error. What is no progress is part of the error.
func (t target) goCommand(ctx context.Context, stdout *bytes.Buffer, r *reporter, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = t.module
	cmd.Env = goEnvironment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// On SIGINT the go command removes its work directory, which can be gigabytes; after WaitDelay it is killed.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	if stdout != nil {
		cmd.Stdout = stdout
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close() // for the returns before the next one; closing twice is harmless
	cmd.Stderr = write
	err = cmd.Start()
	_ = write.Close()
	if err != nil {
		return err
	}
	var complaints []string
	lines := bufio.NewScanner(read)
	lines.Buffer(nil, 1<<20) // a line beyond that ends the reading, and the command by SIGPIPE
	for lines.Scan() {
		switch line := lines.Text(); {
		case strings.HasPrefix(line, "go: downloading "):
			r.downloads()
		case strings.Contains(line, " "):
			complaints = append(complaints, line)
		default: // -v prints the import path of each package it compiles
			r.compiled()
		}
	}
	_ = read.Close()
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: %w", ctx.Err())
		}
		return fmt.Errorf("go %s in %s: %w\n%s", args[0], t.module, err, strings.Join(complaints, "\n"))
	}
	return nil
}

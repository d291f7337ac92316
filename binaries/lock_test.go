package binaries_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// lockFile makes the test binary a process that holds the lock in this file until its standard input ends.
const lockFile = "BINARIES_TEST_LOCK"

func TestMain(m *testing.M) {
	path := os.Getenv(lockFile)
	if path == "" {
		os.Exit(m.Run())
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString("locked\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// holdLock has another process hold the lock until the returned file is closed; it then waits for its end.
func holdLock(t *testing.T, path string) io.Closer {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), lockFile+"="+path)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "locked\n", line)
	return closerFunc(func() error {
		if err := in.Close(); err != nil {
			return err
		}
		return cmd.Wait()
	})
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

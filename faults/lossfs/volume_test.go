package lossfs_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/faults/lossfs"
)

// shell runs a script in another process, in the directory of the volume.
func shell(t *testing.T, dir, script string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "/bin/sh", "-c", "cd "+dir+" && "+script)
	text, err := command.CombinedOutput()
	return strings.TrimSpace(string(text)), err
}

func TestWhatIsOnTheDisk(t *testing.T) {
	none := lossfs.Survival{}
	for _, c := range []struct {
		name, script string
		want         lossfs.Image
	}{
		{"nothing that was only written", "printf abc > f", lossfs.Image{}},
		{"no name that was not synced", "printf abc > f; sync f", lossfs.Image{}},
		{"no content that was not synced", "printf abc > f; sync .", lossfs.Image{"f": {}}},
		{"what was synced with its name", "printf abc > f; sync f .", lossfs.Image{"f": []byte("abc")}},
		{"what was there before a write that was not synced", "printf abc > f; sync f .; printf def >> f", lossfs.Image{"f": []byte("abc")}},
		{"what was there before a truncation that was not synced", "printf abc > f; sync f .; truncate -s 1 f", lossfs.Image{"f": []byte("abc")}},
		{"a truncation that was synced", "printf abc > f; sync f .; truncate -s 1 f; sync f", lossfs.Image{"f": []byte("a")}},
		{"zeros where a file was made longer", "printf abc > f; truncate -s 5 f; sync f .", lossfs.Image{"f": []byte("abc\x00\x00")}},
		{"a file whose removal was not synced", "printf abc > f; sync f .; rm f", lossfs.Image{"f": []byte("abc")}},
		{"no file whose removal was synced", "printf abc > f; sync f .; rm f; sync .", lossfs.Image{}},
		{"the former file of a name that was given again", "printf abc > f; sync f .; rm f; printf new > f; sync f", lossfs.Image{"f": []byte("abc")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v, dir := mount(t, nil)
			text, err := shell(t, dir, c.script)
			require.NoError(t, err, text)
			require.Equal(t, printable(c.want), printable(v.Image(none)))
		})
	}
}

// printable also makes no difference between empty and absent content.
func printable(i lossfs.Image) map[string]string {
	texts := map[string]string{}
	for name, content := range i {
		texts[name] = string(content)
	}
	return texts
}

func TestSurvivalIsDrawnByItsSeed(t *testing.T) {
	v, dir := mount(t, nil)
	text, err := shell(t, dir, "for f in a b c d e f g h; do printf "+strings.Repeat("x", 1500)+" > $f; done")
	require.NoError(t, err, text)
	draw := func(s lossfs.Survival) map[string]string { return printable(v.Image(s)) }

	require.Len(t, draw(lossfs.Survival{Chance: 1}), 8)
	one := draw(lossfs.Survival{Chance: 0.5, Seed: 1})
	require.Equal(t, one, draw(lossfs.Survival{Chance: 0.5, Seed: 1}))
	require.NotEqual(t, one, draw(lossfs.Survival{Chance: 0.5, Seed: 2}))
	torn := 0
	for _, content := range draw(lossfs.Survival{Chance: 0.5, Seed: 1, Torn: true}) {
		if strings.Contains(content, "\x00") || len(content) == 512 || len(content) == 1024 {
			torn++
		}
	}
	require.NotZero(t, torn, "sectors of one write have different fates")

	_, drawn := v.Draw(lossfs.Survival{Chance: 1, Torn: true})
	require.Equal(t, lossfs.Drawn{Of: 8 + 8*3, Survived: 8 + 8*3}, drawn, "a name and three sectors of each file")
	_, drawn = v.Draw(lossfs.Survival{})
	require.Equal(t, lossfs.Drawn{Of: 8}, drawn, "the content of a file without a name is nowhere")
}

func TestAfterTheCutNothingWorksUntilThePowerIsBack(t *testing.T) {
	v, dir := mount(t, nil)
	text, err := shell(t, dir, "printf abc > f; sync f .; printf def > g")
	require.NoError(t, err, text)
	v.Cut()
	for _, script := range []string{"cat f", "printf x > h", "printf x >> f", "rm f"} {
		text, err := shell(t, dir, script)
		require.ErrorContains(t, err, "exit status", script)
		require.Contains(t, text, "Input/output error", script)
	}
	v.Restore(v.Image(lossfs.Survival{}))
	text, err = shell(t, dir, "cat f; ls; printf def >> f; cat f")
	require.NoError(t, err)
	require.Equal(t, "abcf\nabcdef", text)
	require.Equal(t, "abc", string(v.Image(lossfs.Survival{})["f"]))

	v.SyncAll()
	require.Equal(t, "abcdef", string(v.Image(lossfs.Survival{})["f"]), "the operating system writes everything back in the end")
}

// A program that was killed leaves its mount behind. The next one detaches it, and no mount of a program that lives.
func TestDeadVolumesAreSweptAway(t *testing.T) {
	_, alive := mount(t, nil)
	dir := t.TempDir()
	executable, err := os.Executable()
	require.NoError(t, err)
	server := exec.Command(executable)
	server.Env = append(os.Environ(), envServe+"="+dir)
	out, err := server.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, server.Start())
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err, "the volume is mounted")
	require.NoError(t, server.Process.Kill())
	require.Error(t, server.Wait())

	_, err = os.Stat(dir)
	require.ErrorContains(t, err, "transport endpoint is not connected")
	swept, err := lossfs.Sweep()
	require.NoError(t, err)
	require.Contains(t, swept, dir)
	require.NotContains(t, swept, alive)
	_, err = os.Stat(dir)
	require.NoError(t, err)
	text, err := shell(t, alive, "printf abc > f; cat f")
	require.NoError(t, err)
	require.Equal(t, "abc", text)
}

// A program that inherited the device would outlive the process that serves it, waiting for an answer.
func TestNoProgramInheritsTheDevice(t *testing.T) {
	_, dir := mount(t, nil)
	text, err := shell(t, dir, "ls -l /proc/self/fd")
	require.NoError(t, err)
	require.NotContains(t, text, "/dev/fuse")
}

func TestAMachineWithoutTheMeansIsToldWhy(t *testing.T) {
	_, err := lossfs.Mount(t.TempDir()+"/absent", lossfs.Hooks{})
	require.ErrorContains(t, err, "a lossy volume cannot be mounted")
}

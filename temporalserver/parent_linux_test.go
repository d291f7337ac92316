package temporalserver_test

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServerEndsWithAKilledCaller(t *testing.T) {
	caller := exec.Command(os.Args[0])
	caller.Env = append(os.Environ(), callerOf+"="+devserver(t))
	out, err := caller.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, caller.Start())
	pid := make([]byte, 16)
	n, err := out.Read(pid)
	require.NoError(t, err)
	number, err := strconv.Atoi(strings.TrimSpace(string(pid[:n])))
	require.NoError(t, err)

	require.NoError(t, caller.Process.Kill())
	_, err = io.ReadAll(out)
	require.NoError(t, err)
	require.Error(t, caller.Wait())
	require.Eventually(t, func() bool { return !running(number) }, 10*time.Second, 20*time.Millisecond)
}

// running says whether the process runs; one that waits only to be collected by init does not.
func running(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

package harness

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/faults"
)

// echo serves lines back on a free port, each behind the name, and counts the lines that arrived.
func echo(t *testing.T, name string) (address string, arrived <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	lines := make(chan string, 16)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for scanner := bufio.NewScanner(conn); scanner.Scan(); {
					lines <- scanner.Text()
					fmt.Fprintln(conn, name, scanner.Text())
				}
			}()
		}
	}()
	return listener.Addr().String(), lines
}

// caller is one connection to a proxy.
type caller struct {
	t    *testing.T
	conn net.Conn
}

func dial(t *testing.T, address string) caller {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	return caller{t, conn}
}

func (c caller) say(line string) { _, _ = fmt.Fprintln(c.conn, line) }

func (c caller) hear() (string, error) { return bufio.NewReader(c.conn).ReadString('\n') }

func (c caller) hears(want string) {
	c.t.Helper()
	got, err := c.hear()
	require.NoError(c.t, err)
	require.Equal(c.t, want+"\n", got)
}

func (c caller) isReset() {
	c.t.Helper()
	_, err := c.hear()
	var opErr *net.OpError
	require.ErrorAs(c.t, err, &opErr, "not an orderly end")
	require.False(c.t, opErr.Timeout(), "it was told")
}

// hearsNothing shows silence: a short deadline passes and that is all.
func (c caller) hearsNothing() {
	c.t.Helper()
	require.NoError(c.t, c.conn.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
	_, err := c.hear()
	var opErr *net.OpError
	require.ErrorAs(c.t, err, &opErr)
	require.True(c.t, opErr.Timeout(), "it was told something: %v", err)
	require.NoError(c.t, c.conn.SetDeadline(time.Now().Add(10*time.Second)))
}

// answers tells whether a new connection carries a line there and back; on a cut line even the connection may fail.
func answers(address, line string) bool {
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = fmt.Fprintln(conn, line)
	_, err = bufio.NewReader(conn).ReadString('\n')
	return err == nil
}

func newTestProxy(t *testing.T, far string) *proxy {
	t.Helper()
	p, err := newProxy(far, lineOpen)
	require.NoError(t, err)
	t.Cleanup(p.close)
	return p
}

func TestACutLineResetsWhatStandsAndWhatComes(t *testing.T) {
	far, arrived := echo(t, "far")
	p := newTestProxy(t, far)
	before := dial(t, p.address())
	before.say("one")
	before.hears("far one")
	p.set(lineCut)
	before.isReset()
	require.False(t, answers(p.address(), "two"))
	p.set(lineOpen)
	after := dial(t, p.address())
	after.say("three")
	after.hears("far three")
	require.Equal(t, []string{"one", "three"}, []string{<-arrived, <-arrived}, "what was said on a cut line never arrives")
}

func TestASilentLineTakesEverythingAndSaysNothing(t *testing.T) {
	far, arrived := echo(t, "far")
	p := newTestProxy(t, far)
	before := dial(t, p.address())
	before.say("one")
	before.hears("far one")
	p.set(lineSilent)
	before.say("two")
	before.hearsNothing()
	during := dial(t, p.address())
	during.say("three")
	during.hearsNothing()
	p.set(lineOpen)
	before.isReset()
	during.isReset()
	after := dial(t, p.address())
	after.say("four")
	after.hears("far four")
	require.Equal(t, []string{"one", "four"}, []string{<-arrived, <-arrived}, "what was said into silence is lost for good")
}

func TestAFarSideThatMovedIsFoundAtTheSameAddress(t *testing.T) {
	first, _ := echo(t, "first")
	second, _ := echo(t, "second")
	p := newTestProxy(t, first)
	c := dial(t, p.address())
	c.say("x")
	c.hears("first x")
	p.move(second)
	c = dial(t, p.address())
	c.say("x")
	c.hears("second x")
	p.move("127.0.0.1:1") // nobody is there
	require.False(t, answers(p.address(), "x"))
}

func TestOnlyWhatAPlanBreaksStandsBehindAProxy(t *testing.T) {
	for name, c := range map[string]struct {
		plan faults.Plan
		want []string
	}{
		"nothing":                         {faults.Plan{Script: []faults.Step{worker("a")}}, nil},
		"a worker that is killed":         {faults.Plan{Schedule: faults.Schedule{rule("crash", "intent.before", "a", faults.Kill)}}, nil},
		"a provider that is killed there": {faults.Plan{Schedule: faults.Schedule{rule("crash", "provider-commit.before", "provider", faults.Kill)}}, []string{"provider", "model"}},
		"a provider that is killed by a worker's point": {faults.Plan{Schedule: faults.Schedule{
			{Name: "crash", Point: point("intent.before"), Nth: 1, Action: faults.Kill, Victim: "provider"}}}, []string{"provider", "model"}},
		"a line that is cut":                 {faults.Plan{Script: []faults.Step{{Do: faults.DoCut, Kind: "model"}}}, []string{"model"}},
		"a line that falls silent meanwhile": {faults.Plan{Reactions: map[string][]faults.Step{"hit": {{Do: faults.DoSilence, Kind: "server"}}}}, []string{"server"}},
		"a server of its own":                {faults.Plan{World: faults.World{OwnServer: true}}, []string{"server"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := linesOf(c.plan)
			defer l.close()
			for _, far := range []string{"provider", "model", "server"} {
				l.moved(far, "http://127.0.0.1:9")
				address, err := l.through("a", far, "http://127.0.0.1:9")
				require.NoError(t, err)
				if behind := address != "http://127.0.0.1:9"; behind {
					require.Contains(t, c.want, far)
					require.Contains(t, address, "http://127.0.0.1:")
				} else {
					require.NotContains(t, c.want, far)
				}
			}
		})
	}
}

func TestALineIsCutForOneProcessOrForAll(t *testing.T) {
	far, _ := echo(t, "far")
	l := linesOf(faults.Plan{Script: []faults.Step{{Do: faults.DoCut, Kind: "server"}}})
	defer l.close()
	l.moved("server", far)
	reach := func(process string) string {
		address, err := l.through(process, "server", far)
		require.NoError(t, err)
		return address
	}
	works := func(process string) bool { return answers(reach(process), "x") }
	a, b := reach("a"), reach("b")
	require.NotEqual(t, a, b)
	require.Equal(t, a, reach("a"), "its address stays")
	require.NoError(t, l.set(faults.Step{Do: faults.DoCut, Kind: "server", Process: "a"}))
	require.False(t, works("a"))
	require.True(t, works("b"))
	require.NoError(t, l.set(faults.Step{Do: faults.DoCut, Kind: "server"}))
	require.False(t, works("b"))
	require.False(t, works("c"), "who comes later is cut off too")
	require.NoError(t, l.set(faults.Step{Do: faults.DoRestore, Kind: "server"}))
	require.True(t, works("a") && works("b") && works("c"))
	require.ErrorContains(t, l.set(faults.Step{Do: faults.DoCut, Kind: "moon"}), `no line "moon"`)
}

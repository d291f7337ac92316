package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
)

// The test binary plays the processes of a trial itself: "fake worker POINT ..." stands at one point after the other,
// "fake provider" serves an empty world, "fake starter ... VERB" answers every verb, and announces that it is about to.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "fake" {
		os.Exit(fake(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

// Words that a fake worker takes in the place of a point.
const (
	crash     = "crash"     // end at once, without success
	operation = "operation" // the next announcements name the operation behind "="
)

func fake(role string, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	switch role {
	case "worker":
		fmt.Println("ready", "fake")
		return fakeWorker(ctx, args)
	case "provider":
		return fakeProvider(ctx)
	}
	_, _ = faults.FromEnvironment().Announce(ctx, faults.Announcement{Point: faults.Point{Boundary: faults.CallerReply, When: faults.Before}})
	fmt.Printf(`{"error":{"code":"NOT_FOUND","message":"nothing is ever stored"},"env":%q}`+"\n", strings.Join(os.Environ(), " "))
	return 4
}

// fakeWorker announces what it was told: the answer to a point becomes the detail of the next.
func fakeWorker(ctx context.Context, words []string) int {
	announcer := faults.FromEnvironment()
	detail, about := map[string]string{}, ""
	for _, word := range words {
		if value, found := strings.CutPrefix(word, operation+"="); found {
			about = value
			continue
		}
		if word == crash {
			return 3
		}
		if content, handled := fakeFile(word); handled {
			detail["file"] = content
			continue
		}
		var point faults.Point
		if err := point.UnmarshalText([]byte(word)); err != nil {
			return 2
		}
		detail["clock"] = time.Until(faults.ClockFromEnvironment()()).Round(time.Minute).String()
		reply, err := announcer.Announce(context.Background(), faults.Announcement{Point: point, Detail: detail, Operation: about})
		if err != nil {
			return 1
		}
		detail = map[string]string{"was": fmt.Sprintf("%s held=%t", reply.Action, reply.Held)}
	}
	<-ctx.Done()
	return 0
}

func fakeProvider(ctx context.Context) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 1
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /control/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") })
	mux.HandleFunc("GET /control/evidence", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(evidence.Provider{Profile: "full", Orders: []evidence.Order{{Tenant: "shop"}}})
	})
	go func() { _ = http.Serve(listener, mux) }()
	fmt.Printf("ready http://%s\n", listener.Addr())
	<-ctx.Done()
	return 0
}

// newLab is a lab whose every command line is the test binary.
func newLab(t *testing.T) *Lab {
	self := []string{os.Args[0], "fake"}
	return &Lab{
		Engines: map[string]Engine{"fake": {
			Worker: append(self, "worker"), Starter: append(self, "starter"), Over: faults.Finish,
		}},
		Provider: append(self, "provider"),
		Deadline: 20 * time.Second, Scratch: t.TempDir(),
		Budget: evidence.Budget{CallTimeoutMS: 800, BackoffMS: 100},
	}
}

var cell = evidence.Cell{Scenario: "self-test", Engine: "fake", Profile: "full", Arm: evidence.ArmFault}

// play plays a script of fake processes in the fault arm.
func play(t *testing.T, schedule faults.Schedule, script ...faults.Step) evidence.Record {
	t.Helper()
	return newLab(t).Play(t.Context(), cell, faults.Plan{Profile: "full", Script: script, Schedule: schedule})
}

func worker(name string, words ...string) faults.Step {
	return faults.Step{Do: faults.DoStart, Process: name, Args: words}
}

func point(text string) (p faults.Point) {
	if err := p.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return p
}

func crossed(text, process string) faults.Step {
	return faults.Step{Do: faults.DoAwait, Point: point(text), Process: process}
}

func rule(name, at, process string, action faults.Action) faults.Rule {
	return faults.Rule{Name: name, Point: point(at), Nth: 1, Process: process, Action: action}
}

func fired(name string) faults.Step { return faults.Step{Do: faults.DoFired, Rule: name} }

// crossing returns what was recorded of a process at a point.
func crossing(t *testing.T, r evidence.Record, process, at string) evidence.Crossing {
	t.Helper()
	for _, c := range r.Trace {
		if c.Process == process && c.Point == point(at) {
			return c
		}
	}
	require.FailNow(t, process+" never stood at "+at)
	return evidence.Crossing{}
}

func processOf(t *testing.T, r evidence.Record, name string) evidence.Process {
	t.Helper()
	for _, p := range r.Trial.Processes {
		if p.Name == name {
			return p
		}
	}
	require.FailNow(t, "no process "+name)
	return evidence.Process{}
}

// Package inject holds the decorators of the ports through which faults enter a process: its HTTP transport, its gRPC
// connection to Temporal, its journal, and its answer to the caller. Each announces the two sides of a boundary to the
// harness and does what the answer says. They are wired in by the commands alone and only under test: with a nil Announcer
// every decorator returns what it was given, so that without a harness they are not there.
package inject

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"refundlab/faults"
)

// heldBound is how long a message that was held at a point may take once it goes out: its caller's own time is over by then.
const heldBound = 10 * time.Second

// exitUnfaulted is the exit status of a process that lost its harness. Going on would run it without the faults that it was
// started for, and its trial would show nothing.
const exitUnfaulted = 70

// gate announces points for one decorator.
type gate struct{ announcer *faults.Announcer }

// stand announces a point and returns once the harness lets the process go on. It does so however long that takes and
// whatever becomes of the caller's context: being held is the purpose.
func (g gate) stand(ctx context.Context, p faults.Point, a faults.Announcement) faults.Reply {
	a.Point = p
	reply, err := g.announcer.Announce(context.WithoutCancel(ctx), a)
	if err != nil {
		slog.Error("the harness cannot be reached: ending rather than running without its faults", "point", p.String(), "error", err)
		os.Exit(exitUnfaulted) //nolint:forbidigo // a process that lost its harness must not run one step further
	}
	return reply
}

func (g gate) before(ctx context.Context, b faults.Boundary, a faults.Announcement) faults.Reply {
	return g.stand(ctx, faults.Point{Boundary: b, When: faults.Before}, a)
}

func (g gate) after(ctx context.Context, b faults.Boundary, a faults.Announcement) faults.Reply {
	return g.stand(ctx, faults.Point{Boundary: b, When: faults.After}, a)
}

// sendContext is the context under which a message goes out. One that was held goes out detached, as if its process had
// been frozen in the socket write: its caller has given up, and the far side sees a late request.
func sendContext(ctx context.Context, reply faults.Reply) (context.Context, context.CancelFunc) {
	if !reply.Held {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), heldBound)
}

// errCut is what a caller sees of a request or an answer that was lost: no status, no body, nothing that speaks of the effect.
var errCut = errors.New("connection cut")

// with returns a copy of a with one more detail.
func with(a faults.Announcement, key, value string) faults.Announcement {
	detail := map[string]string{key: value}
	for k, v := range a.Detail {
		detail[k] = v
	}
	a.Detail = detail
	return a
}

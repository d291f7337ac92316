package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"refundlab/provider"
	"refundlab/refund"
)

// Registered names. Histories carry them, so they stay as they are whatever the methods are called.
const (
	CheckOrder = "CheckOrder"
	Propose    = "Propose"
	Submit     = "Submit"
	LookUp     = "LookUp"
	Close      = "Close"
	Notify     = "Notify"
)

// Activities holds the ports. All of them but Awaited are needed.
type Activities struct {
	Refunds provider.Refunds
	Model   provider.Model
	Notices provider.Notices
	Now     func() refund.Instant // the engine's clock
	// Awaited tells whether the server still waits for the attempt at hand, see AskServer; nil asks nobody.
	Awaited func(context.Context) (bool, error)
}

// Register registers every activity under its name.
func (a *Activities) Register(r worker.ActivityRegistry) {
	r.RegisterActivityWithOptions(a.CheckOrder, activity.RegisterOptions{Name: CheckOrder})
	r.RegisterActivityWithOptions(a.Propose, activity.RegisterOptions{Name: Propose})
	r.RegisterActivityWithOptions(a.Submit, activity.RegisterOptions{Name: Submit})
	r.RegisterActivityWithOptions(a.LookUp, activity.RegisterOptions{Name: LookUp})
	r.RegisterActivityWithOptions(a.Close, activity.RegisterOptions{Name: Close})
	r.RegisterActivityWithOptions(a.Notify, activity.RegisterOptions{Name: Notify})
}

// clock is the engine's clock as one attempt reads it: this host's, or the server's where that is later. The server stamped the
// attempt when it handed it out, and from then on this process counts. A host whose clock was set back would otherwise take the
// provider's memory, and the time to commit, to last longer than they do (I1, I5).
func (a *Activities) clock(ctx context.Context) func() refund.Instant {
	started, began := refund.At(activity.GetInfo(ctx).StartedTime), time.Now()
	return func() refund.Instant { return max(a.Now(), started.Add(time.Since(began))) }
}

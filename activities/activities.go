package activities

import (
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

// Activities holds the ports. All of them are needed.
type Activities struct {
	Refunds provider.Refunds
	Model   provider.Model
	Notices provider.Notices
	Now     func() refund.Instant // the engine's clock
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

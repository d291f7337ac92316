package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"refundlab/faults"
	"refundlab/refund"
)

// Round says what is drawn. The same round gives the same trial.
type Round struct {
	Engine  string // "temporal" or "handrolled"
	Profile refund.ProfileName
	Seed    uint64
	Number  int
	Refunds int
	Faults  int // rules in the schedule; about half of them hit
	// OwnServer tells that a trial can be given a server of its own, where its engine has one, to be killed.
	OwnServer bool
}

// Name is the round's name in evidence and files.
func (r Round) Name() string { return fmt.Sprintf("soak-%d-%d", r.Seed, r.Number) }

// weights of the profiles: the richest one most. local is the journal's alone.
var weights = []struct {
	profile refund.ProfileName
	weight  int
}{
	{refund.ProfileFull, 6}, {refund.ProfileRetention, 2}, {refund.ProfileLenient, 2}, {refund.ProfileLookup, 2},
	{refund.ProfileStale, 1}, {refund.ProfileOpaque, 1}, {refund.ProfileLocal, 2},
}

// ProfileOf is the profile that a seed gives to a round on an engine.
func ProfileOf(engine string, seed uint64, number int) refund.ProfileName {
	lot := lots(engine, seed, number, 1)
	var list []refund.ProfileName
	for _, w := range weights {
		if w.profile == refund.ProfileLocal && engine == temporal {
			continue
		}
		list = append(list, slices.Repeat([]refund.ProfileName{w.profile}, w.weight)...)
	}
	return list[lot.IntN(len(list))]
}

// lots is the source of chance of one round. purpose keeps what is drawn for one thing from moving with another.
func lots(engine string, seed uint64, number int, purpose uint64) *rand.Rand {
	if engine == temporal {
		purpose |= 1 << 32
	}
	return rand.New(rand.NewPCG(seed, uint64(number)<<8^purpose)) //nolint:gosec // a soak must be repeatable, not unpredictable
}

const temporal = "temporal"

// Times in milliseconds.
const (
	// quiet is how long nothing may be announced before what is not over is taken to be at rest. It is above every silence that the
	// budget's time-outs explain: an attempt of four seconds that nobody heard of again, and a timer that comes late.
	quiet = 9_000
	// stuck is the same for a run that should still go on. The pause before its next ask may have doubled up to 51 s while a line was cut.
	// Who makes a trial smaller waits for that silence too: see Silence.
	stuck = 60_000
	// landed is how long a process that was let go must be silent before its late messages are taken to be out.
	landed = 1_500
	// hurried is a deadline that ends inside the trial.
	hurried = 6_000
	// aDay is a deadline that no clock is stepped over.
	aDay = 86_400_000
	// remembered is a provider's retention that ends inside the trial.
	remembered = 12_000
)

// draw is a trial that is being drawn.
type draw struct {
	Round
	*rand.Rand
	promises refund.Profile
	orders   []faults.Order
	plan     faults.Plan
	expect   faults.Expectation
	runs     []*run
	asked    []*run // those that somebody has asked for already
	clients  int
	workers  []*worker
	broken   []faults.Step // what ends a disturbance that has begun
	ended    []int         // occurrences at which the provider is killed
}

// run is one refund that is asked for.
type run struct {
	name      string
	request   faults.Step
	decided   []string // decision ids that were used
	rejects   bool     // somebody rejects
	cancelled bool     // a client asks the engine to cancel it
	undecided bool     // nobody decides
}

// worker is one worker, and whether a signal is meant for it: a process is killed or frozen once.
type worker struct {
	name    string
	initial bool
	fated   bool
}

// Draw makes the trial of a round.
func (r Round) Draw() (faults.Saved, error) {
	promises, err := refund.ProfileNamed(r.Profile)
	if err != nil {
		return faults.Saved{}, err
	}
	if r.Engine == temporal && promises.Shared {
		return faults.Saved{}, refund.Errorf(refund.CodeInvalidProfile, "profile %s is the journal's own ledger: Temporal has none", r.Profile)
	}
	d := &draw{Round: r, Rand: lots(r.Engine, r.Seed, r.Number, 2), promises: promises}
	d.plan.Profile = string(r.Profile)
	d.expect = faults.Expectation{Scenario: r.Name(), Engine: r.Engine, Profile: string(r.Profile), Arm: "fault", ByLot: true, Runs: map[string]faults.End{}}
	d.world()
	d.script()
	d.schedule()
	d.expect.Schedule = d.plan.Schedule
	for _, run := range d.runs {
		d.expect.Runs[run.name] = d.ends(run)
	}
	return faults.Save(d.expect, d.plan, fmt.Sprintf("drawn by lot: seed %d, round %d", r.Seed, r.Number)), nil
}

// chance is true in so many of a hundred cases.
func (d *draw) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d *draw, list []T) T { return list[d.IntN(len(list))] }

// world makes a few orders that bear about two thirds of what will be asked of them, so that refunds fight over them (I7).
func (d *draw) world() {
	for i := range 2 + d.IntN(3) {
		d.orders = append(d.orders, faults.Order{ID: fmt.Sprintf("o-%d", i+1), Currency: "EUR", Version: 1})
	}
	asked := map[string]int64{}
	for i := range d.Refunds {
		o := &d.orders[d.IntN(len(d.orders))]
		r := &run{name: fmt.Sprintf("r%02d", i+1)}
		r.request = faults.Step{Do: faults.DoRequest, Run: r.name, Order: o.ID, Amount: int64(500 + 100*d.IntN(60))}
		if d.chance(10) && len(d.runs) > 0 { // the same parameters as another's: two refunds nevertheless (I8)
			twin := d.runs[d.IntN(len(d.runs))].request
			r.request.Order, r.request.Amount = twin.Order, twin.Amount
		}
		if d.chance(10) {
			r.request.DecideMS = hurried + int64(d.IntN(4_000))
			r.request.CommitMS = r.request.DecideMS
			r.undecided = d.chance(40)
		} else if d.chance(8) {
			r.request.DecideMS, r.request.CommitMS = aDay, hurried+int64(d.IntN(6_000))
		}
		asked[r.request.Order] += r.request.Amount
		d.runs = append(d.runs, r)
	}
	for i := range d.orders {
		d.orders[i].Captured = max(1_000, asked[d.orders[i].ID]*int64(55+d.IntN(25))/100)
	}
	d.plan.World.Orders = d.orders
	if d.Profile == refund.ProfileRetention && d.chance(50) {
		d.plan.World.RetentionMS = remembered
	}
	// A worker that starts while its server is down ends by itself, as it should: its supervisor starts it again. The harness has no
	// supervisor, so in a round whose server is killed no worker is: none has to be replaced.
	if d.Engine == temporal && d.chance(15) {
		d.plan.World.OwnServer = d.OwnServer
	}
}

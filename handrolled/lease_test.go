package handrolled

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

// write is an arrival at the run: the writer's generation, and the run's generation, time and lease at that moment.
type write struct {
	Token      int64          `json:"token"`
	Current    int64          `json:"current"`
	Now        refund.Instant `json:"now"`
	LeaseUntil refund.Instant `json:"lease_until"`
}

// arrive brings a run to that moment by nothing but claims, and then writes.
func arrive(t *testing.T, w write) error {
	clock := clockAt(0)
	store := openAt(t, journalPath(t), Options{Clock: clock.read})
	admit(t, store, refund.Terms{})
	var last Run
	for generation := int64(1); generation <= w.Current; generation++ {
		var found bool
		var err error
		last, found, err = store.Claim(bounded(t), "A", w.LeaseUntil.Sub(0))
		require.NoError(t, err)
		require.True(t, found)
		if generation < w.Current {
			require.NoError(t, store.EndLease(bounded(t), last.Lease, refund.Fence{}))
		}
	}
	require.Equal(t, w.Current, last.Lease.Generation)
	require.Equal(t, w.LeaseUntil, last.Lease.Until)
	clock.set(w.Now)
	writer := last.Lease
	writer.Generation = w.Token
	_, err := store.ReserveModelCall(bounded(t), writer)
	return err
}

func TestTheLeaseCard(t *testing.T) {
	text, err := os.ReadFile("testdata/lease-card.json")
	require.NoError(t, err)
	var card struct {
		Checks []struct {
			Write  write                   `json:"write"`
			Expect struct{ Allowed *bool } `json:"expect"`
		} `json:"checks"`
	}
	require.NoError(t, json.Unmarshal(text, &card))
	require.NotEmpty(t, card.Checks)
	for _, check := range card.Checks {
		t.Run(fmt.Sprintf("%+v", check.Write), func(t *testing.T) {
			err := arrive(t, check.Write)
			if *check.Expect.Allowed {
				require.NoError(t, err)
			} else {
				requireCode(t, err, refund.CodeLeaseLost)
			}
		})
	}
}

// Every write of an owner, each from a state in which the owner itself could make it.
var ownersWrites = []struct {
	name  string
	reach func(t *testing.T, store *Store) Run // a claimed run
	write func(ctx context.Context, store *Store, run Run) error
}{
	{"Renew", claimed, func(ctx context.Context, s *Store, r Run) error {
		_, err := s.Renew(ctx, r.Lease, lease)
		return err
	}},
	{"EndLease", claimed, func(ctx context.Context, s *Store, r Run) error {
		return s.EndLease(ctx, r.Lease, refund.Fence{Term: 9})
	}},
	{"ReserveModelCall", claimed, func(ctx context.Context, s *Store, r Run) error {
		_, err := s.ReserveModelCall(ctx, r.Lease)
		return err
	}},
	{"RecordProposal", claimed, func(ctx context.Context, s *Store, r Run) error {
		_, err := s.RecordProposal(ctx, r.Lease, theProposal)
		return err
	}},
	{"RecordNoProposal", claimed, func(ctx context.Context, s *Store, r Run) error {
		_, err := s.RecordNoProposal(ctx, r.Lease, refund.Errorf(refund.CodeTimeout, "no answer"))
		return err
	}},
	{"Expire", expiring, func(ctx context.Context, s *Store, r Run) error {
		_, err := s.Expire(ctx, r.Lease)
		return err
	}},
	{"RecordIntent", sending, func(ctx context.Context, s *Store, r Run) error {
		_, err := s.RecordIntent(ctx, r.Lease, refund.ActSend)
		return err
	}},
	{"RecordObservation", sent, func(ctx context.Context, s *Store, r Run) error {
		_, err := s.RecordObservation(ctx, r.Lease, Observed{Action: refund.ActSend, Answer: answer(refund.ObservedAmbiguous)})
		return err
	}},
	{"RecordObservation that holds", sent, func(ctx context.Context, s *Store, r Run) error {
		_, err := s.RecordObservation(ctx, r.Lease, Observed{Action: refund.ActSend, Answer: answer(refund.ObservedConflict), Hold: true})
		return err
	}},
	{"RecordOutcome CONFIRMED", sent, func(ctx context.Context, s *Store, r Run) error {
		proof := receipt(r.Facts.Intake)
		_, err := s.RecordOutcome(ctx, r.Lease, Outcome{Event: refund.EventReceipt, Receipt: &proof})
		return err
	}},
	{"RecordOutcome REJECTED", sent, func(ctx context.Context, s *Store, r Run) error {
		_, err := s.RecordOutcome(ctx, r.Lease, Outcome{Event: refund.EventRefusal, Code: refund.CodeClosed})
		return err
	}},
	{"SubmitLocally", sendingLocally, func(ctx context.Context, s *Store, r Run) error {
		_, err := s.SubmitLocally(ctx, r.Lease)
		return err
	}},
}

func claimed(t *testing.T, store *Store) Run {
	admit(t, store, refund.Terms{})
	return claim(t, store, "A")
}

func expiring(t *testing.T, store *Store) Run {
	admit(t, store, refund.Terms{DecideWithin: 100}) // over before the lease is
	return claim(t, store, "A")
}

func sending(t *testing.T, store *Store) Run {
	approved(t, store, refund.Terms{})
	return claim(t, store, "A")
}

func sent(t *testing.T, store *Store) Run {
	run, err := store.RecordIntent(bounded(t), sending(t, store).Lease, refund.ActSend)
	require.NoError(t, err)
	return run
}

func sendingLocally(t *testing.T, store *Store) Run {
	seed(t, store)
	approved(t, store, refund.Terms{Profile: refund.ProfileLocal})
	return claim(t, store, "A")
}

// dump is everything in the file except its clock.
func dump(t *testing.T, store *Store) string {
	var all string
	require.NoError(t, store.read(bounded(t), func(tx *transaction) error {
		tables, err := collect(tx, scanText[string], "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'clock' ORDER BY name")
		if err != nil {
			return err
		}
		for _, table := range tables {
			rows, err := tx.QueryContext(tx.ctx, "SELECT * FROM "+table)
			if err != nil {
				return err
			}
			columns, err := rows.Columns()
			if err != nil {
				return err
			}
			for rows.Next() {
				values, pointers := make([]any, len(columns)), make([]any, len(columns))
				for i := range values {
					pointers[i] = &values[i]
				}
				if err := rows.Scan(pointers...); err != nil {
					return err
				}
				all += fmt.Sprintln(table, values)
			}
			if err := rows.Err(); err != nil {
				return err
			}
		}
		return nil
	}))
	return all
}

// I6: from the instant at which the lease is over, or another claim was made, no write of the old owner changes a row, and
// the old owner is told so.
func TestAnOldOwnersWriteChangesNothing(t *testing.T) {
	for _, w := range ownersWrites {
		t.Run(w.name, func(t *testing.T) {
			t.Run("with a lease that lasts a millisecond more", func(t *testing.T) {
				store, clock := newStore(t)
				run := w.reach(t, store)
				clock.set(run.Lease.Until - 1)
				before := dump(t, store)
				require.NoError(t, w.write(bounded(t), store, run), "the owner's own write is refused")
				require.NotEqual(t, before, dump(t, store))
			})
			t.Run("at the instant at which the lease is over", func(t *testing.T) {
				store, clock := newStore(t)
				run := w.reach(t, store)
				clock.set(run.Lease.Until)
				before := dump(t, store)
				requireCode(t, w.write(bounded(t), store, run), refund.CodeLeaseLost, "nothing was written")
				require.Equal(t, before, dump(t, store))
			})
			for _, next := range []string{"A", "B"} {
				t.Run("after a later claim by "+next, func(t *testing.T) {
					store, clock := newStore(t)
					run := w.reach(t, store)
					clock.set(run.Lease.Until)
					again := claim(t, store, next)
					require.Equal(t, run.Lease.Generation+1, again.Lease.Generation)
					before := dump(t, store)
					requireCode(t, w.write(bounded(t), store, run), refund.CodeLeaseLost, "nothing was written")
					require.Equal(t, before, dump(t, store))
				})
			}
		})
	}
}

func TestARunThatIsHeldIsNotDue(t *testing.T) {
	store, clock := newStore(t)
	admit(t, store, refund.Terms{})
	run := claim(t, store, "A")
	wait, due, err := store.NextWake(bounded(t))
	require.NoError(t, err)
	require.True(t, due)
	require.Equal(t, lease, wait, "the next wake is the end of the lease")

	clock.set(run.Lease.Until - 1)
	_, found, err := store.Claim(bounded(t), "B", lease)
	require.NoError(t, err)
	require.False(t, found)
	clock.set(run.Lease.Until)
	require.Equal(t, int64(2), claim(t, store, "B").Lease.Generation)
}

func TestARenewalKeepsTheLeaseAndNeverTakesItBack(t *testing.T) {
	store, clock := newStore(t)
	admit(t, store, refund.Terms{})
	run := claim(t, store, "A")
	clock.pass(lease / 2)
	renewed, err := store.Renew(bounded(t), run.Lease, lease)
	require.NoError(t, err)
	require.Equal(t, clock.now().Add(lease), renewed.Until)

	// B41: a renewal that was held up until another worker had the run.
	clock.set(renewed.Until)
	other := claim(t, store, "B")
	_, err = store.Renew(bounded(t), renewed, lease)
	requireCode(t, err, refund.CodeLeaseLost, "A", "generation 1")
	now, err := store.Load(bounded(t), run.Lease.OperationID)
	require.NoError(t, err)
	require.Equal(t, other.Lease, now.Lease)
}

func TestTheNextGenerationIsAboveTheFenceThatTheProviderAnsweredWith(t *testing.T) {
	for _, c := range []struct{ seen, want int64 }{{0, 2}, {1, 2}, {7, 8}} {
		store, _ := newStore(t)
		admit(t, store, refund.Terms{})
		require.NoError(t, store.EndLease(bounded(t), claim(t, store, "A").Lease, refund.Fence{Term: c.seen, Seq: 4}))
		require.Equal(t, c.want, claim(t, store, "A").Lease.Generation)
	}
}

// A row that cannot be read costs its own turn and nobody else's.
func TestAnUnreadableRunIsNoObstacleForTheOthers(t *testing.T) {
	store, clock := newStore(t)
	broken := admit(t, store, refund.Terms{})
	spoil(t, store, "UPDATE runs SET intake = 'not JSON' WHERE operation_id = ?", broken.Lease.OperationID)
	clock.pass(time.Second)
	_, _, err := store.Admit(bounded(t), request(2), terms(t, refund.Terms{}), "client")
	require.NoError(t, err)
	_, found, err := store.Claim(bounded(t), "A", lease)
	require.Error(t, err)
	require.False(t, found)
	run, found, err := store.Claim(bounded(t), "A", lease)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, request(2), run.Facts.Intake.Request)
}

// Eight workers on connections of their own want the same forty runs at once.
func TestEachDueRunIsClaimedByOne(t *testing.T) {
	path := journalPath(t)
	first := openAt(t, path, Options{})
	const runs, workers = 40, 8
	for n := range runs {
		_, _, err := first.Admit(bounded(t), request(n), terms(t, refund.Terms{}), "client")
		require.NoError(t, err)
	}
	var mu sync.Mutex
	taken := map[refund.OperationID]int{}
	var group sync.WaitGroup
	for n := range workers {
		store := openAt(t, path, Options{})
		group.Go(func() {
			for {
				run, found, err := store.Claim(bounded(t), fmt.Sprint("worker-", n), time.Hour)
				if err != nil || !found {
					require.NoError(t, err)
					return
				}
				mu.Lock()
				taken[run.Lease.OperationID]++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	require.Len(t, taken, runs)
	for id, times := range taken {
		require.Equal(t, 1, times, id)
	}
}

package handrolled

import (
	"context"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"refundlab/refund"
)

// commits counts the commits to the files that a test has named here, by path.
var commits sync.Map

func init() {
	sqlite.RegisterConnectionHook(func(connection sqlite.ExecQuerierContext, dsn string) error {
		file, err := url.Parse(dsn)
		if err != nil {
			return err
		}
		if count, named := commits.Load(file.Path); named {
			connection.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 {
				count.(*atomic.Int64).Add(1)
				return 0 // goes on
			})
		}
		return nil
	})
}

// A process that is killed inside a step leaves what it would leave before it, because a step is one transaction. The exploration
// rests on that: it kills on both sides of each step, and not inside.
func TestEveryStepIsOneTransaction(t *testing.T) {
	steps := append([]struct {
		name  string
		reach func(t *testing.T, store *Store) Run
		write func(ctx context.Context, store *Store, run Run) error
	}{
		{"Admit", func(*testing.T, *Store) Run { return Run{} }, func(ctx context.Context, s *Store, _ Run) error {
			_, _, err := s.Admit(ctx, request(1), terms(t, refund.Terms{}), "client")
			return err
		}},
		{"Claim", func(t *testing.T, s *Store) Run { return admit(t, s, refund.Terms{}) }, func(ctx context.Context, s *Store, _ Run) error {
			_, _, err := s.Claim(ctx, "A", lease)
			return err
		}},
		{"Decide", func(t *testing.T, s *Store) Run { admit(t, s, refund.Terms{}); return propose(t, s) }, func(ctx context.Context, s *Store, r Run) error {
			_, err := s.Decide(ctx, decision(r, "1", refund.ChoiceApprove), "client")
			return err
		}},
		{"TakeNotice", concluded, func(ctx context.Context, s *Store, _ Run) error {
			_, _, err := s.TakeNotice(ctx)
			return err
		}},
		{"MarkDelivered", concluded, func(ctx context.Context, s *Store, r Run) error {
			return s.MarkDelivered(ctx, refund.Notice{OperationID: r.Facts.Intake.OperationID, Revision: refund.NoticeRevision}, "A")
		}},
	}, ownersWrites...)
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			path, count := journalPath(t), new(atomic.Int64)
			commits.Store(path, count)
			clock := clockAt(1000)
			store := openAt(t, path, Options{Clock: clock.read})
			run := step.reach(t, store)
			clock.set(max(clock.now(), run.Lease.Until-1)) // an owner's last moment, when a deadline is over too
			before := count.Load()
			require.Positive(t, before)
			require.NoError(t, step.write(bounded(t), store, run))
			require.EqualValues(t, 1, count.Load()-before)
		})
	}
}

// concluded is a run whose end is recorded and of which nobody has been told.
func concluded(t *testing.T, store *Store) Run {
	run := sent(t, store)
	proof := receipt(run.Facts.Intake)
	run, err := store.RecordOutcome(bounded(t), run.Lease, Outcome{Event: refund.EventReceipt, Receipt: &proof})
	require.NoError(t, err)
	return run
}

package inject

import (
	"context"
	"fmt"
	"sync/atomic"

	"modernc.org/sqlite"

	"refundlab/faults"
)

// commitsCount is set once this process begins to write an outcome, alone or together with the money. How many commits come before
// depends on who was faster, since looking for work in vain is one too; from there on the first is the outcome's own and the next
// is whatever the process does then.
var commitsCount atomic.Bool

// Commits announces the commits of every SQLite connection that this process opens from now on, each while its transaction
// holds the file and is not durable yet. It finds what the port cannot show: one step that is two transactions.
func Commits(announcer *faults.Announcer) {
	if announcer == nil {
		return
	}
	g := gate{announcer}
	sqlite.RegisterConnectionHook(func(connection sqlite.ExecQuerierContext, _ string) error {
		hooks, ok := connection.(sqlite.HookRegisterer)
		if !ok {
			return fmt.Errorf("this SQLite driver has no commit hook")
		}
		hooks.RegisterCommitHook(func() int32 {
			if commitsCount.Load() {
				g.before(context.Background(), faults.StoreCommit, faults.Announcement{})
			}
			return 0 // goes on
		})
		return nil
	})
}

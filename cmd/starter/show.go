package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"refundlab/refund"
)

func (s *starter) statusCommand() *cobra.Command {
	var named operation
	c := &cobra.Command{
		Use:   "status" + operationUse,
		Short: "Show what the world did, what the engine knows, and what it may do next",
		Long: `Show the three facts apart: what the world did (only with --provider, by a look-up that changes nothing; a look-up that
finds nothing proves nothing, and a provider without look-up is not asked), what the engine has recorded, and what it may do next. No worker is needed.`,
		Example: `  starter --engine handrolled --journal journal.db --provider http://127.0.0.1:8080 status --tenant shop --request-id r-1`,
		RunE: s.checked(func(c *cobra.Command, args []string) error {
			id, err := named.id(c, args)
			if err != nil {
				return err
			}
			return s.call(c, callBound, func(ctx context.Context, engine client) error {
				view, err := engine.View(ctx, id)
				if err != nil {
					return err
				}
				view.World = s.lookUp(ctx, view.Facts.Intake)
				return s.reply(c, view, func(w io.Writer) { printView(w, view, refund.At(s.clock())) })
			})
		}),
	}
	named.register(c)
	return c
}

func (s *starter) listCommand() *cobra.Command {
	var which string
	var bound time.Duration
	c := &cobra.Command{
		Use:   "list",
		Short: "List runs: waiting for a person, unknown, overdue, or all",
		Long: `List runs: "waiting" for a person's decision; "unknown" in their outcome and not yet annotated; "overdue", which only
the engine could move and which are older than --bound; or "all"; the oldest first. No worker is needed.`,
		Example: `  starter --engine temporal list --which overdue --bound 5m`,
		Args:    cobra.NoArgs,
		RunE: s.checked(func(c *cobra.Command, _ []string) error {
			listing := refund.Listing(which)
			if !slices.Contains([]refund.Listing{refund.ListWaiting, refund.ListUnknown, refund.ListOverdue, refund.ListAll}, listing) {
				return refund.Errorf(refund.CodeInvalidFlag, "--which %q is unknown: it is waiting, unknown, overdue or all", which)
			}
			if bound < time.Millisecond {
				return refund.Errorf(refund.CodeInvalidFlag, "--bound is %s: the least is 1ms", bound)
			}
			return s.call(c, callBound, func(ctx context.Context, engine client) error {
				runs, err := engine.List(ctx)
				if err != nil {
					return err
				}
				slices.SortFunc(runs, oldestFirst) // Temporal's visibility store has an order of its own
				runs = slices.DeleteFunc(runs, func(run refund.Listed) bool {
					return !run.View.Lists(listing, run.Since, bound.Milliseconds(), run.At)
				})
				views := make([]refund.View, 0, len(runs)) // an empty list is [], not null
				for _, run := range runs {
					views = append(views, run.View)
				}
				return s.reply(c, struct {
					Runs []refund.View `json:"runs"`
				}{views}, func(w io.Writer) { printRuns(w, runs) })
			})
		}),
	}
	c.Flags().StringVar(&which, "which", string(refund.ListAll), "waiting, unknown, overdue or all")
	c.Flags().DurationVar(&bound, "bound", time.Minute, "time within which a run that waits for nobody should end, for overdue")
	return c
}

func oldestFirst(a, b refund.Listed) int {
	return cmp.Or(cmp.Compare(a.View.Facts.Intake.At, b.View.Facts.Intake.At), cmp.Compare(a.View.OperationID, b.View.OperationID))
}

func (s *starter) watchCommand() *cobra.Command {
	var named operation
	var until []string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "watch" + operationUse,
		Short: "Print the run at every change until it ends",
		Long: `Print one line now and one at every change, until the status is final or one of --until. Exit status 7 when --timeout
passes first.`,
		Example: `  starter --engine temporal watch --tenant shop --request-id r-1 --until APPROVAL_REQUIRED --timeout 30s`,
		RunE: s.checked(func(c *cobra.Command, args []string) error {
			id, err := named.id(c, args)
			if err != nil {
				return err
			}
			ends, err := parseStatuses(until)
			if err != nil {
				return err
			}
			if timeout <= 0 {
				return refund.Errorf(refund.CodeInvalidFlag, "--timeout is %s: it must be more than zero", timeout)
			}
			return s.call(c, timeout, func(ctx context.Context, engine client) error {
				return s.watch(ctx, c, engine, id, ends)
			})
		}),
	}
	named.register(c)
	c.Flags().StringSliceVar(&until, "until", nil, "run `STATUS` at which to stop; several with commas")
	c.Flags().DurationVar(&timeout, "timeout", time.Minute, "when to give up")
	return c
}

func (s *starter) watch(ctx context.Context, c *cobra.Command, engine client, id refund.OperationID, ends []refund.RunStatus) error {
	reached := false
	var said error
	var status refund.RunStatus
	var line string
	err := engine.Watch(ctx, id, func(view refund.View) bool {
		status = view.Status
		if text := changeText(view); s.json || text != line { // a person is spared what this line does not show
			line = text
			said = s.reply(c, view, func(w io.Writer) { fmt.Fprintln(w, text) })
		}
		reached = status.Terminal() || slices.Contains(ends, status)
		return reached || said != nil
	})
	switch {
	case said != nil:
		return said
	case reached:
		return nil
	case ctx.Err() != nil && status != "":
		return refund.Errorf(refund.CodeTimeout, "run %s did not get there in time: it was last seen %s", id, status)
	}
	return err
}

func parseStatuses(names []string) ([]refund.RunStatus, error) {
	known := []refund.RunStatus{refund.StatusPending, refund.StatusApprovalRequired, refund.StatusRetryable, refund.StatusUnknown,
		refund.StatusConfirmed, refund.StatusRejected, refund.StatusExpired}
	var statuses []refund.RunStatus
	for _, name := range names {
		status := refund.RunStatus(strings.ToUpper(strings.TrimSpace(name)))
		if !slices.Contains(known, status) {
			return nil, refund.Errorf(refund.CodeInvalidFlag, "--until %q is not a run status: they are %v", name, known)
		}
		statuses = append(statuses, status)
	}
	return statuses, nil
}

func (s *starter) exportCommand() *cobra.Command {
	var named operation
	c := &cobra.Command{
		Use:     "export" + operationUse,
		Short:   "Print a run's durable facts in the form that is the same for both engines",
		Long:    `Print a run's durable facts. With --json also the view and the raw history or journal. No worker is needed.`,
		Example: `  starter --engine temporal --json export --tenant shop --request-id r-1 > run.json`,
		RunE: s.checked(func(c *cobra.Command, args []string) error {
			id, err := named.id(c, args)
			if err != nil {
				return err
			}
			return s.call(c, callBound, func(ctx context.Context, engine client) error {
				export, err := engine.Export(ctx, id)
				if err != nil {
					return err
				}
				return s.reply(c, export, func(w io.Writer) { printFacts(w, export.Facts) })
			})
		}),
	}
	named.register(c)
	return c
}

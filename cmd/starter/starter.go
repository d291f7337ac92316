package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"refundlab/cmd/internal/cmdline"
	"refundlab/cmd/internal/engineflags"
	"refundlab/faults"
	"refundlab/faults/inject"
	"refundlab/provider"
	"refundlab/refund"
)

// callBound ends a call to a server or a file that neither answers nor refuses. Waiting for a verdict and watching have
// bounds of their own.
const callBound = 30 * time.Second

// starter is what all verbs share: the global flags, and how to reach the engine.
type starter struct {
	engine              engineflags.Flags
	workflowTaskTimeout time.Duration
	provider            string
	world               provider.Refunds // nil without --provider
	line                *line            // to it
	json                bool
	announcer           *faults.Announcer // nil except under test
	clock               func() time.Time  // the host's except under test
}

func (s *starter) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "starter",
		Short: "Ask for refunds, decide on them and see what is known, on either engine",
		Long: `Ask for refunds, decide on them and see what is known, on either engine.

Exit status: 0 done, 1 internal error, 2 bad input, 3 conflict with what is stored, 4 not found, 5 refused,
6 decision stored but not judged yet, 7 nothing could be learnt (server, file or time). With --json the answer, and an
error too, is one JSON document on standard output.`,
		Example: `  starter --engine handrolled --journal journal.db request --tenant shop --request-id r-1 \
      --order o-1001 --amount 42.00 --currency EUR --reason "broken on arrival" --requester alice
  starter --engine temporal --temporal-address 127.0.0.1:7233 list --which waiting`,
		RunE: func(*cobra.Command, []string) error {
			return refund.Errorf(refund.CodeInvalidFlag, "a verb is missing: see starter --help")
		},
	}
	flags := root.PersistentFlags()
	s.engine.Register(flags)
	flags.DurationVar(&s.workflowTaskTimeout, "workflow-task-timeout", 10*time.Second, "after this time a workflow task of a dead worker is given to another; fixed at request")
	engineflags.Only(flags, engineflags.Temporal, "workflow-task-timeout")
	flags.StringVar(&s.provider, "provider", "", "`URL` of the provider: status asks it as a reader, and reconcile by close needs it on the journal")
	flags.BoolVar(&s.json, "json", false, "print one JSON document")
	root.AddCommand(s.requestCommand(), s.decideCommand(refund.ChoiceApprove), s.decideCommand(refund.ChoiceReject),
		s.statusCommand(), s.listCommand(), s.watchCommand(), s.reconcileCommand(), s.cancelCommand(), s.exportCommand())
	return root
}

// checked runs a verb once the global flags are known to be right.
func (s *starter) checked(verb func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if err := s.engine.Check(c.Flags()); err != nil {
			return err
		}
		if s.workflowTaskTimeout < time.Second {
			return refund.Errorf(refund.CodeInvalidFlag, "--workflow-task-timeout is %s: the least is 1s", s.workflowTaskTimeout)
		}
		if c.Flags().Changed("provider") {
			var err error
			s.line = &line{announced: inject.Transport(http.DefaultTransport, s.announcer)}
			if s.world, err = provider.NewClient(s.provider, &http.Client{Transport: s.line}); err != nil {
				return err
			}
		}
		return verb(c, args)
	}
}

// call opens the engine, hands it to use within the bound, and closes it again.
func (s *starter) call(c *cobra.Command, bound time.Duration, use func(context.Context, client) error) error {
	ctx, cancel := context.WithTimeout(c.Context(), bound)
	defer cancel()
	engine, err := s.open(ctx, c.Name() == "request")
	if err != nil {
		return err
	}
	defer engine.Close()
	return use(ctx, engine)
}

// reply prints the answer, as JSON or for a person, in one write: the caller hears all of it or nothing.
func (s *starter) reply(c *cobra.Command, document any, print func(io.Writer)) error {
	var text bytes.Buffer
	if s.json {
		if err := cmdline.WriteJSON(&text, document); err != nil {
			return err
		}
	} else {
		print(&text)
	}
	if _, err := c.OutOrStdout().Write(text.Bytes()); err != nil {
		return refund.Wrap(refund.CodeInternal, err, "the answer could not be printed")
	}
	return nil
}

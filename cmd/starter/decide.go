package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"refundlab/cmd/internal/cmdline"
	"refundlab/refund"
)

// decisionAnswer carries the decision's names also with an error: a decision that may have been stored is asked for again
// under the same id.
type decisionAnswer struct {
	OperationID refund.OperationID `json:"operation_id"`
	DecisionID  string             `json:"decision_id"`
	Verdict     refund.VerdictCode `json:"verdict,omitempty"`
	At          refund.Instant     `json:"at,omitempty"`
	Error       *cmdline.Failure   `json:"error,omitempty"`
}

// decisionFlags is a decision as it was typed.
type decisionFlags struct {
	operation
	as, decisionID, digest string
	orderVersion           int64
	wait                   time.Duration
}

func (s *starter) decideCommand(choice refund.Choice) *cobra.Command {
	var f decisionFlags
	verb := string(choice)
	c := &cobra.Command{
		Use:   verb + operationUse,
		Short: map[refund.Choice]string{refund.ChoiceApprove: "Approve a refund", refund.ChoiceReject: "Reject a refund"}[choice],
		Long: `Decide on a refund. A decision names the digest and the order version that were shown to the person. Without them it shows what
is recorded now and decides on exactly that. The first acceptable decision wins. The decision id, made up and printed when
absent, recognises a repeated message: the same command with the same id asks again for its verdict.

Exit status 0 only for ACCEPTED; 5 for any other verdict; 6 when no verdict was made within --wait.`,
		Example: fmt.Sprintf(`  starter --engine handrolled --journal journal.db %s --tenant shop --request-id r-1 --as bob`, verb),
		RunE:    s.checked(func(c *cobra.Command, args []string) error { return s.decide(c, args, choice, f) }),
	}
	f.operation.register(c)
	flags := c.Flags()
	flags.StringVar(&f.as, "as", "", "`PERSON` who decides")
	flags.StringVar(&f.decisionID, "decision-id", "", "name of this decision; made up when absent")
	flags.StringVar(&f.digest, "digest", "", "digest that was shown")
	flags.Int64Var(&f.orderVersion, "order-version", 0, "order version that was shown")
	flags.DurationVar(&f.wait, "wait", 10*time.Second, "how long to wait for the verdict")
	c.MarkFlagsRequiredTogether("digest", "order-version")
	_ = c.MarkFlagRequired("as")
	return c
}

func (s *starter) decide(c *cobra.Command, args []string, choice refund.Choice, f decisionFlags) error {
	id, err := f.operation.id(c, args)
	if err != nil {
		return err
	}
	if f.wait <= 0 {
		return refund.Errorf(refund.CodeInvalidFlag, "--wait is %s: it must be more than zero", f.wait)
	}
	minted := !c.Flags().Changed("decision-id")
	if minted {
		f.decisionID = uuid.NewString()
	}
	blind := !c.Flags().Changed("digest")
	decision := refund.Decision{
		DecisionID: f.decisionID, OperationID: id, Choice: choice, Approver: f.as,
		Digest: refund.Digest(f.digest), OrderVersion: f.orderVersion,
	}
	if blind { // stand-ins, so that all else is checked before anything is opened
		decision.Digest, decision.OrderVersion = refund.Request{}.Digest(), 1
	}
	if decision, err = refund.NewDecision(decision); err != nil {
		return err
	}
	return s.call(c, f.wait, func(ctx context.Context, engine client) error {
		if blind {
			view, err := engine.View(ctx, id)
			if err != nil {
				return err
			}
			if decision, err = showAndAdopt(c.ErrOrStderr(), decision, view); err != nil {
				return err
			}
		}
		if minted {
			fmt.Fprintf(c.ErrOrStderr(), "decision id %s\n", decision.DecisionID)
		}
		recorded, err := engine.Decide(ctx, decision)
		return s.replyVerdict(c, decision, recorded, err)
	})
}

// showAndAdopt shows what the person is about to decide on and puts exactly that into the decision (I5).
func showAndAdopt(w io.Writer, d refund.Decision, v refund.View) (refund.Decision, error) {
	proposal := v.Facts.Proposal
	if proposal == nil && v.Status.Terminal() { // there is nothing to wait for: the verdict is the one that the engine would give
		verdict := refund.Judge(d, refund.Bench{Intake: v.Facts.Intake, Expired: v.Facts.Expired, Closed: true})
		return refund.Decision{}, refund.VerdictError(refund.RecordedVerdict{DecisionID: d.DecisionID, Code: verdict})
	}
	if proposal == nil {
		return refund.Decision{}, refund.Errorf(refund.Code(refund.VerdictNotReady),
			"run %s is %s without a proposal, so there is nothing to decide on: wait with watch --until %s", v.OperationID, v.Status, refund.StatusApprovalRequired)
	}
	in := v.Facts.Intake
	fmt.Fprintf(w, "%s %s of order %s (version %d), asked for by %s: %q\n",
		d.Choice, in.Request.Amount, in.Request.Order, proposal.OrderVersion, in.Request.Requester, in.Request.Reason)
	fmt.Fprintf(w, "the model recommends: %s: %q\n", proposal.Recommendation, proposal.Rationale)
	fmt.Fprintf(w, "digest %s\n", in.Digest)
	d.Digest, d.OrderVersion = in.Digest, proposal.OrderVersion
	return d, nil
}

func (s *starter) replyVerdict(c *cobra.Command, d refund.Decision, recorded refund.RecordedVerdict, err error) error {
	if err == nil {
		err = refund.VerdictError(recorded)
	}
	if refund.CodeOf(err) == refund.CodeVerdictPending {
		err = refund.Wrap(refund.CodeVerdictPending, err, "ask again with --decision-id %s --as %s --digest %s --order-version %d",
			d.DecisionID, d.Approver, d.Digest, d.OrderVersion)
	}
	err = cmdline.Interrupted(c.Context(), err)
	answer := decisionAnswer{d.OperationID, d.DecisionID, recorded.Code, recorded.At, cmdline.FailureOf(err)}
	if said := s.reply(c, answer, func(w io.Writer) {
		if recorded.Code != "" {
			fmt.Fprintf(w, "decision %s of %s at %s: %s\n", d.DecisionID, d.Approver, recorded.At, recorded.Code)
		}
	}); said != nil {
		return said
	}
	if err != nil {
		return cmdline.Answered{Err: err}
	}
	return nil
}

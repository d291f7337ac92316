package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"refundlab/cmd/internal/engineflags"
	"refundlab/refund"
)

type requestAnswer struct {
	OperationID refund.OperationID `json:"operation_id"`
	RequestID   string             `json:"request_id"`
	Digest      refund.Digest      `json:"digest"`
	Status      refund.RunStatus   `json:"status"`
	Existing    bool               `json:"existing"`
}

// requestFlags are the request and its terms as they were typed.
type requestFlags struct {
	request                  refund.Request // without its amount
	amount, currency         string
	profile                  string
	decide, commit, retained time.Duration
	modelBudget              int
	callTimeout, backoff     time.Duration
}

func (s *starter) requestCommand() *cobra.Command {
	var f requestFlags
	c := &cobra.Command{
		Use:   "request",
		Short: "Ask for a refund; the same request id again finds the same run",
		Long: `Ask for a refund. The request id is the caller's name for this one intent: asking again under it finds the run that is
there, and with other parameters it is refused. Terms (profile, deadlines, model budget, retention, call timeout, backoff) are
no parameters: a run that is there keeps its own, whatever is asked now. Without --request-id one is made and printed before anything is sent,
so that it can be asked again when the answer is lost.`,
		Example: `  starter --engine handrolled --journal journal.db request --tenant shop --request-id r-1 \
      --order o-1001 --amount 42.00 --currency EUR --reason "broken on arrival" --requester alice`,
		Args: cobra.NoArgs,
		RunE: s.checked(func(c *cobra.Command, _ []string) error { return s.request(c, f) }),
	}
	flags := c.Flags()
	flags.StringVar(&f.request.Tenant, "tenant", "", "whose order it is")
	flags.StringVar(&f.request.RequestID, "request-id", "", "the caller's name for this intent; made up when absent")
	flags.StringVar(&f.request.Order, "order", "", "the order that was paid")
	flags.StringVar(&f.amount, "amount", "", "decimal amount, such as 42.00")
	flags.StringVar(&f.currency, "currency", "", "ISO 4217 code, such as EUR")
	flags.StringVar(&f.request.Reason, "reason", "", "why, in one line")
	flags.StringVar(&f.request.Requester, "requester", "", "who asks; somebody else must approve")
	flags.StringVar(&f.profile, "profile", string(refund.ProfileFull), "what the provider promises: full, retention, lenient, lookup, stale or opaque; local on the journal")
	flags.DurationVar(&f.decide, "decide-within", refund.DefaultDecide, "time in which a person may decide")
	flags.DurationVar(&f.commit, "commit-within", 0, "time in which the provider may commit (default: as decide-within)")
	flags.DurationVar(&f.retained, "retention", refund.DefaultRetention, "how long the provider remembers an operation, under profile retention")
	flags.IntVar(&f.modelBudget, "model-budget", refund.DefaultModelBudget, "most requests to the model")
	flags.DurationVar(&f.callTimeout, "call-timeout", refund.DefaultCallTimeout, "bound of each call to provider and model")
	flags.DurationVar(&f.backoff, "backoff", refund.DefaultBackoff, "first pause between two asks")
	for _, name := range []string{"tenant", "order", "amount", "currency", "reason", "requester"} {
		_ = c.MarkFlagRequired(name) // fails only for a flag that does not exist
	}
	return c
}

func (s *starter) request(c *cobra.Command, f requestFlags) error {
	minted := !c.Flags().Changed("request-id")
	if minted {
		f.request.RequestID = uuid.NewString()
	}
	request, err := f.parse()
	if err != nil {
		return err
	}
	terms, err := f.terms(c)
	if err != nil {
		return err
	}
	if terms.Profile == refund.ProfileLocal && s.engine.Engine != engineflags.Handrolled {
		return refund.Errorf(refund.CodeInvalidProfile, "profile %s is the journal's own ledger: give --engine %s, or another profile", terms.Profile, engineflags.Handrolled)
	}
	if minted {
		fmt.Fprintf(c.ErrOrStderr(), "request id %s\n", request.RequestID)
	}
	return s.call(c, callBound, func(ctx context.Context, engine client) error {
		view, existing, err := engine.Request(ctx, request, terms)
		if err != nil {
			return err
		}
		answer := requestAnswer{view.OperationID, request.RequestID, view.Facts.Intake.Digest, view.Status, existing}
		return s.reply(c, answer, func(w io.Writer) {
			verb := "stored"
			if existing {
				verb = "was there already; its own terms stand"
			}
			fmt.Fprintf(w, "%s %s: request %s of %s, %s\n", view.OperationID, verb, request.RequestID, request.Amount, view.Status)
		})
	})
}

func (f requestFlags) parse() (refund.Request, error) {
	amount, err := refund.ParseMoney(f.amount, f.currency)
	if err != nil {
		return refund.Request{}, err
	}
	request := f.request
	request.Amount = amount
	return refund.NewRequest(request)
}

// terms reads the terms. In refund.Terms zero means "the default", so a zero that was typed is refused here.
func (f requestFlags) terms(c *cobra.Command) (refund.Terms, error) {
	for _, d := range []struct {
		flag  string
		value time.Duration
		code  refund.Code
	}{
		{"decide-within", f.decide, refund.CodeInvalidDeadline},
		{"commit-within", f.commit, refund.CodeInvalidDeadline},
		{"retention", f.retained, refund.CodeInvalidDeadline},
		{"call-timeout", f.callTimeout, refund.CodeInvalidFlag},
		{"backoff", f.backoff, refund.CodeInvalidFlag},
	} {
		if c.Flags().Changed(d.flag) && d.value < time.Millisecond {
			return refund.Terms{}, refund.Errorf(d.code, "--%s is %s: the least is 1ms", d.flag, d.value)
		}
	}
	if f.modelBudget == 0 {
		return refund.Terms{}, refund.Errorf(refund.CodeInvalidFlag, "--model-budget is 0: the least is 1, because without a proposal nobody can decide")
	}
	return refund.NewTerms(refund.Terms{
		Profile:      refund.ProfileName(f.profile),
		DecideWithin: f.decide.Milliseconds(),
		CommitWithin: f.commit.Milliseconds(),
		Retention:    f.retained.Milliseconds(),
		ModelBudget:  f.modelBudget,
		CallTimeout:  f.callTimeout.Milliseconds(),
		Backoff:      f.backoff.Milliseconds(),
	})
}

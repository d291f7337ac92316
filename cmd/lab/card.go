package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"refundlab/refund"
)

func cardCommand() *cobra.Command {
	var from serverFlags
	c := &cobra.Command{
		Use:   "card FILE",
		Short: "Play a card: scripts of a refund on both engines, or checks of a lease on the journal",
		Long: `Play a card, a JSON file with exact expectations. A refund card has scripts, which are played on both engines under profile
"full"; a lease card has checks, which go through the journal's own write path.

Actions of scripts:
  submit               ask for the refund and wait until its proposal is recorded
  approve              wait until approval is required, then approve
  crash_before_commit  kill the worker while its request is held before the provider's commit
  crash_after_commit   kill the worker while its request is held after the provider's commit
  retry                start another worker and wait until nothing moves any more

Exit status 1 where a card's expectation is not what was measured.`,
		Example: `  go run ./cmd/lab card cmd/lab/testdata/refund-card.json
  go run ./cmd/lab card cmd/lab/testdata/lease-card.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return refund.Wrap(refund.CodeInvalidFlag, err, "no card")
			}
			var shape struct{ Scripts, Checks json.RawMessage }
			if err := json.Unmarshal(text, &shape); err != nil {
				return refund.Wrap(refund.CodeInvalidBody, err, "card %s is not JSON", args[0])
			}
			switch {
			case shape.Scripts != nil && shape.Checks == nil:
				return playRefundCard(c.Context(), text, from, c.OutOrStdout(), c.ErrOrStderr())
			case shape.Checks != nil && shape.Scripts == nil:
				return playLeaseCard(c.Context(), text, c.OutOrStdout())
			}
			return refund.Errorf(refund.CodeInvalidBody, "card %s has neither scripts nor checks, or both", args[0])
		},
	}
	from.register(c)
	return c
}

// decodeCard reads a card and refuses what it does not know: a misspelt expectation would never be checked.
func decodeCard(text []byte, card any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(card); err != nil {
		return refund.Wrap(refund.CodeInvalidBody, err, "card does not have the expected form")
	}
	if decoder.More() {
		return refund.Errorf(refund.CodeInvalidBody, "there is something behind the card")
	}
	return nil
}

// tally prints what was expected and measured, line by line, and remembers whether all was equal.
type tally struct {
	out    io.Writer
	differ int
}

func (t *tally) compare(what string, expected, measured any) {
	word := "ok    "
	if expected != measured {
		word = "DIFFER"
		t.differ++
	}
	fmt.Fprintf(t.out, "%s %s: expected %+v, measured %+v\n", word, what, expected, measured)
}

func (t *tally) verdict() error {
	if t.differ > 0 {
		return refund.Errorf(refund.CodeNotPassed, "%d expectations of the card are not what was measured", t.differ)
	}
	return nil
}

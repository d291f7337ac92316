package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"refundlab/refund"
)

// maxReceiptFile bounds what is read as a receipt, in bytes; a receipt has a few hundred.
const maxReceiptFile = 64 << 10

type settlementFlags struct {
	operation
	kind, by, reason, receipt, settlementID string
}

func (s *starter) reconcileCommand() *cobra.Command {
	var f settlementFlags
	c := &cobra.Command{
		Use:   "reconcile" + operationUse,
		Short: "Settle a refund whose outcome is unknown",
		Long: `Settle a refund whose outcome is unknown. A receipt got by other means confirms it. Where the provider can close an
operation, closing tells for good. Where it cannot, a person may only note that it is presumed absent: the run stays
UNKNOWN, leaves the list of the open ones, and is never sent again.`,
		Example: `  starter --engine handrolled --journal journal.db reconcile --tenant shop --request-id r-1 \
      --kind presumed-absent --by carol --reason "provider's support found nothing, ticket 4711"`,
		RunE: s.checked(func(c *cobra.Command, args []string) error { return s.reconcile(c, args, f) }),
	}
	f.operation.register(c)
	flags := c.Flags()
	flags.StringVar(&f.kind, "kind", "", "receipt, close or presumed-absent")
	flags.StringVar(&f.by, "by", "", "`PERSON` who settles")
	flags.StringVar(&f.reason, "reason", "", "on what ground, in one line")
	flags.StringVar(&f.receipt, "receipt", "", "the receipt as JSON, or the `FILE` that holds it; - is standard input")
	flags.StringVar(&f.settlementID, "settlement-id", "", "name of this settlement, to repeat it safely; made up when absent")
	for _, name := range []string{"kind", "by", "reason"} {
		_ = c.MarkFlagRequired(name)
	}
	return c
}

func (s *starter) reconcile(c *cobra.Command, args []string, f settlementFlags) error {
	id, err := f.operation.id(c, args)
	if err != nil {
		return err
	}
	minted := !c.Flags().Changed("settlement-id")
	if minted {
		f.settlementID = uuid.NewString()
	}
	settlement := refund.Settlement{
		SettlementID: f.settlementID, OperationID: id, Kind: refund.SettlementKind(f.kind), By: f.by, Reason: f.reason,
	}
	if c.Flags().Changed("receipt") {
		if settlement.Receipt, err = readReceipt(c.InOrStdin(), f.receipt); err != nil {
			return err
		}
	}
	if settlement, err = refund.NewSettlement(settlement); err != nil {
		return err
	}
	if minted {
		fmt.Fprintf(c.ErrOrStderr(), "settlement id %s\n", settlement.SettlementID)
	}
	return s.call(c, callBound, func(ctx context.Context, engine client) error {
		view, err := engine.Settle(ctx, settlement)
		if err != nil {
			return err
		}
		return s.reply(c, view, func(w io.Writer) { printView(w, view, refund.At(s.clock())) })
	})
}

func readReceipt(stdin io.Reader, source string) (*refund.Receipt, error) {
	body := []byte(source)
	if !strings.HasPrefix(strings.TrimSpace(source), "{") {
		from := stdin
		if source != "-" {
			file, err := os.Open(source)
			if err != nil {
				return nil, refund.Wrap(refund.CodeInvalidFlag, err, "--receipt is neither JSON nor a file that can be read")
			}
			defer file.Close()
			from = file
		}
		var err error
		if body, err = io.ReadAll(io.LimitReader(from, maxReceiptFile)); err != nil {
			return nil, refund.Wrap(refund.CodeInvalidFlag, err, "--receipt cannot be read")
		}
	}
	var receipt refund.Receipt
	if err := refund.DecodeStrict(body, &receipt); err != nil {
		return nil, refund.Wrap(refund.CodeInvalidBody, err, "receipt is not usable")
	}
	return &receipt, nil
}

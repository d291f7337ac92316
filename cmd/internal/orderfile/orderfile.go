// Package orderfile reads the files that seed orders.
package orderfile

import (
	"encoding/json"
	"os"

	"refundlab/provider/ledger"
	"refundlab/refund"
)

// Read reads a JSON list of orders. The orders themselves are checked where they are stored. flag names the file in errors.
//
// Errors: INVALID_FLAG when the file cannot be read, INVALID_BODY.
func Read(flag, path string) ([]ledger.Order, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, refund.Wrap(refund.CodeInvalidFlag, err, "%s cannot be read", flag)
	}
	var items []json.RawMessage
	if err := json.Unmarshal(text, &items); err != nil {
		return nil, refund.Wrap(refund.CodeInvalidBody, err, "%s %q is not a JSON list of orders", flag, path)
	}
	orders := make([]ledger.Order, len(items))
	for i, item := range items {
		if err := refund.DecodeStrict(item, &orders[i]); err != nil {
			return nil, refund.Wrap(refund.CodeInvalidBody, err, "%s %q, order %d", flag, path, i+1)
		}
	}
	return orders, nil
}

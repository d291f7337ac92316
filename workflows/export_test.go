package workflows

import (
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"refundlab/refund"
)

// Fold folds events for the tests of stored histories, which have no server to read from.
func Fold(events []*historypb.HistoryEvent, now refund.Instant) (refund.View, []refund.Fact, error) {
	f := newFold(converter.GetDefaultDataConverter())
	for _, event := range events {
		if err := f.apply(event); err != nil {
			return refund.View{}, nil, err
		}
	}
	view, err := f.view(now)
	return view, f.facts, err
}

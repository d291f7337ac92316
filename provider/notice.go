package provider

import (
	"context"
	"net/http"

	"refundlab/refund"
)

// NoticeSender delivers notices over HTTP to a receiver that removes duplicates.
type NoticeSender struct {
	client Client
}

var _ Notices = (*NoticeSender)(nil)

// NewNoticeSender returns a sender to the receiver at baseURL, below which it posts to /notices.
//
// Errors: INVALID_FLAG.
func NewNoticeSender(baseURL string, h *http.Client) (*NoticeSender, error) {
	base, err := parseBase("notice receiver", baseURL)
	if err != nil {
		return nil, err
	}
	return &NoticeSender{Client{base: base, http: single(h)}}, nil
}

// Send delivers one notice. Only a 200 acknowledges it; after anything else it must be sent again.
func (s *NoticeSender) Send(ctx context.Context, n refund.Notice) error {
	status, _, _, err := s.client.call(ctx, http.MethodPost, "/notices", n)
	if err != nil {
		return refund.Wrap(cause(err), err, "notice %d of operation %s was not acknowledged", n.Revision, n.OperationID)
	}
	if status != http.StatusOK {
		return refund.Errorf(refund.CodeUnavailable, "notice %d of operation %s was not acknowledged: status %d", n.Revision, n.OperationID, status)
	}
	return nil
}

package server

import (
	"net/http"

	"refundlab/provider"
	"refundlab/refund"
)

// decodeSubmission reads and checks the body of a submit. With an error it returns what could be read, for the record.
//
// Errors: INVALID_BODY, INVALID_IDENTITY, INVALID_AMOUNT, INVALID_CURRENCY, INVALID_REASON.
func decodeSubmission(r *http.Request) (provider.Submission, error) {
	var s provider.Submission
	body, err := readBody(r, provider.MaxBody)
	if err != nil {
		return s, err
	}
	if err := refund.DecodeStrict(body, &s); err != nil {
		return s, err
	}
	if err := checkRef(s.Ref); err != nil {
		return s, err
	}
	decision, err := refund.ParseIdentity("decision id", s.DecisionID)
	if err != nil {
		return s, err
	}
	// The rules of a request's own fields stand in one place; the two names that a submission does not have are filled in.
	asked := refund.Request{Tenant: s.Tenant, RequestID: "-", Order: s.Order, Amount: s.Amount, Reason: s.Reason, Requester: "-"}
	request, err := refund.NewRequest(asked)
	if err != nil {
		return s, err
	}
	// The digest is over one spelling of everything. A provider that tidied a body up would answer for another one.
	if request != asked || decision != s.DecisionID {
		return s, refund.Errorf(refund.CodeInvalidIdentity, "tenant, order, reason or decision id is not in its one spelling: send what the intake recorded")
	}
	switch {
	case s.OrderVersion < 1:
		return s, refund.Errorf(refund.CodeInvalidBody, "order_version is %d: versions are counted from 1", s.OrderVersion)
	case s.CommitBy <= 0:
		return s, refund.Errorf(refund.CodeInvalidBody, "commit_by is %d: it is a time in UTC milliseconds", s.CommitBy)
	}
	return s, checkFence(s.Fence)
}

// decodeQuery reads and checks the body of a look-up or a close.
//
// Errors: INVALID_BODY, INVALID_IDENTITY.
func decodeQuery(r *http.Request) (provider.Query, error) {
	var q provider.Query
	body, err := readBody(r, provider.MaxBody)
	if err != nil {
		return q, err
	}
	if err := refund.DecodeStrict(body, &q); err != nil {
		return q, err
	}
	if q.Fence != nil {
		if err := checkFence(*q.Fence); err != nil {
			return q, err
		}
	}
	return q, checkRef(q.Ref)
}

func checkRef(ref provider.Ref) error {
	tenant, err := refund.ParseIdentity("tenant", ref.Tenant)
	if err != nil {
		return err
	}
	if tenant != ref.Tenant {
		return refund.Errorf(refund.CodeInvalidIdentity, "tenant %q is not in its one spelling: write %q", ref.Tenant, tenant)
	}
	if ref.Kind != refund.Kind {
		return refund.Errorf(refund.CodeInvalidBody, "kind %q is unknown: the only one is %q", ref.Kind, refund.Kind)
	}
	_, err = refund.ParseOperationID(string(ref.OperationID))
	return err
}

func checkFence(f refund.Fence) error {
	if f.Term < 0 || f.Seq < 0 {
		return refund.Errorf(refund.CodeInvalidBody, "fence %d.%d is negative", f.Term, f.Seq)
	}
	return nil
}

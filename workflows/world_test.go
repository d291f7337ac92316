package workflows_test

import (
	"context"
	"sync"
	"time"

	"refundlab/activities"
	"refundlab/provider"
	"refundlab/refund"
)

// world is the outside world in memory: a provider with one order and the promises of one profile, a model and a receiver of
// notices. Faults are hooks, called with the number of the call, from 1.
type world struct {
	mu      sync.Mutex
	profile refund.Profile
	order   refund.Order
	now     func() refund.Instant

	// submitting runs before a submit is looked at, answering after it was decided; either may replace the answer.
	submitting, answering func(n int) *provider.Answer
	reading               func(n int) error // of the order
	looking               func(n int) *provider.Answer
	closingFault          func(n int) *provider.Answer
	proposing             func(n int) error
	delivering            func(n int) error
	awaited               func(context.Context) (bool, error)

	entries    []provider.Submission // the ledger
	results    map[refund.OperationID]provider.Answer
	submits    []provider.Submission
	reads      int
	lookups    []refund.Fence
	closes     []refund.Fence
	proposals  int
	deliveries int
	notices    []refund.Notice
}

func newWorld(profile refund.ProfileName) *world {
	p, err := refund.ProfileNamed(profile)
	if err != nil {
		panic(err)
	}
	return &world{
		profile: p,
		order:   refund.Order{ID: "o1", Currency: "EUR", Captured: 10000, Version: 7},
		now:     func() refund.Instant { return refund.At(time.Now()) },
		results: map[refund.OperationID]provider.Answer{},
	}
}

func (w *world) activities() *activities.Activities {
	return &activities.Activities{Refunds: w, Model: w, Notices: w, Awaited: w.awaited, Now: func() refund.Instant { return w.now() }}
}

func (w *world) Order(context.Context, string, string) (refund.Order, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	if w.reading != nil {
		if err := w.reading(w.reads); err != nil {
			return refund.Order{}, err
		}
	}
	return w.order, nil
}

func (w *world) Submit(_ context.Context, in refund.Intake, s provider.Submission) provider.Answer {
	w.mu.Lock()
	w.submits = append(w.submits, s)
	n := len(w.submits)
	w.mu.Unlock()
	if w.submitting != nil { // outside the lock: it may hold the call
		if answer := w.submitting(n); answer != nil {
			return *answer
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	answer, known := w.results[in.OperationID]
	if !known || !w.profile.Idempotent {
		answer = w.commit(in, s)
	}
	if w.answering != nil {
		if other := w.answering(n); other != nil {
			return *other
		}
	}
	return answer
}

// commit is the provider's transaction.
func (w *world) commit(in refund.Intake, s provider.Submission) provider.Answer {
	w.entries = append(w.entries, s)
	w.order.Refunded += s.Amount.Minor
	answer := provider.Answer{Observation: refund.ObservedReceipt, Receipt: receiptFor(in)}
	w.results[in.OperationID] = answer
	return answer
}

func receiptFor(in refund.Intake) *refund.Receipt {
	return &refund.Receipt{RefundID: "r-1", OperationID: in.OperationID, Digest: in.Digest, Order: in.Request.Order, Amount: in.Request.Amount, At: 1}
}

func (w *world) LookUp(_ context.Context, in refund.Intake, fence *refund.Fence) provider.Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lookups = append(w.lookups, *fence)
	if w.looking != nil {
		if answer := w.looking(len(w.lookups)); answer != nil {
			return *answer
		}
	}
	if answer, known := w.results[in.OperationID]; known {
		return answer
	}
	return provider.Answer{Observation: refund.ObservedNotFound}
}

func (w *world) Close(_ context.Context, in refund.Intake, fence refund.Fence) provider.Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closes = append(w.closes, fence)
	if w.closingFault != nil {
		if answer := w.closingFault(len(w.closes)); answer != nil {
			return *answer
		}
	}
	answer, known := w.results[in.OperationID]
	if !known {
		answer = provider.Answer{Observation: refund.ObservedRefusal, Refusal: refund.CodeClosed}
		w.results[in.OperationID] = answer
	}
	return answer
}

func (w *world) Propose(_ context.Context, _ refund.Intake, order refund.Order) (refund.Proposal, error) {
	w.mu.Lock()
	w.proposals++
	n := w.proposals
	w.mu.Unlock()
	if w.proposing != nil {
		if err := w.proposing(n); err != nil {
			return refund.Proposal{}, err
		}
	}
	return refund.Proposal{Recommendation: "approve", Rationale: "the goods came back", OrderVersion: order.Version, AnswerID: "answer-" + refund.Decimal(int64(n))}, nil
}

func (w *world) Send(_ context.Context, notice refund.Notice) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deliveries++
	if w.delivering != nil {
		if err := w.delivering(w.deliveries); err != nil {
			return err
		}
	}
	w.notices = append(w.notices, notice)
	return nil
}

func ambiguous() *provider.Answer {
	return &provider.Answer{Observation: refund.ObservedAmbiguous, Detail: "the connection was cut"}
}

func request(id string) refund.Request {
	return refund.Request{
		Tenant: "shop", RequestID: id, Order: "o1", Amount: refund.Money{Minor: 4200, Currency: "EUR"}, Reason: "came back", Requester: "user-1",
	}
}

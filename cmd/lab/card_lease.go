package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"refundlab/handrolled"
	"refundlab/refund"
)

// leaseCard is a file of writes that arrive at the protected resource. Its times are milliseconds of a clock that starts at
// leaseEpoch, because a store has no instant 0.
type leaseCard struct {
	About   string       `json:"about"`
	Initial leaseState   `json:"initial"`
	Checks  []leaseCheck `json:"checks"`
}

type leaseState struct {
	CurrentToken int64             `json:"current_token"`
	LeaseUntil   int64             `json:"lease_until"`
	Now          int64             `json:"now"`
	Workers      map[string]*int64 `json:"workers"` // token of each, null for one without a lease
}

type leaseCheck struct {
	Write struct {
		Token      int64 `json:"token"`
		Current    int64 `json:"current"`
		Now        int64 `json:"now"`
		LeaseUntil int64 `json:"lease_until"`
	} `json:"write"`
	Expect struct {
		Allowed bool `json:"allowed"`
	} `json:"expect"`
}

const leaseEpoch refund.Instant = 1_000_000

func playLeaseCard(ctx context.Context, text []byte, out io.Writer) error {
	var card leaseCard
	if err := decodeCard(text, &card); err != nil {
		return err
	}
	if len(card.Checks) == 0 {
		return refund.Errorf(refund.CodeInvalidBody, "card has no check: nothing would be checked")
	}
	dir, err := os.MkdirTemp("", "card-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	t := tally{out: out}
	for i, check := range card.Checks {
		allowed, err := card.write(ctx, filepath.Join(dir, fmt.Sprintf("journal-%d.db", i+1)), check)
		if err != nil {
			return refund.Wrap(refund.CodeOf(err), err, "check %d of the card", i+1)
		}
		w := check.Write
		t.compare(fmt.Sprintf("token %d against %d at %d, lease until %d", w.Token, w.Current, w.Now, w.LeaseUntil),
			fmt.Sprintf("allowed=%t", check.Expect.Allowed), fmt.Sprintf("allowed=%t", allowed))
	}
	return t.verdict()
}

// write brings a journal to the state of a check by claiming the run as often as it says, and lets the owner with the
// check's token write.
func (card leaseCard) write(ctx context.Context, path string, check leaseCheck) (allowed bool, err error) {
	clock := leaseEpoch
	store, err := handrolled.Open(path, handrolled.Options{Clock: func(refund.Instant) (refund.Instant, bool) { return clock, false }})
	if err != nil {
		return false, err
	}
	defer store.Close()
	request, err := refund.NewRequest(refund.Request{
		Tenant: "card", RequestID: "r1", Order: "o-1", Amount: refund.Money{Minor: 10_000, Currency: "EUR"}, Reason: "lease card", Requester: "alice",
	})
	if err != nil {
		return false, err
	}
	terms, err := refund.NewTerms(refund.Terms{})
	if err != nil {
		return false, err
	}
	if _, _, err := store.Admit(ctx, request, terms, "card"); err != nil {
		return false, err
	}
	leases, err := card.claims(ctx, store, &clock, check)
	if err != nil {
		return false, err
	}
	writer, found := leases[check.Write.Token]
	if !found {
		return false, refund.Errorf(refund.CodeInvalidBody, "nobody ever had token %d", check.Write.Token)
	}
	at := leaseEpoch + refund.Instant(check.Write.Now)
	if at.Before(clock) {
		return false, refund.Errorf(refund.CodeInvalidBody, "the write at %d comes before the claim of its current token", check.Write.Now)
	}
	clock = at
	_, err = store.ReserveModelCall(ctx, writer) // the first write of every owner
	if err != nil && refund.CodeOf(err) != refund.CodeLeaseLost {
		return false, err
	}
	return err == nil, nil
}

// claims makes the claims up to the current token: the first as the card's initial state has it, each further one when the
// one before is over, the last until the check's lease_until.
func (card leaseCard) claims(ctx context.Context, store *handrolled.Store, clock *refund.Instant, check leaseCheck) (map[int64]handrolled.Lease, error) {
	leases := map[int64]handrolled.Lease{}
	*clock = leaseEpoch + refund.Instant(card.Initial.Now)
	until := leaseEpoch + refund.Instant(card.Initial.LeaseUntil)
	for token := int64(1); token <= check.Write.Current; token++ {
		if token > 1 {
			*clock = until
			until++
		}
		if token == check.Write.Current {
			until = leaseEpoch + refund.Instant(check.Write.LeaseUntil)
		}
		if !clock.Before(until) {
			return nil, refund.Errorf(refund.CodeInvalidBody, "token %d would have a lease that ends before it begins", token)
		}
		run, found, err := store.Claim(ctx, fmt.Sprintf("worker-%d", token), time.Duration(until-*clock)*time.Millisecond)
		if err != nil {
			return nil, err
		}
		if !found || run.Lease.Generation != token || run.Lease.Until != until {
			return nil, refund.Errorf(refund.CodeInternal, "claim %d gave generation %d until %d", token, run.Lease.Generation, run.Lease.Until-leaseEpoch)
		}
		leases[token] = run.Lease
	}
	return leases, card.checkInitial(leases)
}

// checkInitial compares the card's initial state with the journal's after the first claim.
func (card leaseCard) checkInitial(leases map[int64]handrolled.Lease) error {
	if card.Initial.CurrentToken != 1 {
		return refund.Errorf(refund.CodeInvalidBody, "current_token is %d: a journal's first generation is 1", card.Initial.CurrentToken)
	}
	for name, token := range card.Initial.Workers {
		if token == nil {
			continue
		}
		if _, claimed := leases[*token]; !claimed || *token != card.Initial.CurrentToken {
			return refund.Errorf(refund.CodeInvalidBody, "worker %s has token %d, the first claim gives %d", name, *token, card.Initial.CurrentToken)
		}
	}
	return nil
}

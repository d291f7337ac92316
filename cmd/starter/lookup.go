package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"refundlab/refund"
)

// lookUpBound ends the look-up of status: a provider that does not answer is shown as not reachable.
const lookUpBound = 5 * time.Second

// lookUp asks the provider as a reader: it carries no fence, raises nothing, and finding nothing proves nothing.
func (s *starter) lookUp(ctx context.Context, in refund.Intake) *refund.World {
	profile, err := refund.ProfileNamed(in.Terms.Profile)
	if s.world == nil || err == nil && (profile.Shared || profile.Lookup == refund.LookupNone) { // nobody to ask
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpBound)
	defer cancel()
	answer := s.world.LookUp(ctx, in, nil)
	world := &refund.World{Observation: answer.Observation, Receipt: answer.Receipt, Refusal: answer.Refusal, Detail: answer.Detail}
	if s.line.broken {
		world.Detail = "the provider is not reachable: " + answer.Detail
	}
	return world
}

// line is the way to the provider. It knows whether the last request got an answer at all: to a caller of the provider's
// client that is the same as an answer that proves nothing.
type line struct {
	broken bool
	// announced is the way with the fault hooks. A close goes by it, as every call of an owner; a reader's look-up does not.
	announced http.RoundTripper
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	way := http.DefaultTransport
	if strings.HasSuffix(r.URL.Path, "/close") {
		way = l.announced
	}
	response, err := way.RoundTrip(r)
	l.broken = err != nil
	return response, err
}

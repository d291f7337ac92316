package server

import (
	"errors"
	"fmt"

	"refundlab/faults"
	"refundlab/provider"
	"refundlab/provider/ledger"
)

// errAborted rolls a held transaction back.
var errAborted = errors.New("aborted at a fault point")

// passage is one submit on its way past the four fault points. Without a harness it announces nothing and changes nothing.
type passage struct {
	server     *Server
	submission provider.Submission

	refused    bool // nothing is processed
	duplicated bool // the message arrives twice
	aborted    bool // the transaction was rolled back, nobody is answered
	lost       bool // the effect stands, nobody is answered
}

func (s *Server) passage(submission provider.Submission) *passage {
	return &passage{server: s, submission: submission}
}

func (p *passage) arrive() {
	switch p.announce(faults.ProviderRecv, faults.Before, "") {
	case faults.Refuse:
		p.refused = true
	case faults.Drop:
		p.refused, p.lost = true, true
	case faults.Duplicate:
		p.duplicated = true
	}
}

// beforeCommit stands inside the transaction, with the file's write lock in hand.
func (p *passage) beforeCommit(r ledger.Result) error {
	if p.announce(faults.ProviderCommit, faults.Before, r.Outcome) == faults.Abort {
		p.aborted = true
		return errAborted
	}
	return nil
}

func (p *passage) afterCommit(r ledger.Result) {
	p.announce(faults.ProviderCommit, faults.After, r.Outcome)
}

func (p *passage) leave(a answer) {
	if !p.aborted {
		p.announce(faults.ProviderRecv, faults.After, a.result.Outcome)
	}
}

// announce blocks while the harness holds the submit. The announcement lives as long as the server: the client's connection
// may be gone, because its process was killed while the submit was held here. A harness that cannot be reached is its own
// trial's end; the submit goes on as if nothing had been scheduled.
func (p *passage) announce(boundary faults.Boundary, when faults.When, outcome ledger.Outcome) faults.Action {
	s := p.server
	detail := map[string]string{"verb": "submit"}
	if outcome != "" {
		detail["outcome"] = string(outcome)
	}
	reply, err := s.options.Announcer.Announce(s.life, faults.Announcement{
		Point:     faults.Point{Boundary: boundary, When: when},
		Operation: string(p.submission.OperationID),
		Fence:     fmt.Sprintf("%d.%d", p.submission.Fence.Term, p.submission.Fence.Seq),
		Detail:    detail,
	})
	if err != nil {
		s.log.Warn("harness was not reached", "error", err)
		return faults.Continue
	}
	// Losing the answer means the same wherever it is asked for.
	p.lost = p.lost || reply.Action == faults.Lose
	return reply.Action
}

package server

import (
	"net/http"
	"sync"

	"refundlab/evidence"
	"refundlab/provider"
	"refundlab/refund"
)

// notices is the receiver of notices: it takes each revision of an operation's notice once, and none that is older than one
// it has.
type notices struct {
	mu       sync.Mutex
	keep     bool // whether anybody can ask for the arrivals
	book     *book
	arrivals []evidence.NoticeArrival
	revision map[refund.OperationID]int64 // the highest taken
}

// receive tells whether the notice was a duplicate.
func (n *notices) receive(notice refund.Notice) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	duplicate := notice.Revision <= n.revision[notice.OperationID]
	arrival := evidence.NoticeArrival{N: int64(len(n.arrivals)) + 1, Notice: notice, Duplicate: duplicate}
	if n.keep {
		n.book.note(bookEntry{Notice: &arrival})
	}
	n.restore(arrival)
	return duplicate
}

// restore takes an arrival as it was judged. The lock is held, or nothing is served yet.
func (n *notices) restore(arrival evidence.NoticeArrival) {
	if !arrival.Duplicate {
		if n.revision == nil {
			n.revision = map[refund.OperationID]int64{}
		}
		n.revision[arrival.OperationID] = arrival.Revision
	}
	if n.keep {
		n.arrivals = append(n.arrivals, arrival)
	}
}

func (n *notices) list() []evidence.NoticeArrival {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]evidence.NoticeArrival{}, n.arrivals...)
}

// receiveNotice serves POST /notices. A duplicate is acknowledged like the first: the sender only has to know that it may
// stop sending.
func (s *Server) receiveNotice(w http.ResponseWriter, r *http.Request) {
	var notice refund.Notice
	body, err := readBody(r, provider.MaxBody)
	if err == nil {
		err = refund.DecodeStrict(body, &notice)
	}
	if err == nil {
		err = checkNotice(notice)
	}
	if err != nil {
		s.writeError(w, notice.OperationID, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]bool{"duplicate": s.notices.receive(notice)})
}

func checkNotice(n refund.Notice) error {
	if _, err := refund.ParseOperationID(string(n.OperationID)); err != nil {
		return err
	}
	if n.Revision < 1 {
		return refund.Errorf(refund.CodeInvalidBody, "notice has revision %d: revisions are counted from 1", n.Revision)
	}
	if !n.Status.Terminal() {
		return refund.Errorf(refund.CodeInvalidBody, "notice has status %q: only the end of a run is told", n.Status)
	}
	return nil
}

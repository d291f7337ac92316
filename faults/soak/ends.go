package soak

import (
	"refundlab/faults"
	"refundlab/refund"
)

// most bounds the submits of one run where every repetition is one refund.
const most = 60

const open = "a request may still arrive that nobody may repeat, or nobody can be asked"

// ends are the permitted ends of a run: every end that its profile and its script allow. Which of them may come together with what
// is in the ledger, the invariants say; the lot cannot.
func (d *draw) ends(r *run) faults.End {
	submits := most
	switch {
	case d.promises.Shared:
		submits = 0
	case !d.promises.Idempotent:
		submits = 1 // never a second send
	}
	first := faults.End{Status: string(refund.StatusConfirmed), Entries: 1, LeastSubmits: min(1, submits), MostSubmits: submits}
	end := func(status refund.RunStatus, reason refund.Code, entries int) {
		e := faults.End{Status: string(status), Reason: string(reason), Entries: entries, MostSubmits: submits}
		if status == refund.StatusUnknown {
			e.UnknownBecause = open
		}
		first.Or = append(first.Or, e)
	}
	end(refund.StatusRejected, refund.CodeInsufficientBalance, 0)
	end(refund.StatusRejected, refund.CodeOrderVersionChanged, 0)
	end(refund.StatusRejected, refund.CodeProposalFailed, 0)
	if r.rejects {
		end(refund.StatusRejected, refund.CodeApprovalRejected, 0)
	}
	if r.request.DecideMS == r.request.CommitMS && r.request.DecideMS != 0 {
		end(refund.StatusExpired, "", 0)
	}
	if r.cancelled {
		end(refund.StatusRejected, refund.CodeCancelled, 0)
	}
	if r.request.CommitMS != 0 {
		end(refund.StatusRejected, refund.CodeApprovalExpired, 0)
	}
	if d.promises.Close {
		end(refund.StatusRejected, refund.CodeClosed, 0)
	} else {
		end(refund.StatusUnknown, "", 0)
		end(refund.StatusUnknown, "", 1)
	}
	// Whoever asked may have been told each time that the store is locked or that no server answers. What anybody was told of is
	// there, says HISTORY.
	first.Or = append(first.Or, faults.End{Absent: true})
	return first
}

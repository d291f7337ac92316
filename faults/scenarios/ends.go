package scenarios

import (
	"refundlab/faults"
	"refundlab/refund"
)

// confirmed is the end of a refund that happened once.
func confirmed(least, most int) faults.End {
	return faults.End{Status: string(refund.StatusConfirmed), Entries: 1, LeastSubmits: least, MostSubmits: most}
}

// rejected is the end of a refund that never happens.
func rejected(reason refund.Code, least, most int) faults.End {
	return faults.End{Status: string(refund.StatusRejected), Reason: string(reason), LeastSubmits: least, MostSubmits: most}
}

var expired = faults.End{Status: string(refund.StatusExpired)}

// unknown is the end of a run about which nobody may say more.
func unknown(entries, submits int, because string) faults.End {
	return faults.End{Status: string(refund.StatusUnknown), Entries: entries, LeastSubmits: submits, MostSubmits: submits, UnknownBecause: because}
}

// sent is the number of submits of an undisturbed run: under local nothing crosses a network.
func (c cell) sent(n int) int {
	if c.profile.Shared {
		return 0
	}
	return n
}

// undisturbed is the end of every run without a fault.
func (c cell) undisturbed() faults.End { return confirmed(c.sent(1), c.sent(1)) }

// ends chooses by arm for a script with the one run r1 and its one approval.
func (c cell) ends(broken faults.End) faults.Expectation {
	end := broken
	if !c.fault {
		end = c.undisturbed()
	}
	return faults.Expectation{
		Runs:     map[string]faults.End{"r1": end},
		Verdicts: map[string]string{"d1": string(refund.VerdictAccepted)},
		Answers:  map[string]string{"request-r1": "", "bob": ""},
	}
}

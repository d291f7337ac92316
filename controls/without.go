package controls

// Uncontrolled is a protection without a control.
type Uncontrolled struct {
	Name string
	Why  string // nothing shows that it is gone
}

// Without are the protections that no scenario of any kind could show to be gone. They are named in the report, so that nobody takes
// the list of controls for longer than it is.
var Without = []Uncontrolled{
	{
		Name: "the fence that an owner's look-up carries",
		Why:  "No owner that could be late looks up where a fence is kept. Under full the rule sends again or closes, and both carry the fence; the look-up is for the profiles that cannot close, and those keep no fence to compare it with. The one look-up under full is that of Temporal's submit, in the first attempt of a round after a check that failed and when nothing was sent before: what could be late then is a request of the same round and attempt, under an equal fence, which is refused by none. What a look-up of an old owner shows is not recorded in any case: the journal's write carries the generation and the lease, and the server of Temporal takes no result of an attempt that is over.",
	},
}

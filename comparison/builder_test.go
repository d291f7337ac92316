package comparison

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// start is when every trial of these tests began.
const start refund.Instant = 1_750_000_000_000

// allChecks are the judge's. The scenes of these tests show what a test is about and are no whole paths, so the check that
// follows a path through the model is left out of what is judged here; path_test.go gives it real trials.
var allChecks = checks

func TestMain(m *testing.M) {
	checks = filter(checks, func(c check) bool { return c.id != "MODEL" })
	os.Exit(m.Run())
}

// scene is a trial under construction. It begins as a sound trial of the arm with the fault in which everything went well:
// worker A was killed at the provider's commit, B took over, sent the same operation again and got the stored receipt. A
// test changes what it is about.
type scene struct {
	evidence.Record
	expect faults.Expectation
	seq    int64
}

func asked(requestID string) refund.Request {
	return refund.Request{
		Tenant: "acme", RequestID: requestID, Order: "o-1", Amount: refund.Money{Minor: 4200, Currency: "EUR"},
		Reason: "broken", Requester: "alice",
	}
}

func newScene(engine string, profile refund.ProfileName) *scene {
	kill := faults.Schedule{{Name: "kill-a", Point: point("provider-commit.after"), Nth: 1, Action: faults.Kill, Victim: "A"}}
	s := &scene{}
	s.Trial = evidence.Trial{
		Cell:     evidence.Cell{Scenario: "crash", Engine: engine, Profile: profile, Arm: evidence.ArmFault},
		Schedule: kill,
		Processes: []evidence.Process{
			{Name: "provider", Role: "provider", StartSeq: 1},
			{Name: "A", Role: "worker", StartSeq: 1, EndSeq: 400, WaitStatus: "signal 9", CPUMS: 40, MaxRSSKB: 20_480},
			{Name: "B", Role: "worker", StartSeq: 1, CPUMS: 60, MaxRSSKB: 30_720},
			{Name: "bob", Role: "client", StartSeq: 1, EndSeq: 300, WaitStatus: "exit 0"},
		},
		Budget: evidence.Budget{CallTimeoutMS: 800, LeaseMS: 1500, StartToCloseMS: 2000, WorkflowTaskTimeoutMS: 2000, BackoffMS: 100, BoundMS: 10_000},
	}
	s.expect = faults.Expectation{
		Scenario: "crash", Engine: engine, Profile: string(profile), Arm: "fault", Schedule: kill,
		Runs:     map[string]faults.End{"r1": {Status: "CONFIRMED", Entries: 1, LeastSubmits: 2, MostSubmits: 2}},
		Verdicts: map[string]string{"d1": "ACCEPTED"},
		Answers:  map[string]string{"bob": ""},
	}
	s.Provider = evidence.Provider{
		Profile: profile,
		Orders:  []evidence.Order{{Tenant: "acme", Order: refund.Order{ID: "o-1", Currency: "EUR", Captured: 10_000, Version: 3}}},
	}
	s.Exports = evidence.Exports{}
	run := s.run("r1", engine, profile)

	s.requested("r1")
	s.cross("A", "intake.after", run, "")
	s.cross("A", "model-call.before", run, "")
	s.bill(run, "answer-1")
	s.cross("A", "proposal.before", run, "1.1")
	s.cross("A", "proposal.after", run, "1.1")
	s.fact("r1", refund.FactProposal, "answer-1", "", refund.Fence{Term: 1, Seq: 1})
	s.cross("bob", "decision.after", run, "")
	s.answer(evidence.Answer{Process: "bob", Run: "r1", Verb: "approve", Args: []string{string(run), "--as", "bob", "--decision-id", "d1"}},
		reply{OperationID: run, DecisionID: "d1", Verdict: refund.VerdictAccepted, At: start + 30})
	s.fact("r1", refund.FactVerdict, "d1", "ACCEPTED", refund.Fence{})
	s.cross("A", "intent.before", run, "1.1")
	s.cross("A", "intent.after", run, "1.1")
	s.fact("r1", refund.FactIntent, "SEND", "", refund.Fence{Term: 1, Seq: 1})
	s.cross("A", "provider-call.before", run, "1.1")
	s.cross("provider", "provider-received.before", run, "1.1")
	s.receive("submit", run, refund.Fence{Term: 1, Seq: 1}, "committed")
	s.enter(run, "rf-1", refund.Fence{Term: 1, Seq: 1})
	hit := s.cross("provider", "provider-commit.after", run, "1.1")
	hit.Detail = map[string]string{"outcome": "committed"}
	s.Trial.Fired = []evidence.Fired{{Rule: "kill-a", Point: hit.Point, Action: faults.Kill, Victim: "A", Seq: hit.Seq, At: hit.At, DoneSeq: s.next(), Proof: "signal 9"}}
	s.cross("B", "claim.after", run, "2.1")
	s.cross("B", "intent.before", run, "2.1")
	s.cross("B", "intent.after", run, "2.1")
	s.fact("r1", refund.FactIntent, "SEND", "", refund.Fence{Term: 2, Seq: 1})
	s.cross("B", "provider-call.before", run, "2.1")
	s.cross("provider", "provider-received.before", run, "2.1")
	s.receive("submit", run, refund.Fence{Term: 2, Seq: 1}, "receipt")
	s.cross("B", "outcome.before", run, "2.1")
	s.cross("B", "outcome.after", run, "2.1")
	s.fact("r1", refund.FactOutcome, "rf-1", "CONFIRMED", refund.Fence{Term: 2, Seq: 1})
	s.notice(run, refund.StatusConfirmed, "rf-1")
	s.Trial.StartedAt, s.Trial.EndedAt, s.Trial.RestSeq = start, start+5000, s.next()
	return s
}

// requested adds the answer to the command that made a run, before everything else.
func (s *scene) requested(name string) {
	in := s.Exports[name].View.Facts.Intake
	text, err := json.Marshal(reply{OperationID: in.OperationID, RequestID: name, Digest: in.Digest})
	if err != nil {
		panic(err)
	}
	s.Answers = append(s.Answers, evidence.Answer{StartSeq: 1, EndSeq: 2, Process: "alice-" + name, Run: name, Verb: "request", Args: requestArgs(in.Request), Output: text})
}

func requestArgs(q refund.Request) []string {
	amount, currency, _ := strings.Cut(q.Amount.String(), " ")
	return []string{"--tenant", q.Tenant, "--request-id", q.RequestID, "--order", q.Order, "--amount", amount, "--currency", currency, "--reason", q.Reason, "--requester", q.Requester, "--call-timeout", "800ms"}
}

// agreed changes the terms of r1 in its record, and lets its request have asked for them.
func agreed(edit func(*refund.Terms)) func(*scene) {
	return func(s *scene) {
		s.change("r1", func(e *refund.Export) {
			terms := &e.View.Facts.Intake.Terms
			edit(terms)
			s.Answers[0].Args = append(s.Answers[0].Args, "--decide-within", fmt.Sprintf("%dms", terms.DecideWithin),
				"--commit-within", fmt.Sprintf("%dms", terms.CommitWithin), "--retention", fmt.Sprintf("%dms", terms.Retention))
		})
	}
}

func point(text string) faults.Point {
	var p faults.Point
	if err := p.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return p
}

func (s *scene) next() int64 {
	s.seq += 10
	return s.seq
}

// run adds a run that is CONFIRMED, with its decision, and states no facts of it.
func (s *scene) run(name, engine string, profile refund.ProfileName) refund.OperationID {
	terms, err := refund.NewTerms(refund.Terms{Profile: profile, CallTimeout: 800, Backoff: 100})
	if err != nil {
		panic(err)
	}
	in := refund.NewIntake(asked(name), terms, start+10)
	s.Exports[name] = refund.Export{
		Raw: json.RawMessage(`[]`),
		View: refund.View{
			Engine: engine, OperationID: in.OperationID, Status: refund.StatusConfirmed,
			Facts: refund.Facts{
				Intake: in, State: refund.StateConfirmed, FirstSentAt: start + 40,
				Proposal: &refund.Proposal{Recommendation: "approve", Rationale: "fine", OrderVersion: 3, AnswerID: "answer-1"},
				Decision: &refund.Decision{DecisionID: "d1", OperationID: in.OperationID, Choice: refund.ChoiceApprove, Approver: "bob", Digest: in.Digest, OrderVersion: 3},
				Verdicts: []refund.RecordedVerdict{{DecisionID: "d1", Code: refund.VerdictAccepted, At: start + 30}},
				Receipt:  &refund.Receipt{RefundID: "rf-1", OperationID: in.OperationID, Digest: in.Digest, Order: "o-1", Amount: in.Request.Amount, At: start + 50},
			},
		},
		Facts: []refund.Fact{{Seq: 1, At: in.At, Kind: refund.FactIntake, Hash: "h", Party: "client"}},
	}
	return in.OperationID
}

// change edits an export in place.
func (s *scene) change(name string, edit func(*refund.Export)) {
	export := s.Exports[name]
	edit(&export)
	s.Exports[name] = export
}

func (s *scene) cross(process, at string, operation refund.OperationID, fence string) *evidence.Crossing {
	seq := s.next()
	nth := 1
	for _, c := range s.Trace {
		if c.Process == process && c.Point == point(at) {
			nth++
		}
	}
	s.Trace = append(s.Trace, evidence.Crossing{
		Seq: seq, At: start + refund.Instant(seq), Nth: nth, Reply: faults.Continue,
		Announcement: faults.Announcement{Process: process, Point: point(at), Operation: string(operation), Fence: fence},
	})
	return &s.Trace[len(s.Trace)-1]
}

func (s *scene) fact(run string, kind refund.FactKind, ref, code string, fence refund.Fence) {
	s.change(run, func(e *refund.Export) {
		n := int64(len(e.Facts)) + 1
		e.Facts = append(e.Facts, refund.Fact{Seq: n, At: start + refund.Instant(s.seq), Kind: kind, Hash: "hash of " + ref, Party: "A", Ref: ref, Code: code, Fence: fence})
	})
}

func (s *scene) receive(verb string, operation refund.OperationID, fence refund.Fence, outcome string) *evidence.Received {
	s.Provider.Received = append(s.Provider.Received, evidence.Received{
		N: int64(len(s.Provider.Received)) + 1, Verb: verb, OperationID: operation, Digest: s.digest(operation), Fence: &fence, Outcome: outcome,
		At: start + refund.Instant(s.seq),
	})
	return &s.Provider.Received[len(s.Provider.Received)-1]
}

func (s *scene) digest(operation refund.OperationID) refund.Digest {
	for _, export := range s.Exports {
		if export.View.OperationID == operation {
			return export.View.Facts.Intake.Digest
		}
	}
	return ""
}

// enter adds a ledger entry and the money that it moved.
func (s *scene) enter(operation refund.OperationID, refundID string, fence refund.Fence) *evidence.Entry {
	s.Provider.Ledger = append(s.Provider.Ledger, evidence.Entry{
		RefundID: refundID, Tenant: "acme", OperationID: operation, Digest: s.digest(operation), Order: "o-1",
		Amount: refund.Money{Minor: 4200, Currency: "EUR"}, OrderVersion: 3, DecisionID: "d1", Fence: fence, At: start + refund.Instant(s.seq),
	})
	s.Provider.Orders[0].Refunded += 4200
	return &s.Provider.Ledger[len(s.Provider.Ledger)-1]
}

// erase empties the ledger.
func (s *scene) erase() {
	s.Provider.Ledger, s.Provider.Orders[0].Refunded = nil, 0
}

func (s *scene) bill(operation refund.OperationID, answer string) {
	s.Provider.Bill = append(s.Provider.Bill, evidence.ModelRequest{
		N: int64(len(s.Provider.Bill)) + 1, OperationID: operation, AnswerID: answer, Answered: "good", Tokens: 120, At: start + refund.Instant(s.seq),
	})
}

func (s *scene) notice(operation refund.OperationID, status refund.RunStatus, refundID string) *evidence.NoticeArrival {
	s.Provider.Notices = append(s.Provider.Notices, evidence.NoticeArrival{
		N: int64(len(s.Provider.Notices)) + 1, Notice: refund.Notice{OperationID: operation, Revision: 1, Status: status, RefundID: refundID, At: start + refund.Instant(s.seq)},
	})
	return &s.Provider.Notices[len(s.Provider.Notices)-1]
}

// answer adds what a client command printed.
func (s *scene) answer(a evidence.Answer, output any) {
	a.StartSeq, a.EndSeq, a.Output = s.next(), s.next(), jsonOf(output)
	s.Answers = append(s.Answers, a)
}

func jsonOf(output any) json.RawMessage {
	text, err := json.Marshal(output)
	if err != nil {
		panic(err)
	}
	return text
}

// unknown turns the run r1 into one whose outcome nobody knows, with nothing in the ledger.
func (s *scene) unknown() {
	s.change("r1", func(e *refund.Export) {
		e.View.Status, e.View.Facts.State, e.View.Facts.Receipt = refund.StatusUnknown, refund.StateUnknown, nil
	})
	s.erase()
	s.Provider.Notices = nil
	end := s.expect.Runs["r1"]
	end.Status, end.Entries, end.UnknownBecause = "UNKNOWN", 0, "nobody can tell"
	s.expect.Runs["r1"] = end
}

// rejected turns the run r1 into one that the provider refused.
func (s *scene) rejected(code refund.Code) {
	s.change("r1", func(e *refund.Export) {
		e.View.Status, e.View.Reason = refund.StatusRejected, code
		e.View.Facts.State, e.View.Facts.Rejected, e.View.Facts.Receipt = refund.StateRejected, code, nil
	})
	s.erase()
	s.Provider.Notices[0].Status, s.Provider.Notices[0].RefundID = refund.StatusRejected, ""
	end := s.expect.Runs["r1"]
	end.Status, end.Reason, end.Entries = "REJECTED", string(code), 0
	s.expect.Runs["r1"] = end
}

func (s *scene) judge() Judged { return JudgeRecord(s.Record, s.expect) }

func (s *scene) id() refund.OperationID { return s.Exports["r1"].View.OperationID }

// requireChecks asks for a verdict and for the checks that its findings name, each once.
func requireChecks(t *testing.T, judged Judged, verdict Verdict, checks ...string) {
	t.Helper()
	var named []string
	for _, finding := range judged.Findings {
		named = append(named, finding.Check)
	}
	require.Equal(t, verdict, judged.Verdict, "%v", judged.Findings)
	require.ElementsMatch(t, checks, unique(named), "%v", judged.Findings)
}

// one is a case: what is changed in a sound trial, and what the judge must say. Verdict Pass is the green side of a check.
type one struct {
	name    string
	profile refund.ProfileName // full where it is empty
	engine  string             // handrolled where it is empty
	change  func(*scene)
	verdict Verdict
	checks  []string
}

func judgeAll(t *testing.T, cases []one) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			if tt.profile == "" {
				tt.profile = refund.ProfileFull
			}
			if tt.engine == "" {
				tt.engine = "handrolled"
			}
			s := newScene(tt.engine, tt.profile)
			tt.change(s)
			requireChecks(t, s.judge(), tt.verdict, tt.checks...)
		})
	}
}

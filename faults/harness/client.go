package harness

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// client is one run of a client command.
type client struct {
	process *process
	answer  evidence.Answer
	joined  chan struct{} // closed once its answer is recorded
}

// launch starts a client command and records its answer when it ends.
func (t *trial) launch(name, runName, verb string, args []string) (*client, error) {
	t.mu.Lock()
	if name == "" {
		name = fmt.Sprintf("client-%d", len(t.clients)+1)
	}
	if _, taken := t.clients[name]; taken {
		t.mu.Unlock()
		return nil, fmt.Errorf("the client name %q stands twice in the script", name)
	}
	t.mu.Unlock()
	values, err := t.valuesFor(everyClient, name)
	if err != nil {
		return nil, err
	}
	argv := append(fill(t.engine.Starter, values), "--json", verb)
	argv = append(argv, fill(args, values)...)
	child, err := t.processes.start(name, "client", argv, false)
	if err != nil {
		return nil, err
	}
	c := &client{process: child, joined: make(chan struct{}), answer: evidence.Answer{
		StartSeq: child.record.StartSeq, Process: name, Run: runName, Verb: verb, Args: args,
	}}
	t.mu.Lock()
	t.clients[name] = c
	t.mu.Unlock()
	go func() {
		<-child.ended
		c.answer.EndSeq = child.record.EndSeq
		c.answer.Exit = child.cmd.ProcessState.ExitCode()
		if child.record.WaitStatus == "signal 9" {
			c.answer.Exit = -9
		}
		if output := strings.TrimSpace(child.stdout.String()); json.Valid([]byte(output)) {
			c.answer.Output = json.RawMessage(output)
		}
		c.answer.Stderr = t.processes.lastWords(child)
		t.mu.Lock()
		t.answers = append(t.answers, c.answer)
		t.mu.Unlock()
		close(c.joined)
	}()
	return c, nil
}

func (t *trial) join(ctx context.Context, c *client) error {
	ctx, cancel := context.WithTimeout(ctx, clientWithin)
	defer cancel()
	select {
	case <-c.joined:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("client %s has not ended in time", c.answer.Process)
	}
}

// joinAll waits for the clients that the script left in the background, so that every answer is in the evidence. A client may be
// hit although every run is at rest, and the reaction to that may send another one.
func (t *trial) joinAll(ctx context.Context) error {
	for joined := 0; ; {
		t.mu.Lock()
		list := slices.Collect(maps.Values(t.clients))
		t.mu.Unlock()
		for _, c := range list {
			if err := t.join(ctx, c); err != nil {
				return err
			}
		}
		if err := t.trace.await(ctx, "the reactions to what hit the last clients", func() bool { return t.unreacted() == "" }); err != nil {
			return err
		}
		if len(list) == joined {
			return nil
		}
		joined = len(list)
	}
}

// command starts a client and, unless it belongs into the background, waits for its end. What it answered is evidence and no
// business of the script; only an answer that tells that nothing could be reached breaks the trial.
func (t *trial) command(ctx context.Context, s faults.Step, verb string, args []string) error {
	c, err := t.launch(s.Process, s.Run, verb, append(args, s.Args...))
	if err != nil || s.Background {
		return err
	}
	if err := t.join(ctx, c); err != nil {
		return err
	}
	if c.answer.Exit == refund.ExitInternal || c.answer.Exit == refund.ExitInvalidInput || c.answer.Exit == refund.ExitUnavailable {
		return fmt.Errorf("%s ended with status %d: %s %s", verb, c.answer.Exit, c.answer.Output, c.answer.Stderr)
	}
	return nil
}

func (t *trial) request(ctx context.Context, s faults.Step) error {
	amount, err := refund.NewMoney(s.Amount, cmp.Or(s.Currency, "EUR"))
	if err != nil {
		return err
	}
	decimal, currency, _ := strings.Cut(amount.String(), " ")
	args := []string{
		"--tenant", t.tenant, "--request-id", s.Run, "--order", s.Order, "--amount", decimal, "--currency", currency,
		"--reason", "arrived broken", "--requester", "alice", "--profile", string(t.cell.Profile),
		"--call-timeout", milliseconds(t.lab.Budget.CallTimeoutMS), "--backoff", milliseconds(t.lab.Budget.BackoffMS),
	}
	if s.DecideMS != 0 {
		args = append(args, "--decide-within", milliseconds(s.DecideMS))
	}
	if s.CommitMS != 0 {
		args = append(args, "--commit-within", milliseconds(s.CommitMS))
	}
	if t.plan.World.RetentionMS != 0 {
		args = append(args, "--retention", milliseconds(t.plan.World.RetentionMS))
	}
	t.trace.mu.Lock()
	if _, again := t.runs[s.Run]; !again {
		t.order = append(t.order, s.Run)
		t.runs[s.Run] = run{id: refund.NewOperationID(t.tenant, refund.Kind, s.Run), decideMS: s.DecideMS, commitMS: s.CommitMS}
	}
	t.trace.mu.Unlock()
	err = t.command(ctx, s, "request", args)
	t.trace.mu.Lock()
	defer t.trace.mu.Unlock()
	if r := t.runs[s.Run]; r.asked.IsZero() {
		r.asked = time.Now()
		t.runs[s.Run] = r
	}
	return err
}

func (t *trial) decide(ctx context.Context, s faults.Step) error {
	r, err := t.runNamed(s.Run)
	if err != nil {
		return err
	}
	return t.command(ctx, s, string(s.Do), []string{string(r.id), "--as", s.By, "--decision-id", s.Decision})
}

func (t *trial) settle(ctx context.Context, s faults.Step) error {
	r, err := t.runNamed(s.Run)
	if err != nil {
		return err
	}
	args := []string{string(r.id), "--kind", s.Kind, "--by", s.By, "--reason", "settled by hand", "--settlement-id", s.Decision}
	if refund.SettlementKind(s.Kind) == refund.SettleReceipt {
		receipt, err := t.receipt(ctx, s)
		if s.IfAny && errors.Is(err, errNoEntry) {
			return nil
		}
		if err != nil {
			return err
		}
		args = append(args, "--receipt", receipt)
	}
	if refund.SettlementKind(s.Kind) == refund.SettleClose {
		args = append(args, "--provider", "{provider}")
	}
	return t.command(ctx, s, "reconcile", args)
}

var errNoEntry = errors.New("the provider's ledger has no entry to settle with")

// receipt is what a person finds in the provider's books and copies into the settlement. Who may find nothing looks at the books as
// they are; anybody else once no request is in flight.
func (t *trial) receipt(ctx context.Context, s faults.Step) (string, error) {
	r, err := t.runNamed(cmp.Or(s.Receipt, s.Run))
	if err != nil {
		return "", err
	}
	books := t.control.evidence
	if s.IfAny {
		books = t.control.books
	}
	world, err := t.world(ctx, books)
	if err != nil {
		return "", err
	}
	for _, entry := range world.Ledger {
		if entry.OperationID == r.id {
			text, err := json.Marshal(refund.Receipt{
				RefundID: entry.RefundID, OperationID: entry.OperationID, Digest: entry.Digest, Order: entry.Order, Amount: entry.Amount, At: entry.At,
			})
			return string(text), err
		}
	}
	return "", errNoEntry
}

// export reads a run's durable facts; false when the engine knows no such run.
func (t *trial) export(ctx context.Context, id refund.OperationID) (refund.Export, bool, error) {
	return t.exportFrom(ctx, t.values[faults.VolumeJournal], id)
}

// exportFrom reads them from the store in another directory.
func (t *trial) exportFrom(ctx context.Context, dir string, id refund.OperationID) (refund.Export, bool, error) {
	var export refund.Export
	values, err := t.valuesFor(observer, observer)
	if err != nil {
		return export, false, err
	}
	values[faults.VolumeJournal] = dir
	argv := append(fill(t.engine.Starter, values), "--json", "export", string(id))
	text, err := t.output(ctx, "export", argv)
	var failed struct {
		Error struct {
			Code refund.Code `json:"code"`
		} `json:"error"`
	}
	if err != nil {
		if json.Unmarshal(text, &failed) == nil && failed.Error.Code == refund.CodeNotFound {
			return export, false, nil
		}
		return export, false, err
	}
	if err := json.Unmarshal(text, &export); err != nil {
		return export, false, fmt.Errorf("it cannot be read: %w", err)
	}
	return export, true, nil
}

func (t *trial) runNamed(name string) (run, error) {
	t.trace.mu.Lock()
	r, known := t.runs[name]
	t.trace.mu.Unlock()
	if !known {
		return run{}, fmt.Errorf("the script has requested no run %q", name)
	}
	return r, nil
}

func milliseconds(n int64) string { return (time.Duration(n) * time.Millisecond).String() }

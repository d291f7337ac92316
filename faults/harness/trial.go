package harness

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// trial is one trial while it is played.
type trial struct {
	lab    *Lab
	engine Engine
	cell   evidence.Cell
	plan   faults.Plan
	tenant string
	values map[string]string // of the placeholders that are the same for all its processes
	lines  *lines
	// volumes are those stores that lose what was not synced.
	volumes *volumes

	trace     *trace
	processes *processes
	post      *post
	control   control

	mu      sync.Mutex
	far     map[string]string // where far sides are
	answers []evidence.Answer
	clients map[string]*client
	steps   []evidence.Step

	// Under the trace's lock, because what rests depends on them.
	runs    map[string]run  // by the name that the script gave the request
	order   []string        // of those names
	reacted map[string]bool // rules whose reaction is done
	resting bool            // the script has come to where it waits for rest
	// providerBegan is when the provider was started last.
	providerBegan int64
	rest          int64
}

// run is a request as the script knows it.
type run struct {
	id       refund.OperationID
	asked    time.Time // when its request had been answered: not before its intake
	decideMS int64
	commitMS int64
}

// Play plays one trial to its end and returns what it left behind. It always returns a record: where the script could not
// be played, the record says so and is worth nothing to anybody.
func (l *Lab) Play(ctx context.Context, cell evidence.Cell, plan faults.Plan) evidence.Record {
	record := evidence.Record{Trial: evidence.Trial{Cell: cell, Budget: l.Budget, StartedAt: now(), Schedule: faults.Schedule{}}}
	if cell.Arm == evidence.ArmFault {
		record.Trial.Schedule = append(record.Trial.Schedule, plan.Schedule...)
	}
	ctx, cancel := context.WithTimeout(ctx, l.Deadline)
	defer cancel()
	if err := l.play(ctx, plan, &record); err != nil {
		record.Trial.Broken = err.Error()
	}
	record.Trial.EndedAt = now()
	return record
}

func (l *Lab) play(ctx context.Context, plan faults.Plan, record *evidence.Record) (err error) {
	cell, schedule := record.Trial.Cell, record.Trial.Schedule
	engine, known := l.Engines[cell.Engine]
	if !known {
		return fmt.Errorf("engine %q is unknown", cell.Engine)
	}
	if err := schedule.Validate(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(l.Scratch, "trial-")
	if err != nil {
		return err
	}
	if l.Keep {
		if err := os.WriteFile(filepath.Join(dir, "cell"), []byte(cell.Dir()+"\n"), 0o644); err != nil {
			return err
		}
	} else {
		defer os.RemoveAll(dir)
	}
	served := string(cell.Profile)
	if cell.Profile == refund.ProfileLocal {
		served = string(refund.ProfileFull) // the ledger is the journal's; this process is only the model and the receiver of notices
	}
	sum := sha256.Sum256([]byte(l.Nonce + cell.Dir()))
	t := &trial{
		lab: l, engine: engine, cell: cell, plan: plan,
		tenant: "shop-" + hex.EncodeToString(sum[:4]),
		trace:  newTrace(), clients: map[string]*client{}, runs: map[string]run{}, reacted: map[string]bool{},
		lines: linesOf(plan), far: map[string]string{},
		values: map[string]string{
			"dir": dir, "queue": "trial-" + hex.EncodeToString(sum[:8]), "profile": served,
			"orders": filepath.Join(dir, "orders.json"),
		},
	}
	if t.volumes, err = mountVolumes(plan.World, dir, t.values, t.cutAtSync); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.volumes.unmount()) }()
	socket := filepath.Join(dir, "s")
	t.processes = &processes{trace: t.trace, dir: dir, socket: socket, env: engine.Env, clocks: setsClocks(plan)}
	if t.post, err = listen(socket, t.trace, t.processes, schedule, t.power, t.told); err != nil {
		return err
	}
	defer t.post.close()
	defer t.lines.close()
	defer t.processes.end("")
	t.control = control{address: func() string { return t.addressOf(faults.LineProvider) }}
	err = t.script(ctx)
	t.processes.end("worker") // from here on nothing moves: what is read below belongs together
	// A script that used up the trial's time leaves evidence all the same: it may show why.
	collecting, cancel := context.WithTimeout(context.WithoutCancel(ctx), clientWithin)
	defer cancel()
	if collected := t.collect(collecting, record); err == nil {
		err = collected
	}
	t.processes.end("")
	record.Trial.Processes = t.processes.records()
	record.Trace, record.Trial.Fired = t.trace.record()
	record.Trial.Images = t.volumes.images
	slices.SortFunc(t.steps, func(a, b evidence.Step) int { return cmp.Compare(a.StartSeq, b.StartSeq) })
	record.Trial.Steps, record.Trial.RestSeq = t.steps, t.rest
	record.Answers = t.answers
	return err
}

// script starts the provider and plays the steps, one after the other, and beside them the reactions to what hits.
func (t *trial) script(ctx context.Context) error {
	if err := t.startProvider(ctx); err != nil {
		return err
	}
	if err := t.startServer(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	finish := t.react(ctx, cancel)
	err := t.playAll(ctx, t.plan.Script)
	if err == nil {
		err = t.joinAll(ctx)
	}
	finish()
	// A reaction that failed is why the script was stopped, and not the other way round.
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return err
}

// playAll plays steps one after the other.
func (t *trial) playAll(ctx context.Context, steps []faults.Step) error {
	for i, step := range steps {
		if step.Only != "" && step.Only != string(t.cell.Arm) {
			continue
		}
		entry := evidence.Step{Text: step.String(), Waits: step.Waits(), StartedAt: now(), StartSeq: t.trace.mark()}
		if err := t.step(ctx, step); err != nil {
			return fmt.Errorf("step %d (%s): %w", i+1, step, err)
		}
		entry.EndSeq, entry.EndedAt = t.trace.mark(), now()
		t.mu.Lock()
		t.steps = append(t.steps, entry)
		t.mu.Unlock()
	}
	return nil
}

// collect reads what the engine and the world have to say at the end.
func (t *trial) collect(ctx context.Context, record *evidence.Record) error {
	// The world first: what it has to say against an engine must not be lost with an export that cannot be read.
	var err error
	record.Provider, err = t.world(ctx, t.control.evidence)
	record.Exports = evidence.Exports{}
	for _, name := range t.order {
		export, found, failed := t.export(ctx, t.runs[name].id)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("export of run %s: %w", name, failed))
		}
		if failed == nil && found {
			record.Exports[name] = export
		}
	}
	return err
}

// world reads the outside world by the provider's books. Under the profile "local" orders, operations and ledger live in the
// journal's file, which the provider's program reads, and only the bill and the notices at the provider's process.
func (t *trial) world(ctx context.Context, books func(context.Context) (evidence.Provider, error)) (evidence.Provider, error) {
	world, err := books(ctx)
	if err != nil || t.cell.Profile != refund.ProfileLocal {
		return world, err
	}
	text, err := t.output(ctx, "dump", fill(t.lab.DumpLocal, t.values))
	if err != nil {
		return world, err
	}
	var local evidence.Provider
	if err := json.Unmarshal(text, &local); err != nil {
		return world, fmt.Errorf("the dump of the journal's ledger cannot be read: %w", err)
	}
	local.Bill, local.Notices = world.Bill, world.Notices
	return local, nil
}

// output runs a command of the harness's own to its end and returns what it printed.
func (t *trial) output(ctx context.Context, name string, argv []string) ([]byte, error) {
	child, err := t.processes.start(name, observer, argv, false)
	if err != nil {
		return nil, err
	}
	select {
	case <-child.ended:
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: did not end in time", name)
	}
	if child.record.WaitStatus != "exit 0" {
		return child.stdout.Bytes(), fmt.Errorf("%s: %s: %s%s", name, child.record.WaitStatus, child.stdout.String(), t.processes.lastWords(child))
	}
	return child.stdout.Bytes(), nil
}

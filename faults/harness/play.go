package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"refundlab/faults"
)

// step plays one step. An error means that the script cannot go on as it was meant, which makes the trial invalid.
func (t *trial) step(ctx context.Context, s faults.Step) error {
	switch s.Do {
	case faults.DoStart:
		return t.startWorker(ctx, s)
	case faults.DoStop:
		return t.processes.stop(s.Process)
	case faults.DoKill:
		_, err := t.processes.kill(s.Process)
		return err
	case faults.DoRestart:
		return t.serve(ctx, s.Process)
	case faults.DoCut, faults.DoSilence, faults.DoRestore:
		return t.lines.set(s)
	case faults.DoThaw:
		return t.post.thaw(s.Process)
	case faults.DoRequest:
		return t.request(ctx, s)
	case faults.DoApprove, faults.DoReject:
		return t.decide(ctx, s)
	case faults.DoJoin:
		t.mu.Lock()
		c, known := t.clients[s.Process]
		t.mu.Unlock()
		if !known {
			return fmt.Errorf("there is no client %q", s.Process)
		}
		return t.join(ctx, c)
	case faults.DoCancel:
		r, err := t.runNamed(s.Run)
		if err != nil {
			return err
		}
		return t.command(ctx, s, "cancel", []string{string(r.id)})
	case faults.DoStatus:
		r, err := t.runNamed(s.Run)
		if err != nil {
			return err
		}
		return t.command(ctx, s, "status", []string{string(r.id)})
	case faults.DoSettle:
		return t.settle(ctx, s)
	case faults.DoAwait:
		return t.awaitPoint(ctx, s)
	case faults.DoFired:
		return t.awaitFired(ctx, s.Rule)
	case faults.DoRelease:
		return t.post.release(s.Rule)
	case faults.DoPass:
		return t.pass(ctx, s)
	case faults.DoRest:
		return t.awaitRest(ctx, silenceOf(s))
	case faults.DoLull:
		return t.awaitLull(ctx, silenceOf(s))
	case faults.DoSync:
		return t.volumes.sync(s.Kind)
	case faults.DoLand:
		return t.awaitLanded(ctx, s.Process, time.Duration(s.QuietMS)*time.Millisecond)
	case faults.DoOrderVersion:
		return t.control.orderVersion(ctx, t.tenant, s.Order)
	case faults.DoClock:
		if s.Kind != "" {
			return t.processes.setClock(s)
		}
		return t.control.clock(ctx, s.OffsetMS)
	case faults.DoCatchUp:
		return t.control.catchUp(ctx)
	case faults.DoModel:
		return t.control.modelAnswers(ctx, s)
	case faults.DoProvider:
		return t.control.providerAnswers(ctx, s)
	case faults.DoForeign:
		r, err := t.runNamed(s.Run)
		if err != nil {
			return err
		}
		return t.foreign(ctx, r, s)
	}
	return fmt.Errorf("the verb %q is unknown", s.Do)
}

// foreign is traced like any other call, under a process name that is none of the engine's.
func (t *trial) foreign(ctx context.Context, r run, s faults.Step) error {
	call := faults.Announcement{Process: "another-caller", Point: faults.Point{Boundary: faults.ProviderCall, When: faults.Before}, Operation: string(r.id)}
	crossing, _ := t.trace.cross(call, nil)
	t.trace.answered(crossing, faults.Continue)
	err := t.control.foreignSubmit(ctx, t.tenant, r.id, s)
	call.Point.When = faults.After
	crossing, _ = t.trace.cross(call, nil)
	t.trace.answered(crossing, faults.Continue)
	return err
}

func (t *trial) startWorker(ctx context.Context, s faults.Step) error {
	values, err := t.valuesFor(s.Process, s.Process)
	if err != nil {
		return err
	}
	argv := append(append(append([]string{}, t.engine.Worker...), t.engine.WorkerFor[string(t.cell.Profile)]...), s.Args...)
	child, err := t.processes.start(s.Process, "worker", fill(argv, values), true)
	if err != nil {
		return err
	}
	_, err = t.processes.awaitReady(ctx, child)
	return err
}

func (t *trial) awaitPoint(ctx context.Context, s faults.Step) error {
	operation := ""
	if s.Run != "" {
		r, err := t.runNamed(s.Run)
		if err != nil {
			return err
		}
		operation = string(r.id)
	}
	crossed := func() bool { return t.trace.crossed(s.Process, s.Point, operation) >= max(s.Nth, 1) }
	if s.QuietMS == 0 {
		return t.trace.await(ctx, "crossing of "+s.Point.String(), crossed)
	}
	return t.awaitQuiet(ctx, silenceOf(s), func() string {
		if crossed() || t.over(operation) {
			return ""
		}
		return aRun + "that crosses " + s.Point.String()
	}, func() {})
}

// awaitFired waits until a rule has hit. A signal has hit only with its proof; a message that is held has hit when it is.
func (t *trial) awaitFired(ctx context.Context, rule string) error {
	var action faults.Action
	for _, r := range t.post.schedule {
		if r.Name == rule {
			action = r.Action
		}
	}
	if action == "" {
		return errors.New("the schedule has no such rule")
	}
	return t.trace.await(ctx, "rule "+rule, func() bool {
		f := t.trace.find(rule)
		return f != nil && (action == faults.Hold || f.DoneSeq != 0)
	})
}

// timerShift covers how late an engine may notice that a time is over: Temporal's server looks once a second, and what it
// receives before counts as in time.
const timerShift = 1500 * time.Millisecond

// pass waits until a deadline of a run has passed by the host's clock, on which both engines and the provider stand. The
// intake was stored before its request was answered, so counting from the answer is never too early; the provider's
// retention, a lease and an attempt began before something that has been seen, so they count from now on.
func (t *trial) pass(ctx context.Context, s faults.Step) error {
	if s.Kind == "" {
		return spend(ctx, time.Duration(s.OffsetMS)*time.Millisecond)
	}
	var r run
	if s.Run != "" {
		var err error
		if r, err = t.runNamed(s.Run); err != nil {
			return err
		}
	}
	budget := t.lab.Budget
	within := map[string]int64{
		"decide": r.decideMS, "commit": r.commitMS, "retention": t.plan.World.RetentionMS,
		"ownership": max(budget.LeaseMS, budget.StartToCloseMS),
	}[s.Kind]
	if s.Kind == "retention" || s.Kind == "ownership" {
		r.asked = time.Now()
	}
	if within == 0 {
		return fmt.Errorf("run %q has no deadline %q of its own", s.Run, s.Kind)
	}
	return spend(ctx, time.Until(r.asked.Add(time.Duration(within)*time.Millisecond+timerShift)))
}

func spend(ctx context.Context, span time.Duration) error {
	deadline := time.NewTimer(span)
	defer deadline.Stop()
	select {
	case <-deadline.C:
		return nil
	case <-ctx.Done():
		return errors.New("the trial's own time ended first")
	}
}

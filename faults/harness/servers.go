package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"time"

	"refundlab/faults"
)

// startProvider writes the orders and starts the provider for the first time.
func (t *trial) startProvider(ctx context.Context) error {
	var orders []faults.Order
	for _, order := range t.plan.World.Orders {
		if order.Tenant == "" {
			order.Tenant = t.tenant
		}
		orders = append(orders, order)
	}
	text, err := json.Marshal(orders)
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.values["orders"], text, 0o644); err != nil {
		return err
	}
	return t.serve(ctx, faults.LineProvider)
}

// startServer starts the engine's server for this trial alone, where the plan asks for it; else the trial meets the shared one.
func (t *trial) startServer(ctx context.Context) error {
	if !t.plan.World.OwnServer {
		t.reach(faults.LineServer, t.engine.Address)
		return nil
	}
	return t.serve(ctx, faults.LineServer)
}

// serve starts the provider or the trial's own server, for the first time or after its end, and waits until it is ready. It
// gets a port that is free; who must find it again reaches it through a proxy.
func (t *trial) serve(ctx context.Context, name string) error {
	if _, err := t.processes.alive(name); err == nil {
		return fmt.Errorf("%s still runs: it is started again only after its end", name)
	}
	var argv []string
	switch name {
	case faults.LineProvider:
		argv = fill(t.lab.Provider, t.values)
		if retention := t.plan.World.RetentionMS; retention != 0 {
			argv = append(argv, "--retention", (time.Duration(retention) * time.Millisecond).String())
		}
	case faults.LineServer:
		if t.engine.Server == nil {
			return fmt.Errorf("the plan asks for a server of its own, and engine %s was given no command line for one", t.cell.Engine)
		}
		argv = fill(t.engine.Server, t.values)
	default:
		return fmt.Errorf("%s is no server that can be started again", name)
	}
	child, err := t.processes.start(name, name, argv, true)
	if err != nil {
		return err
	}
	address, err := t.processes.awaitReady(ctx, child)
	if err != nil {
		return err
	}
	t.reach(name, address)
	if name == faults.LineProvider {
		t.trace.mu.Lock()
		t.providerBegan = child.record.StartSeq
		t.trace.mu.Unlock()
	}
	return nil
}

// reach notes where a far side is now. The model is served by the provider's process.
func (t *trial) reach(name, address string) {
	t.mu.Lock()
	t.far[name] = address
	if name == faults.LineProvider {
		t.far[faults.LineModel] = address
		t.lines.moved(faults.LineModel, address)
	}
	t.mu.Unlock()
	t.lines.moved(name, address)
}

func (t *trial) addressOf(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.far[name]
}

// valuesFor are the placeholders of a process's command line. observed commands reach everything directly.
func (t *trial) valuesFor(process, name string) (map[string]string, error) {
	values := maps.Clone(t.values)
	values["name"] = name
	for _, far := range []string{faults.LineProvider, faults.LineModel, faults.LineServer} {
		address := t.addressOf(far)
		if process != observer {
			var err error
			if address, err = t.lines.through(process, far, address); err != nil {
				return nil, err
			}
		}
		values[far] = address
	}
	return values, nil
}

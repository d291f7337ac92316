// Package harness plays a trial: it starts real processes by their command lines, holds them at the points that they
// announce, breaks them as the schedule says, and records what can be seen from outside as evidence. It knows an engine
// only by how its processes are started and by what the starter prints.
package harness

import (
	"strings"
	"time"

	"refundlab/evidence"
	"refundlab/faults"
)

// Engine is all that the harness knows of an engine. Command lines may hold {name}, {dir}, {queue} and {orders}, which are
// replaced for each process, and {provider}, {model} and {server}: where a process reaches these, by proxy or directly. A model
// and a provider are URLs without a path, a server is HOST:PORT.
type Engine struct {
	Worker  []string
	Starter []string // up to the verb
	// WorkerFor adds arguments to a worker under a profile.
	WorkerFor map[string][]string
	// Address is HOST:PORT of the server that trials share, if the engine has one. Server is the command line of a trial's own:
	// it prints "ready HOST:PORT", keeps what it is told below {dir} and goes on from there when it is started again.
	Address string
	Server  []string
	Env     []string // of all its processes, beside the little that every process of a trial inherits
	// Over is the boundary whose after side is the last that a run crosses.
	Over faults.Boundary
}

// Lab is what the trials of one run share.
type Lab struct {
	Engines map[string]Engine
	// Provider serves; DumpLocal prints the evidence of a ledger that lives in a journal's file. Beside the placeholders above
	// they may hold {profile}.
	Provider  []string
	DumpLocal []string
	Budget    evidence.Budget
	Deadline  time.Duration // of one trial
	Scratch   string        // directory below which each trial has its own
	Nonce     string        // keeps the tenants of two runs on one server apart
	Keep      bool          // leave the trials' directories behind
}

func fill(argv []string, values map[string]string) []string {
	var pairs []string
	for key, value := range values {
		pairs = append(pairs, "{"+key+"}", value)
	}
	replacer := strings.NewReplacer(pairs...)
	filled := make([]string, 0, len(argv))
	for _, argument := range argv {
		filled = append(filled, replacer.Replace(argument))
	}
	return filled
}

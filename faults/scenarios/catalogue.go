// Package scenarios is the catalogue of the fault suite as data: for each scenario, engine and profile the script, the
// schedule, and the one end that is permitted without and with the fault. It does nothing; the harness plays it and the judge
// compares with it.
package scenarios

import (
	"fmt"
	"slices"

	"refundlab/faults"
	"refundlab/refund"
)

// The engines and arms, as cells name them.
const (
	temporal   = "temporal"
	handrolled = "handrolled"
	clean      = "clean"
	fault      = "fault"
)

// scenario is one entry of the catalogue.
type scenario struct {
	faults.ScenarioText
	profiles []refund.ProfileName
	// unlike names the engines that lack what the scenario breaks, and says why.
	unlike map[string]string
	// further tells that it waits too long, or is too much like another one, to be part of every run.
	further bool
	build   func(cell) trial
}

// cell is what a scenario is built for.
type cell struct {
	engine  string
	profile refund.Profile
	fault   bool
}

// trial is a cell's plan together with what it may show.
type trial struct {
	world    faults.World
	script   []faults.Step
	schedule faults.Schedule
	expect   faults.Expectation
}

// networked are the profiles of a provider in a process of its own.
var networked = []refund.ProfileName{
	refund.ProfileFull, refund.ProfileRetention, refund.ProfileLenient, refund.ProfileLookup, refund.ProfileStale, refund.ProfileOpaque,
}

var (
	onlyFull  = []refund.ProfileName{refund.ProfileFull}
	withLocal = append(slices.Clone(networked), refund.ProfileLocal)
)

// catalogue holds all scenarios in the order of the report.
var catalogue = slices.Concat(commits, workers, decisions, cancels, keys, expiries, orderChanges, windows, models, people, answers, notices, contended, closings, misuses, toProvider, toModel, toServer,
	further(crowds), further(furtherTakeovers), further(furtherClocks), further(furtherToProvider), further(furtherToModel), further(furtherToServer), further(eachCompletion), further(serverKilled), further(serverGone))

// further marks scenarios that are part of the extended matrix alone.
func further(list []scenario) []scenario {
	marked := slices.Clone(list)
	for i := range marked {
		marked[i].further = true
	}
	return marked
}

// Matrix is every cell that a run of the suite must show.
func Matrix() faults.Matrix { return matrixOf(false) }

// Extended is every cell that an extended run must show.
func Extended() faults.Matrix { return matrixOf(true) }

// All is both together.
func All() faults.Matrix {
	matrix, extended := Matrix(), Extended()
	matrix.Scenarios = append(matrix.Scenarios, extended.Scenarios...)
	matrix.Cells = append(matrix.Cells, extended.Cells...)
	return matrix
}

func matrixOf(further bool) faults.Matrix {
	var matrix faults.Matrix
	for _, s := range catalogue {
		if s.further != further {
			continue
		}
		matrix.Scenarios = append(matrix.Scenarios, s.ScenarioText)
		for _, engine := range []string{temporal, handrolled} {
			for _, profile := range s.profiles {
				for _, arm := range []string{clean, fault} {
					matrix.Cells = append(matrix.Cells, s.expectation(engine, profile, arm))
				}
			}
		}
	}
	return matrix
}

// PlanOf returns what the harness plays for a scenario on an engine under a profile; the arm only decides which of its steps
// and whether its schedule is played.
func PlanOf(name, engine, profile, arm string) (faults.Plan, error) {
	for _, s := range catalogue {
		if s.Name != name || !slices.Contains(s.profiles, refund.ProfileName(profile)) {
			continue
		}
		t := s.trial(engine, refund.ProfileName(profile), arm)
		return faults.Plan{Profile: profile, World: t.world, Script: t.script, Schedule: t.schedule}, nil
	}
	return faults.Plan{}, fmt.Errorf("the catalogue has no scenario %q under profile %q", name, profile)
}

func (s scenario) trial(engine string, name refund.ProfileName, arm string) trial {
	profile, err := refund.ProfileNamed(name)
	if err != nil {
		panic(err) //nolint:forbidigo // the catalogue is wrong, which its test finds and nothing at run time could mend
	}
	t := s.build(cell{engine: engine, profile: profile, fault: arm == fault})
	if t.world.Orders == nil {
		t.world.Orders = []faults.Order{{ID: order, Currency: "EUR", Captured: 10_000, Version: 1}}
	}
	return t
}

func (s scenario) expectation(engine string, profile refund.ProfileName, arm string) faults.Expectation {
	e := faults.Expectation{}
	switch reason := s.unlike[engine]; {
	case reason != "":
		e.NotApplicable = reason
	case engine == temporal && profile == refund.ProfileLocal:
		e.NotApplicable = "the server's history and the ledger share no transaction: under local the ledger lives in the journal's file"
	default:
		t := s.trial(engine, profile, arm)
		e = t.expect
		if arm == fault {
			e.Schedule = t.schedule
		}
	}
	e.Scenario, e.Engine, e.Profile, e.Arm = s.Name, engine, string(profile), arm
	return e
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// refundCard is a file of scripts. Each starts from Initial and must end exactly at its Expect.
type refundCard struct {
	About   string       `json:"about"`
	Initial cardState    `json:"initial"`
	Scripts []cardScript `json:"scripts"`
}

type cardState struct {
	Approved    bool   `json:"approved"`
	Expired     bool   `json:"expired"`
	LedgerCount int    `json:"ledger_count"`
	Committed   bool   `json:"committed"`
	Status      string `json:"status"`
	AmountCents int64  `json:"amount_cents"`
}

type cardScript struct {
	Actions []string `json:"actions"`
	Expect  cardEnd  `json:"expect"`
}

type cardEnd struct {
	LedgerCount int    `json:"ledger_count"`
	Status      string `json:"status"`
}

func playRefundCard(ctx context.Context, text []byte, from serverFlags, out, log io.Writer) error {
	var card refundCard
	if err := decodeCard(text, &card); err != nil {
		return err
	}
	if len(card.Scripts) == 0 {
		return refund.Errorf(refund.CodeInvalidBody, "card has no script: nothing would be checked")
	}
	var plans []faults.Plan // before anything is built or started
	for i, script := range card.Scripts {
		plan, err := card.plan(script)
		if err != nil {
			return refund.Wrap(refund.CodeInvalidBody, err, "script %d of the card", i+1)
		}
		plans = append(plans, plan)
	}
	b, err := openBench(ctx, log, engineNames, from, false)
	if err != nil {
		return err
	}
	t := tally{out: out}
	err = card.play(ctx, b, plans, &t)
	if stopped := b.close(); err == nil {
		err = stopped
	}
	if err != nil {
		return err
	}
	return t.verdict()
}

func (card refundCard) play(ctx context.Context, b *bench, plans []faults.Plan, t *tally) error {
	for i, script := range card.Scripts {
		for _, engine := range engineNames {
			cell := evidence.Cell{Scenario: fmt.Sprintf("card-script-%d", i+1), Engine: engine, Profile: refund.ProfileFull, Arm: evidence.ArmFault}
			record := b.lab.Play(ctx, cell, plans[i])
			if record.Trial.Broken != "" {
				return refund.Errorf(refund.CodeInternal, "script %d on %s could not be played: %s", i+1, engine, record.Trial.Broken)
			}
			initial, end, err := measured(record)
			if err != nil {
				return err
			}
			name := fmt.Sprintf("%s, %s", engine, strings.Join(script.Actions, " "))
			t.compare(name+", initial", card.Initial, initial)
			t.compare(name+", end", script.Expect, end)
		}
	}
	return nil
}

// Names of the two commands that read the status.
const (
	readFirst = "read-first"
	readLast  = "read-last"
)

// plan turns a script's actions into steps. The request is made and read before a worker exists; the last status is read with
// whatever is alive then.
func (card refundCard) plan(s cardScript) (faults.Plan, error) {
	const run, order = "r1", "o-1"
	status := func(process string) faults.Step { return faults.Step{Do: faults.DoStatus, Process: process, Run: run} }
	plan := faults.Plan{
		Profile: string(refund.ProfileFull),
		World:   faults.World{Orders: []faults.Order{{ID: order, Currency: "EUR", Captured: card.Initial.AmountCents, Version: 1}}},
		Script: []faults.Step{
			{Do: faults.DoRequest, Process: "request", Run: run, Order: order, Amount: card.Initial.AmountCents},
			status(readFirst),
		},
	}
	add := func(steps ...faults.Step) { plan.Script = append(plan.Script, steps...) }
	proposal := faults.Step{Do: faults.DoAwait, Run: run, Point: faults.Point{Boundary: faults.Proposal, When: faults.After}}
	previous := ""
	for _, action := range s.Actions {
		// Each action follows one that makes it possible.
		follows := map[string][]string{
			"submit": {""}, "approve": {"", "submit"},
			"crash_before_commit": {"approve"}, "crash_after_commit": {"approve"},
			"retry": {"crash_before_commit", "crash_after_commit"},
		}
		after, known := follows[action]
		if !known {
			return plan, fmt.Errorf("action %q is unknown", action)
		}
		if !slices.Contains(after, previous) {
			return plan, fmt.Errorf("action %q cannot follow %q", action, previous)
		}
		switch action {
		case "submit":
			add(faults.Step{Do: faults.DoStart, Process: "a"}, proposal)
		case "approve":
			if previous == "" {
				add(faults.Step{Do: faults.DoStart, Process: "a"}, proposal)
			}
			add(faults.Step{Do: faults.DoApprove, Process: "bob", By: "bob", Decision: "d1", Run: run, Background: true})
		case "crash_before_commit", "crash_after_commit":
			when := faults.Before
			if action == "crash_after_commit" {
				when = faults.After
			}
			plan.Schedule = faults.Schedule{{
				Name: "crash", Point: faults.Point{Boundary: faults.ProviderCommit, When: when}, Nth: 1, Process: "provider", Action: faults.Kill, Victim: "a",
			}}
			add(faults.Step{Do: faults.DoFired, Rule: "crash"}, faults.Step{Do: faults.DoJoin, Process: "bob"})
		case "retry":
			add(faults.Step{Do: faults.DoStart, Process: "b"}, faults.Step{Do: faults.DoRest})
		}
		previous = action
	}
	if previous == "" {
		return plan, fmt.Errorf("it has no action")
	}
	if previous == "approve" {
		add(faults.Step{Do: faults.DoRest})
	}
	add(status(readLast))
	return plan, nil
}

// measured reads the card's two states from the evidence: status from the engine, entries from the provider's ledger.
func measured(r evidence.Record) (initial cardState, end cardEnd, err error) {
	end.LedgerCount = len(r.Provider.Ledger)
	for _, answer := range r.Answers {
		var view refund.View
		if answer.Verb != "status" {
			continue
		}
		if err := json.Unmarshal(answer.Output, &view); err != nil {
			return initial, end, refund.Wrap(refund.CodeInternal, err, "the status cannot be read")
		}
		if answer.Process == readLast {
			end.Status = string(view.Status)
			continue
		}
		initial = cardState{
			Approved: view.Facts.Decision != nil, Expired: view.Facts.Expired, Committed: view.Facts.Receipt != nil,
			Status: string(view.Status), AmountCents: view.Facts.Intake.Request.Amount.Minor,
		}
		for _, entry := range r.Provider.Ledger {
			if entry.At.Before(view.Facts.Intake.At) {
				initial.LedgerCount++
			}
		}
	}
	return initial, end, nil
}

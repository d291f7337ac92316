package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"refundlab/cmd/internal/cmdline"
	"refundlab/evidence"
	"refundlab/model"
	"refundlab/refund"
)

type modelFlags struct {
	profile string
	control string
	json    bool
	bounds  model.Bounds
}

func modelCommand() *cobra.Command {
	var f modelFlags
	c := &cobra.Command{
		Use:   "model",
		Short: "Explore the rules to the end of their state space, and find every change of them that must be found",
		Long: `Explore the rules of one refund breadth first to the end of their state space: two owners, a provider of each profile, requests
that are lost, late or doubled, decisions, deadlines, hand-overs and settlements in every order, within bounds. In each state every
invariant is checked, and that one worker alone could bring the run to an end from there. Then each control, a small change of
the rules, is looked for, and the shortest way to what it breaks is kept.

With --control only that one is looked for, under each kind of ownership that it applies to, and its stories are printed. With
--profile only spaces of that profile are explored. A run of everything within the usual bounds writes report/model.json and
REPORT.md, also where it fails.

Exit status 1 where an invariant is violated or a control is not found.`,
		Example: `  go run ./cmd/lab model
  go run ./cmd/lab model --profile lookup --claims 4
  go run ./cmd/lab model --control second-send-after-look-up`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return f.run(c.Flags(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.profile, "profile", "", "only this provider profile")
	flags.StringVar(&f.control, "control", "", "look for this change of the rules and print its story: "+strings.Join(controlNames(), ", "))
	flags.BoolVar(&f.json, "json", false, "print the result as JSON in the place of the summary")
	flags.IntVar(&f.bounds.Claims, "claims", 0, "claims by owners, or attempts of rounds (default: 3 and 2)")
	flags.IntVar(&f.bounds.Rounds, "rounds", 0, "rounds that a workflow opens (default: 2)")
	flags.IntVar(&f.bounds.Settlements, "settlements", 0, "settlements by a person (default: 1)")
	c.MarkFlagsMutuallyExclusive("control", "profile")
	return c
}

func controlNames() []string {
	var names []string
	for _, control := range model.Controls() {
		names = append(names, control.Name)
	}
	return slices.Compact(names) // one change is a control under each kind of ownership
}

func (f *modelFlags) run(flags *pflag.FlagSet, out, log io.Writer) error {
	bounded := flags.Changed("claims") || flags.Changed("rounds") || flags.Changed("settlements")
	spaces, err := f.spaces(flags)
	if err != nil {
		return err
	}
	controls, err := f.controls()
	if err != nil {
		return err
	}
	result := evidence.Model{Command: commandLine(), Machine: machine(), StartedAt: refund.At(time.Now())}
	if err := explore(&result, spaces, controls, log); err != nil {
		return err
	}
	result.EndedAt = refund.At(time.Now())
	return f.conclude(out, result, f.profile == "" && f.control == "" && !bounded)
}

// conclude says what came of a run, publishes that of a whole one, and fails where it is not good. A failure is published too: an
// older result in its place would be read as that of the rules of today.
func (f *modelFlags) conclude(out io.Writer, result evidence.Model, whole bool) error {
	var err error
	if f.json {
		err = cmdline.WriteJSON(out, result)
	} else {
		printModel(out, result, f.control != "")
	}
	if whole {
		err = errors.Join(err, publishInstrument("model", result))
	}
	if err == nil && !result.Passed() {
		err = refund.Errorf(refund.CodeNotPassed, "an invariant is violated, or a change of the rules was not found")
		if f.json {
			err = cmdline.Answered{Err: err}
		}
	}
	return err
}

// spaces are those that are asked for; none with --control.
func (f *modelFlags) spaces(flags *pflag.FlagSet) ([]model.Space, error) {
	if f.control != "" {
		return nil, nil
	}
	if f.profile != "" {
		if _, err := refund.ProfileNamed(refund.ProfileName(f.profile)); err != nil {
			return nil, err
		}
	}
	if f.bounds.Claims < 0 || f.bounds.Claims > 6 || f.bounds.Rounds < 0 || f.bounds.Rounds > 4 || f.bounds.Settlements < 0 || f.bounds.Settlements > 3 {
		return nil, refund.Errorf(refund.CodeInvalidFlag, "the bounds are %d claims, %d rounds and %d settlements: at most 6, 4 and 3 can be explored", f.bounds.Claims, f.bounds.Rounds, f.bounds.Settlements)
	}
	var spaces []model.Space
	for _, space := range model.Spaces() {
		if f.profile != "" && string(space.Profile) != f.profile {
			continue
		}
		if flags.Changed("claims") {
			space.Bounds.Claims = f.bounds.Claims
		}
		if flags.Changed("rounds") && space.Rounds {
			space.Bounds.Rounds = f.bounds.Rounds
		}
		if flags.Changed("settlements") {
			space.Bounds.Settlements = f.bounds.Settlements
		}
		spaces = append(spaces, space)
	}
	return spaces, nil
}

// controls are all of them, the one that is asked for, or none where one profile is.
func (f *modelFlags) controls() ([]model.Control, error) {
	all := model.Controls()
	if f.control == "" {
		if f.profile != "" {
			return nil, nil
		}
		return all, nil
	}
	asked := slices.DeleteFunc(all, func(c model.Control) bool { return c.Name != f.control })
	if len(asked) == 0 {
		return nil, refund.Errorf(refund.CodeInvalidFlag, "--control %q is unknown: the controls are %s", f.control, strings.Join(controlNames(), ", "))
	}
	return asked, nil
}

// explore explores the spaces and looks for the controls, as many at a time as there are CPUs.
func explore(result *evidence.Model, spaces []model.Space, controls []model.Control, log io.Writer) error {
	result.Spaces, result.Controls = make([]evidence.ModelSpace, len(spaces)), make([]evidence.ModelControl, len(controls))
	errs := make([]error, len(spaces)+len(controls))
	slots := make(chan struct{}, runtime.NumCPU())
	var printing sync.Mutex
	var running sync.WaitGroup
	for i := range errs {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			if i >= len(spaces) {
				result.Controls[i-len(spaces)], errs[i] = lookFor(controls[i-len(spaces)])
				return
			}
			x, err := model.Explore(spaces[i])
			result.Spaces[i], errs[i] = explored(x), err
			printing.Lock()
			defer printing.Unlock()
			fmt.Fprintln(log, x)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

func explored(x model.Exploration) evidence.ModelSpace {
	space := evidence.ModelSpace{
		Profile: x.Profile, Ownership: x.Ownership, Claims: x.Bounds.Claims, Rounds: x.Bounds.Rounds, Settlements: x.Bounds.Settlements, Resets: x.Bounds.Resets,
		States: x.States, Transitions: x.Transitions, Depth: x.Depth, ElapsedMS: x.Took.Milliseconds(),
	}
	if x.Found != nil {
		space.Violated, space.Story = x.Found.Invariant, x.Found.Story
	}
	return space
}

func lookFor(control model.Control) (evidence.ModelControl, error) {
	x, err := model.Explore(control.Space())
	found := evidence.ModelControl{
		Name: control.Name, Title: control.Title, Profile: control.Profile, Ownership: control.Space().Ownership(), Invariant: control.Invariant, States: x.States,
	}
	if x.Found != nil {
		found.Found, found.Story = x.Found.Invariant == control.Invariant, x.Found.Story
	}
	return found, err
}

// printModel prints what a person wants to see: tables, or the story of the one control that was asked for.
func printModel(out io.Writer, result evidence.Model, stories bool) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if len(result.Spaces) > 0 {
		fmt.Fprintln(table, "PROFILE\tOWNERSHIP\tCLAIMS\tROUNDS\tSETTLEMENTS\tRESETS\tSTATES\tTRANSITIONS\tDEPTH\tTOOK\tVIOLATED")
	}
	for _, s := range result.Spaces {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d ms\t%s\n", s.Profile, s.Ownership, s.Claims, s.Rounds, s.Settlements, s.Resets, s.States, s.Transitions, s.Depth, s.ElapsedMS, s.Violated)
	}
	if len(result.Controls) > 0 && !stories {
		fmt.Fprintln(table, "\nCONTROL\tPROFILE\tOWNERSHIP\tINVARIANT\tFOUND\tSTEPS")
	}
	for _, c := range result.Controls {
		if !stories {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%t\t%d\n", c.Name, c.Profile, c.Ownership, c.Invariant, c.Found, max(len(c.Story)-1, 0))
		}
	}
	_ = table.Flush() // fails only as out does
	for _, s := range result.Spaces {
		if s.Violated != "" {
			printStory(out, fmt.Sprintf("%s under %s violates %s", s.Profile, s.Ownership, s.Violated), s.Story)
		}
	}
	for _, c := range result.Controls {
		if stories {
			printStory(out, fmt.Sprintf("%s (%s), under %s with %s", c.Name, c.Title, c.Profile, c.Ownership), c.Story)
		}
	}
}

func printStory(out io.Writer, title string, story []string) {
	fmt.Fprintf(out, "\n%s:\n", title)
	if len(story) == 0 {
		fmt.Fprintln(out, "  not found")
	}
	for i, line := range story {
		fmt.Fprintf(out, "%4d. %s\n", i+1, line)
	}
}

// Package cmdline is what every command of this project promises its caller: an error is one line "CODE: text" on standard
// error, or {"error":{"code":..,"message":..}} on standard output with --json, and the exit status follows from the code.
package cmdline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"refundlab/refund"
)

// Streams are the standard streams of a command, so that a test can run it in its own process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Failure is an error as --json prints it.
type Failure struct {
	Code    refund.Code `json:"code"`
	Message string      `json:"message"`
}

// FailureOf takes an error apart; nil stays nil.
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	var e *refund.Error
	if !errors.As(err, &e) {
		return &Failure{refund.CodeInternal, err.Error()}
	}
	return &Failure{e.Code, e.Text()}
}

// Answered marks an error that the command has told its caller already, inside its JSON answer: one command prints one
// JSON document.
type Answered struct{ Err error }

func (a Answered) Error() string { return a.Err.Error() }
func (a Answered) Unwrap() error { return a.Err }

// Execute runs a command tree and returns the exit status. Everything that cobra refuses before a command runs is the
// caller's mistake: INVALID_FLAG. What a signal broke off is INTERRUPTED, except of a command that Serves.
func Execute(ctx context.Context, root *cobra.Command, args []string, s Streams) int {
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.DisableSuggestions = true // they would make the error several lines
	root.CompletionOptions.HiddenDefaultCmd = true

	ran := false
	eachCommand(root, func(c *cobra.Command) {
		if run := c.RunE; run != nil {
			c.RunE = func(c *cobra.Command, args []string) error {
				ran = true
				return run(c, args)
			}
		}
	})
	called, err := root.ExecuteContextC(ctx)
	if err == nil {
		return refund.ExitOK
	}
	asJSON, _ := root.PersistentFlags().GetBool("json")
	if !ran {
		if refund.CodeOf(err) == refund.CodeInternal {
			err = refund.Errorf(refund.CodeInvalidFlag, "%v: see %s --help", err, called.CommandPath())
		}
		// Parsing may have stopped before it came to --json.
		asJSON = asJSON || slices.Contains(args, "--json")
	}
	if _, serves := called.Annotations[servesKey]; !serves && !errors.As(err, &Answered{}) {
		err = Interrupted(ctx, err)
	}
	report(s, err, asJSON)
	return refund.ExitStatus(refund.CodeOf(err))
}

func report(s Streams, err error, asJSON bool) {
	failure := FailureOf(err)
	if !asJSON {
		fmt.Fprintf(s.Err, "%s: %s\n", failure.Code, failure.Message)
		return
	}
	if errors.As(err, &Answered{}) {
		return
	}
	// Should standard output be gone, the exit status still tells the code's class.
	_ = WriteJSON(s.Out, struct {
		Error *Failure `json:"error"`
	}{failure})
}

// WriteJSON writes one document on one line, with < and > as they are.
func WriteJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document)
}

func eachCommand(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, child := range c.Commands() {
		eachCommand(child, visit)
	}
}

package temporalserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"refundlab/refund"
)

// waitReady returns the frontend's port once a workflow can start.
func (p *process) waitReady(ctx context.Context, o Options) (int, error) {
	answered := make(chan error, 1)
	if o.CLI != "" {
		go func() { answered <- askUntilReady(ctx, o, p.exited) }()
	}
	var err error
	select {
	case address := <-p.address:
		_, port, _ := strings.Cut(address, ":")
		number, err := strconv.Atoi(port)
		if err != nil {
			return 0, refund.Errorf(refund.CodeUnavailable, "the Temporal server announced the address %q", address)
		}
		return number, nil
	case err = <-answered:
		if err == nil {
			return o.Port, nil
		}
	case <-p.exited:
	case <-ctx.Done():
		err = ctx.Err()
	}
	select {
	case <-p.exited:
		return 0, p.failure()
	default:
	}
	code := refund.CodeUnavailable
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = refund.CodeTimeout
	}
	return 0, refund.Wrap(code, err, "the Temporal server is not ready: %s", p.lastWords())
}

// failure is why the process ended before it was ready. devserver's last line is "devserver: CODE: reason".
func (p *process) failure() error {
	words := p.lastWords()
	last := words[strings.LastIndex(words, "\n")+1:]
	if line, ok := strings.CutPrefix(last, "devserver: "); ok {
		if code, reason, ok := strings.Cut(line, ": "); ok && code == strings.ToUpper(code) {
			return refund.Errorf(refund.Code(code), "the Temporal server cannot start: %s", reason)
		}
	}
	return refund.Errorf(refund.CodeUnavailable, "the Temporal server ended before it was ready (%s): %s", p.state, words)
}

// askPause is the time between two questions to a server that announces nothing.
const askPause = 200 * time.Millisecond

// askUntilReady asks a CLI's server by the CLI's own commands. They also give its namespaces the ten years of
// retention that devserver's have from the start: until a run is deleted, its request id stays bound (I9).
func askUntilReady(ctx context.Context, o Options, exited <-chan struct{}) error {
	tick := time.NewTicker(askPause)
	defer tick.Stop()
	for {
		err := ask(ctx, o)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-exited:
			return err
		case <-tick.C:
		}
	}
}

func ask(ctx context.Context, o Options) error {
	questions := [][]string{{"operator", "cluster", "health"}}
	for _, namespace := range append([]string{"default"}, o.Namespaces...) {
		questions = append(questions,
			[]string{"operator", "namespace", "update", "--namespace", namespace, "--retention", "87600h"},
			count(namespace, o.SearchAttributes))
	}
	for _, q := range questions {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		cmd := exec.CommandContext(ctx, o.CLI, append(q, "--address", fmt.Sprintf("%s:%d", host, o.Port))...)
		cmd.Env = environment()
		out, err := cmd.CombinedOutput()
		cancel()
		if err != nil {
			return fmt.Errorf("%s %s: %w: %s", o.CLI, strings.Join(q, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// count is a question that only a server answers which knows the search attributes.
func count(namespace string, searchAttributes map[string]string) []string {
	args := []string{"workflow", "count", "--namespace", namespace}
	var conditions []string
	for _, name := range slices.Sorted(maps.Keys(searchAttributes)) {
		conditions = append(conditions, name+" IS NULL")
	}
	if len(conditions) > 0 {
		args = append(args, "--query", strings.Join(conditions, " AND "))
	}
	return args
}

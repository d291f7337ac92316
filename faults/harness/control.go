package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// control is the surface by which a trial sets the provider's world up and reads it.
type control struct{ address func() string }

// maxWorld bounds the provider's evidence of one trial, in bytes.
const maxWorld = 64 << 20

func (c control) post(ctx context.Context, path string, body any) error {
	_, err := c.call(ctx, http.MethodPost, path, body)
	return err
}

// call makes one request; a status of 400 and above is an error that carries what the provider said. While nobody answers, because
// a fault has killed the provider and it is being started again, the request is made again: none of them says more the second time.
func (c control) call(ctx context.Context, method, path string, body any) (content []byte, err error) {
	again := time.NewTicker(controlPause)
	defer again.Stop()
	for deadline := time.Now().Add(readyWithin); ; {
		var status int
		status, content, err = c.try(ctx, method, path, body)
		down := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF)
		if status != 0 || !down || time.Now().After(deadline) {
			return content, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return content, err
		}
	}
}

// controlPause is how often a provider that is down is asked again.
const controlPause = 50 * time.Millisecond

func (c control) try(ctx context.Context, method, path string, body any) (status int, content []byte, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, c.address()+path, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("provider %s: %w", path, err)
	}
	defer response.Body.Close()
	if content, err = io.ReadAll(io.LimitReader(response.Body, maxWorld)); err != nil {
		return 0, nil, fmt.Errorf("provider %s: %w", path, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return response.StatusCode, content, fmt.Errorf("provider %s: status %d: %s", path, response.StatusCode, content)
	}
	return response.StatusCode, content, nil
}

func (c control) orderVersion(ctx context.Context, tenant, order string) error {
	return c.post(ctx, "/control/orders/version", map[string]any{"tenant": tenant, "id": order})
}

func (c control) clock(ctx context.Context, offsetMS int64) error {
	return c.post(ctx, "/control/clock", map[string]any{"offset_ms": offsetMS})
}

func (c control) catchUp(ctx context.Context) error {
	return c.post(ctx, "/control/replica", map[string]any{"catch_up": true})
}

func (c control) modelAnswers(ctx context.Context, s faults.Step) error {
	var answers []map[string]any
	for _, kind := range s.Answers {
		answers = append(answers, map[string]any{"kind": kind, "retry_after_ms": s.RetryAfterMS})
	}
	return c.post(ctx, "/control/model", map[string]any{"answers": answers})
}

func (c control) providerAnswers(ctx context.Context, s faults.Step) error {
	for _, kind := range s.Answers {
		if err := c.post(ctx, "/control/answer", map[string]any{"kind": kind, "count": 1, "retry_after_ms": s.RetryAfterMS}); err != nil {
			return err
		}
	}
	return nil
}

// foreignSubmit is another caller who uses a run's operation id for something else. What the provider answers is its
// business: the step fails only where nothing was answered.
func (c control) foreignSubmit(ctx context.Context, tenant string, id refund.OperationID, s faults.Step) error {
	status, content, err := c.try(ctx, http.MethodPost, "/v1/refunds", map[string]any{
		"tenant": tenant, "kind": refund.Kind, "operation_id": id, "order": s.Order,
		"amount": refund.Money{Minor: s.Amount, Currency: "EUR"}, "reason": "something else",
		"order_version": 1, "commit_by": now() + foreignCommitWithin, "decision_id": s.Decision, "fence": refund.Fence{},
	})
	if err != nil && (status == 0 || status >= http.StatusInternalServerError) {
		return fmt.Errorf("another caller's submit: %w: %s", err, content)
	}
	return nil
}

// foreignCommitWithin is far enough away never to be the reason of a refusal, in milliseconds.
const foreignCommitWithin = 3_600_000

// evidence waits until no request is in flight and reads the world.
func (c control) evidence(ctx context.Context) (world evidence.Provider, err error) {
	if err := c.post(ctx, "/control/quiesce", map[string]any{"deadline_ms": signalWithin.Milliseconds()}); err != nil {
		return world, err
	}
	return c.books(ctx)
}

// books reads the world as it is, whatever is in flight.
func (c control) books(ctx context.Context) (world evidence.Provider, err error) {
	content, err := c.call(ctx, http.MethodGet, "/control/evidence", nil)
	if err != nil {
		return world, err
	}
	if err := json.Unmarshal(content, &world); err != nil {
		return world, fmt.Errorf("the provider's evidence cannot be read: %w", err)
	}
	return world, nil
}

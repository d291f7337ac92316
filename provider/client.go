package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"refundlab/refund"
)

// Client reaches the refund service over HTTP. It makes exactly one request per call: retrying is the engine's decision,
// because only the engine knows what an earlier request may have done.
type Client struct {
	base    string
	http    *http.Client
	profile atomic.Value // refund.ProfileName, as the last order answer named it
}

var _ Refunds = (*Client)(nil)

// NewClient returns a client for the service at baseURL. Of h the transport and the time-out are used; nil means the
// default transport.
//
// Errors: INVALID_FLAG.
func NewClient(baseURL string, h *http.Client) (*Client, error) {
	base, err := parseBase("provider", baseURL)
	if err != nil {
		return nil, err
	}
	return &Client{base: base, http: single(h)}, nil
}

// Order reads an order. It also remembers the profile that the provider says it has; Submit compares it.
func (c *Client) Order(ctx context.Context, tenant, order string) (refund.Order, error) {
	status, header, body, err := c.call(ctx, http.MethodGet, "/v1/orders/"+segment(tenant)+"/"+segment(order), nil)
	if err != nil {
		return refund.Order{}, refund.Wrap(refund.CodeUnavailable, err, "order %q cannot be read", order)
	}
	switch status {
	case http.StatusOK:
		var answer refund.Order
		if err := refund.DecodeStrict(body, &answer); err != nil || answer.ID != order {
			return refund.Order{}, refund.Errorf(refund.CodeUnavailable, "order %q cannot be read: the answer is not that order", order)
		}
		if name := header.Get(ProfileHeader); name != "" {
			c.profile.Store(refund.ProfileName(name))
		}
		return answer, nil
	case http.StatusNotFound:
		if problem, ok := problemIn(body); ok && problem.Code == refund.CodeOrderNotFound {
			return refund.Order{}, refund.Errorf(refund.CodeOrderNotFound, "%s", problem.Message)
		}
	}
	return refund.Order{}, refund.Wrap(refund.CodeUnavailable, laterBecause(retryAfter(status, header)), "order %q cannot be read: status %d", order, status)
}

// Submit sends a refund. A provider that is known to have another profile than the one the run relies on gets nothing: what
// may be done after an ambiguous answer would be decided by the wrong promise.
func (c *Client) Submit(ctx context.Context, in refund.Intake, s Submission) Answer {
	if known, ok := c.profile.Load().(refund.ProfileName); ok && known != in.Terms.Profile {
		return Answer{Observation: refund.ObservedUnsent, Detail: refund.Errorf(refund.CodeProfileMismatch,
			"provider has profile %q, the run relies on %q: nothing is sent", known, in.Terms.Profile).Error()}
	}
	return c.ask(ctx, in, "/v1/refunds", s)
}

// LookUp asks for the result of an operation.
func (c *Client) LookUp(ctx context.Context, in refund.Intake, fence *refund.Fence) Answer {
	return c.ask(ctx, in, "/v1/refunds/lookup", Query{Ref: RefOf(in), Fence: fence})
}

// Close closes an operation.
func (c *Client) Close(ctx context.Context, in refund.Intake, fence refund.Fence) Answer {
	return c.ask(ctx, in, "/v1/refunds/close", Query{Ref: RefOf(in), Fence: &fence})
}

func (c *Client) ask(ctx context.Context, in refund.Intake, path string, message any) Answer {
	status, header, body, err := c.call(ctx, http.MethodPost, path, message)
	if err != nil {
		return Answer{Observation: refund.ObservedAmbiguous, Detail: err.Error()}
	}
	answer := read(in, status, body)
	if answer.Observation == refund.ObservedAmbiguous {
		answer.RetryAfterMS = retryAfter(status, header).Milliseconds()
	}
	return answer
}

// read says what an answer shows. Whatever is not the provider's own word about this very operation is ambiguous (I4): a
// status alone proves nothing, because anything between here and the provider can make one.
func read(in refund.Intake, status int, body []byte) Answer {
	ambiguous := Answer{Observation: refund.ObservedAmbiguous, Detail: fmt.Sprintf("status %d is not the provider's word about this operation", status)}
	if status == http.StatusOK {
		var receipt refund.Receipt
		if err := refund.DecodeStrict(body, &receipt); err != nil {
			ambiguous.Detail = "status 200 without a readable receipt: " + err.Error()
			return ambiguous
		}
		return ReceiptAnswer(in, receipt)
	}
	problem, ok := problemIn(body)
	if !ok || problem.OperationID != in.OperationID {
		return ambiguous
	}
	switch {
	case status == http.StatusUnprocessableEntity:
		return RefusalAnswer(in, problem.Code, problem.Digest, problem.Message)
	case (status == http.StatusConflict || status == http.StatusBadRequest) && problem.Code == refund.CodeKeyConflict:
		return Answer{Observation: refund.ObservedConflict, Detail: problem.Message}
	case status == http.StatusPreconditionFailed && problem.Code == refund.CodeStaleFence && problem.Fence != nil && plausible(*problem.Fence):
		return Answer{Observation: refund.ObservedStaleFence, Fence: *problem.Fence, Detail: problem.Message}
	case status == http.StatusNotFound && problem.Code == refund.CodeNotFound:
		return Answer{Observation: refund.ObservedNotFound, Detail: problem.Message}
	}
	ambiguous.Detail += ": " + string(problem.Code) + ": " + problem.Message
	return ambiguous
}

// plausible bounds a fence that an engine takes over as its own, so that one wrong answer cannot end its counting.
func plausible(f refund.Fence) bool {
	const limit = 1 << 53
	return f.Term >= 0 && f.Term < limit && f.Seq >= 0 && f.Seq < limit
}

func problemIn(body []byte) (Problem, bool) {
	var problem Problem
	err := refund.DecodeStrict(body, &problem)
	return problem, err == nil
}

// call makes one request and reads its whole answer, up to MaxBody.
func (c *Client) call(ctx context.Context, method, path string, body any) (int, http.Header, []byte, error) {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, nil, err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	if err != nil {
		return 0, nil, nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, MaxBody+1))
	if err == nil && len(answer) > MaxBody {
		err = fmt.Errorf("answer is longer than %d bytes", MaxBody)
	}
	if err != nil {
		return 0, nil, nil, fmt.Errorf("answer with status %d was not read to its end: %w", response.StatusCode, err)
	}
	return response.StatusCode, response.Header, answer, nil
}

// single returns a client that makes one request per call. It follows no redirect: with 307 and 308 Go would send the body,
// and with it the refund or the bill, a second time.
func single(h *http.Client) *http.Client {
	if h == nil {
		h = &http.Client{}
	}
	once := *h
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &once
}

func parseBase(what, baseURL string) (string, error) {
	u, err := url.Parse(baseURL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", refund.Errorf(refund.CodeInvalidFlag, "%s URL %q is not usable: write one such as http://127.0.0.1:8080", what, baseURL)
	}
	return strings.TrimSuffix(baseURL, "/"), nil
}

// segment writes an identity as one path segment. Points are escaped too, because ".." is an identity.
func segment(identity string) string {
	return strings.ReplaceAll(url.PathEscape(identity), ".", "%2E")
}

// cause is TIMEOUT where the time of a call was over, and UNAVAILABLE otherwise.
func cause(err error) refund.Code {
	var timeout interface{ Timeout() bool }
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return refund.CodeTimeout
	}
	return refund.CodeUnavailable
}

package inject

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"refundlab/faults"
	"refundlab/provider"
)

// maxMessage bounds what is read of a request or an answer, in bytes. Both parties' own limits are far below it.
const maxMessage = 1 << 20

// Transport announces each request toward the provider, the model and the receiver of notices. The boundary follows from
// the path; a request with another path passes unannounced.
func Transport(base http.RoundTripper, announcer *faults.Announcer) http.RoundTripper {
	if announcer == nil {
		return base
	}
	return &transport{base: base, gate: gate{announcer}}
}

type transport struct {
	base http.RoundTripper
	gate gate
}

type outcome struct {
	response *http.Response
	err      error
}

// RoundTrip returns to the caller as soon as the caller's context ends, as a real transport does. The message is not the
// caller's any more by then: if it is held, it goes out when it is let go.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	boundary, known := boundaryOf(request)
	if !known {
		return t.base.RoundTrip(request)
	}
	body, err := readAll(request.Body)
	if err != nil {
		return nil, fmt.Errorf("request body: %w", err)
	}
	request = request.Clone(request.Context()) // the exchange may outlive the call, the caller's request must not
	done := make(chan outcome, 1)
	go func() {
		response, err := t.exchange(request, boundary, body) //nolint:bodyclose // its body is in memory; the caller closes it
		done <- outcome{response, err}
	}()
	select {
	case o := <-done:
		return o.response, o.err
	case <-request.Context().Done():
		return nil, context.Cause(request.Context())
	}
}

func (t *transport) exchange(request *http.Request, boundary faults.Boundary, body []byte) (*http.Response, error) {
	// A real transport sends nothing for a caller that has given up already, and what is not sent is not announced. This process may
	// have been frozen since the call began, and no timer have told the context yet that its time is over.
	if err := provider.Over(request.Context()); err != nil {
		return nil, err
	}
	announcement := describe(request, body)
	reply := t.gate.before(request.Context(), boundary, announcement)
	if reply.Action == faults.Refuse {
		return answer(request, http.StatusServiceUnavailable, nil, nil), nil
	}
	if reply.Action == faults.Drop {
		return nil, errCut
	}
	ctx, cancel := sendContext(request.Context(), reply)
	defer cancel()
	if reply.Action == faults.Duplicate {
		// The first copy's answer is nobody's: the network delivered the request twice and the caller reads one connection.
		_, _, _ = t.send(ctx, request, body)
	}
	response, content, err := t.send(ctx, request, body)
	status := "error"
	if err == nil {
		status = strconv.Itoa(response.StatusCode)
	}
	if t.gate.after(request.Context(), boundary, with(announcement, faults.DetailStatus, status)).Action == faults.Lose {
		return nil, errCut
	}
	if err != nil {
		return nil, err
	}
	return answer(request, response.StatusCode, response.Header, content), nil
}

// send makes one request and reads its whole answer, so that the far side of the call is complete before it is announced.
func (t *transport) send(ctx context.Context, request *http.Request, body []byte) (*http.Response, []byte, error) {
	copied := request.Clone(ctx)
	copied.Body = http.NoBody
	if len(body) > 0 {
		copied.Body = io.NopCloser(bytes.NewReader(body))
	}
	response, err := t.base.RoundTrip(copied)
	if err != nil {
		return nil, nil, err
	}
	content, err := readAll(response.Body)
	return response, content, err
}

func readAll(body io.ReadCloser) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, maxMessage))
}

func answer(request *http.Request, status int, header http.Header, content []byte) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(content)), ContentLength: int64(len(content)), Request: request,
	}
}

// boundaryOf knows the provider's paths and the one of a chat model.
func boundaryOf(request *http.Request) (faults.Boundary, bool) {
	path := request.URL.Path
	switch {
	case path == "/v1/refunds":
		return faults.ProviderCall, true
	case path == "/v1/refunds/lookup":
		return faults.LookupCall, true
	case path == "/v1/refunds/close":
		return faults.CloseCall, true
	case strings.HasPrefix(path, "/v1/orders"):
		return faults.OrderCall, true
	case strings.HasSuffix(path, "/chat/completions"):
		return faults.ModelCall, true
	case strings.HasSuffix(path, "/notices"):
		return faults.NoticeCall, true
	}
	return "", false
}

// describe reads from the message which operation it is about and under which fence it goes.
func describe(request *http.Request, body []byte) faults.Announcement {
	var message struct {
		OperationID string `json:"operation_id"`
		Fence       *struct {
			Term int64 `json:"term"`
			Seq  int64 `json:"seq"`
		} `json:"fence"`
	}
	_ = json.Unmarshal(body, &message) // a body of another form has no operation to name
	if message.OperationID == "" {
		message.OperationID = request.Header.Get(provider.OperationHeader)
	}
	announcement := faults.Announcement{Operation: message.OperationID, Detail: map[string]string{"request": request.Method + " " + request.URL.Path}}
	if message.Fence != nil {
		announcement.Fence = fmt.Sprintf("%d.%d", message.Fence.Term, message.Fence.Seq)
	}
	return announcement
}

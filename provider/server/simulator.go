package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"refundlab/evidence"
	"refundlab/provider"
	"refundlab/refund"
)

// ModelAnswer is what the simulator answers to one request.
type ModelAnswer struct {
	Kind         string `json:"kind"`
	DelayMS      int64  `json:"delay_ms,omitempty"`       // with slow; 0 is slowDelay
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"` // with status-429; told in whole seconds, rounded up
}

// slowDelay is the usual time of a slow answer: longer than a caller in a hurry waits.
const slowDelay = 2 * time.Second

// modelKinds are the answers; "status-429" and "status-500" are the others.
var modelKinds = []string{"good", "cut", "prose", "extra-key", "larger-amount", "other-order", "slow", "never"}

// simulator is an OpenAI-compatible model. Every request is billed when it arrives, and no two answers are alike, so that a
// repeated call can be seen (I12).
type simulator struct {
	mu   sync.Mutex
	keep bool // whether anybody can ask for the bill
	book *book
	n    int64
	bill []*evidence.ModelRequest
	next []ModelAnswer
}

// queue adds the answers to the next requests; after them the answers are good.
//
// Errors: INVALID_BODY.
func (m *simulator) queue(answers []ModelAnswer) error {
	for _, a := range answers {
		switch {
		case !slices.Contains(modelKinds, a.Kind) && errorStatus(a.Kind) == 0:
			return refund.Errorf(refund.CodeInvalidBody, "kind %q is unknown: it is one of %s, or status- and a number from 400 to 599", a.Kind, strings.Join(modelKinds, ", "))
		case a.DelayMS < 0 || a.RetryAfterMS < 0:
			return refund.Errorf(refund.CodeInvalidBody, "times of %q are negative", a.Kind)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next = append(m.next, answers...)
	m.book.note(bookEntry{ModelAnswers: &m.next})
	return nil
}

// charge bills a request and takes the answer that it gets.
func (m *simulator) charge(id refund.OperationID, tokens int64, at refund.Instant) (*evidence.ModelRequest, ModelAnswer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	answer := ModelAnswer{Kind: "good"}
	var entry bookEntry
	if len(m.next) > 0 {
		answer, m.next = m.next[0], m.next[1:]
		entry.ModelAnswers = &m.next
	}
	m.n++
	line := &evidence.ModelRequest{N: m.n, OperationID: id, Answered: answer.Kind, Tokens: tokens, At: at}
	if m.keep {
		m.bill = append(m.bill, line)
		entry.Billed = line
		m.book.note(entry)
	}
	return line, answer
}

// answered completes a line of the bill.
func (m *simulator) answered(line *evidence.ModelRequest, answerID string, tokens int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	line.AnswerID = answerID
	line.Tokens += tokens
	if m.keep {
		m.book.note(bookEntry{Billed: line})
	}
}

func (m *simulator) list() []evidence.ModelRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]evidence.ModelRequest, len(m.bill))
	for i, line := range m.bill {
		list[i] = *line
	}
	return list
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chatRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
}

// maxPrompt bounds the body of a chat request in bytes.
const maxPrompt = 1 << 20

// complete serves POST /model/v1/chat/completions.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r, maxPrompt)
	line, answer := s.simulator.charge(refund.OperationID(r.Header.Get(provider.OperationHeader)), tokensOf(len(body)), s.clock())
	var request chatRequest
	var question provider.Question
	if err == nil {
		// Lenient, as such services are: a client may send any of their many options.
		err = json.Unmarshal(body, &request)
	}
	if err == nil && len(request.Messages) > 0 {
		err = json.Unmarshal([]byte(request.Messages[len(request.Messages)-1].Content), &question)
	}
	if err != nil || question.Request.Order == "" {
		chatError(w, http.StatusBadRequest, "the last message is not a question about a refund")
		return
	}
	switch {
	case answer.Kind == "never" && !s.wait(r.Context(), nil),
		answer.Kind == "slow" && !s.wait(r.Context(), time.After(delayOf(answer))):
		s.cut(w)
		return
	case errorStatus(answer.Kind) != 0:
		if answer.RetryAfterMS > 0 {
			w.Header().Set("Retry-After", wholeSeconds(answer.RetryAfterMS))
		}
		chatError(w, errorStatus(answer.Kind), "simulated "+answer.Kind)
		return
	}
	id := "chatcmpl-" + strings.ToLower(rand.Text())
	content := contentOf(answer.Kind, question, line.N, id)
	s.simulator.answered(line, id, tokensOf(len(content)))
	writeJSON(w, http.StatusOK, map[string]any{
		"id": id, "object": "chat.completion", "created": int64(s.clock()) / 1000, "model": request.Model,
		"choices": []map[string]any{{"index": 0, "finish_reason": "stop", "message": chatMessage{"assistant", content}}},
		"usage": map[string]int64{"prompt_tokens": tokensOf(len(body)), "completion_tokens": tokensOf(len(content)),
			"total_tokens": tokensOf(len(body)) + tokensOf(len(content))},
	})
}

// contentOf writes the text of an answer. Its wording holds the answer's number and id.
func contentOf(kind string, q provider.Question, n int64, id string) string {
	content := map[string]any{
		"recommendation": "approve",
		"rationale":      fmt.Sprintf("Order %s has %d of %d minor units left, and the reason is plausible (opinion %d, %s).", q.Order.ID, q.Order.Captured-q.Order.Refunded, q.Order.Captured, n, id),
		"order":          q.Request.Order,
		"amount_minor":   q.Request.AmountMinor,
		"currency":       q.Request.Currency,
	}
	switch kind {
	case "extra-key":
		content["approved"] = true
	case "larger-amount":
		content["amount_minor"] = q.Request.AmountMinor + 100
	case "other-order":
		content["order"] = q.Request.Order + "-other"
	}
	text, _ := json.Marshal(content) // strings, numbers and a bool always encode
	switch kind {
	case "cut":
		return string(text[:len(text)/2])
	case "prose":
		return "Here is my answer:\n" + string(text) + "\nI hope it helps."
	}
	return string(text)
}

func delayOf(a ModelAnswer) time.Duration {
	if a.DelayMS == 0 {
		return slowDelay
	}
	return time.Duration(a.DelayMS) * time.Millisecond
}

// wait blocks until passed, and tells whether client and server are still there by then.
func (s *Server) wait(client context.Context, passed <-chan time.Time) bool {
	select {
	case <-passed:
		return true
	case <-client.Done():
	case <-s.life.Done():
	}
	return false
}

// chatError answers in the form of OpenAI's errors.
func chatError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": message, "type": "simulated", "code": nil, "param": nil}})
}

// tokensOf estimates tokens from bytes, at the usual four bytes a token.
func tokensOf(bytes int) int64 { return int64(bytes+3) / 4 }

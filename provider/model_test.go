package provider_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"refundlab/provider"
	"refundlab/refund"
)

var order = refund.Order{ID: "o1", Currency: "EUR", Captured: 10000, Version: 3}

// completion is a chat completion whose choices have the given texts.
func completion(id string, contents ...string) string {
	choices := []any{}
	for i, content := range contents {
		choices = append(choices, map[string]any{"index": i, "finish_reason": "stop", "message": map[string]string{"role": "assistant", "content": content}})
	}
	return text(map[string]any{"id": id, "object": "chat.completion", "created": 1, "model": "m", "choices": choices})
}

func answeringJSON(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answering(status, body)(w, r)
	}
}

const good = `{"recommendation":"reject","rationale":" Too late. ","order":"o1","amount_minor":4200,"currency":"EUR"}`

func TestWhatIsReadFromAModel(t *testing.T) {
	in := intake(t)
	cases := map[string]struct {
		handle http.HandlerFunc
		code   refund.Code
	}{
		"a proposal":               {answeringJSON(200, completion("c1", good)), ""},
		"a proposal as plain text": {answering(200, completion("c1", good)), ""},
		"cut off":                  {answeringJSON(200, completion("c1", good[:40])), refund.CodeInvalidBody},
		"an empty text":            {answeringJSON(200, completion("c1", "")), refund.CodeInvalidBody},
		"null":                     {answeringJSON(200, completion("c1", "null")), refund.CodeInvalidBody},
		"a list":                   {answeringJSON(200, completion("c1", "["+good+"]")), refund.CodeInvalidBody},
		"an amount as 4.2e3":       {answeringJSON(200, completion("c1", strings.Replace(good, "4200", "4.2e3", 1))), refund.CodeInvalidBody},
		"the amount twice":         {answeringJSON(200, completion("c1", strings.Replace(good, "{", `{"amount_minor":4200,`, 1))), refund.CodeInvalidBody},
		"another amount":           {answeringJSON(200, completion("c1", strings.Replace(good, "4200", "4300", 1))), refund.CodeInvalidBody},
		"two choices":              {answeringJSON(200, completion("c1", good, good)), refund.CodeInvalidBody},
		"no choice":                {answeringJSON(200, completion("c1")), refund.CodeInvalidBody},
		"no id":                    {answeringJSON(200, completion("", good)), refund.CodeInvalidBody},
		"a page":                   {answering(200, "<html>"), refund.CodeInvalidBody},
		"nothing":                  {answeringJSON(200, ""), refund.CodeInvalidBody},
		"a megabyte":               {answeringJSON(200, completion("c1", strings.Repeat("x", 1<<20))), refund.CodeUnavailable},
		"a server error in words":  {answering(500, "oops"), refund.CodeUnavailable},
		"a server error in JSON":   {answeringJSON(503, `{"error":{"message":"busy"}}`), refund.CodeUnavailable},
		"an error to be retried": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Should-Retry", "true")
			answeringJSON(409, "{}")(w, r)
		}, refund.CodeUnavailable},
		"a cut connection": {cut, refund.CodeUnavailable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			url, received := serve(t, c.handle)
			model, err := provider.NewModel(provider.ModelConfig{BaseURL: url + "/v1"}, nil)
			require.NoError(t, err)
			proposal, err := model.Propose(t.Context(), in, order)
			require.Equal(t, c.code, refund.CodeOf(err), "%v", err)
			require.Equal(t, int64(1), received.Load(), "one request a call (I12)")
			if c.code == "" {
				require.Equal(t, refund.Proposal{Recommendation: "reject", Rationale: "Too late.", OrderVersion: 3, AnswerID: "c1"}, proposal)
			}
		})
	}
}

func TestAModelIsNotFollowedElsewhere(t *testing.T) {
	target, arrived := serve(t, answeringJSON(200, completion("c1", good)))
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, target, http.StatusPermanentRedirect)
	})
	model, err := provider.NewModel(provider.ModelConfig{BaseURL: url, APIKey: "k"}, nil)
	require.NoError(t, err)
	_, err = model.Propose(t.Context(), intake(t), order)
	require.Error(t, err)
	require.Zero(t, arrived.Load(), "a redirect would be a second bill, and take the key with it")
}

func TestWhatAModelIsAsked(t *testing.T) {
	in := intake(t)
	var path string
	var header http.Header
	var asked struct {
		Model          string                           `json:"model"`
		Messages       []struct{ Role, Content string } `json:"messages"`
		ResponseFormat struct{ Type string }            `json:"response_format"`
	}
	url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path, header = r.URL.Path, r.Header
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answeringJSON(200, completion("c1", good))(w, r)
	})
	model, err := provider.NewModel(provider.ModelConfig{BaseURL: url + "/v1", APIKey: "secret", Name: "m1"}, nil)
	require.NoError(t, err)
	_, err = model.Propose(t.Context(), in, order)
	require.NoError(t, err)
	require.Equal(t, "/v1/chat/completions", path)
	require.Equal(t, "Bearer secret", header.Get("Authorization"))
	require.Equal(t, string(in.OperationID), header.Get(provider.OperationHeader), "the bill is kept by operation")
	require.NotContains(t, header, "Idempotency-Key", "Go's transport resends a request that bears one")
	require.Equal(t, "m1", asked.Model)
	require.Equal(t, "json_object", asked.ResponseFormat.Type)
	require.Len(t, asked.Messages, 2)
	require.Equal(t, "system", asked.Messages[0].Role)
	for _, key := range []string{"recommendation", "rationale", "order", "amount_minor", "currency"} {
		require.Contains(t, asked.Messages[0].Content, `"`+key+`"`)
	}
	require.JSONEq(t, `{"request":{"order":"o1","amount_minor":4200,"currency":"EUR","reason":"broken"},
		"order":{"id":"o1","currency":"EUR","captured_minor":10000,"refunded_minor":0,"version":3}}`, asked.Messages[1].Content)
	require.NotContains(t, asked.Messages[1].Content, in.Request.Requester, "people are none of its business")
}

func TestAModelIsNotAskedAfterTheDeadline(t *testing.T) {
	url, arrived := serve(t, answeringJSON(200, completion("c1", good)))
	model, err := provider.NewModel(provider.ModelConfig{BaseURL: url + "/v1", Name: "m1"}, nil)
	require.NoError(t, err)
	_, err = model.Propose(untold{t.Context(), time.Now()}, intake(t), order)
	require.Equal(t, refund.CodeTimeout, refund.CodeOf(err))
	require.Zero(t, arrived.Load(), "also where no timer has told the context by then (I12)")
}

func TestWhichModelIsAsked(t *testing.T) {
	cases := []struct{ name, given, base, key, wantBase, wantKey string }{
		{"the simulator by default", "", "", "", "http://sim", ""},
		{"the key never goes to the simulator", "", "", "secret", "http://sim", ""},
		{"the environment's", "", "http://real", "secret", "http://real", "secret"},
		{"the one that was given", "http://given", "http://real", "secret", "http://given", "secret"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("OPENAI_BASE_URL", c.base)
			t.Setenv("OPENAI_API_KEY", c.key)
			t.Setenv("OPENAI_MODEL", "m1")
			require.Equal(t, provider.ModelConfig{BaseURL: c.wantBase, APIKey: c.wantKey, Name: "m1"}, provider.ModelFromEnvironment(c.given, "http://sim"))
		})
	}
}

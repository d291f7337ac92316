package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/refund"
)

type result struct {
	exit           int
	stdout, stderr string
}

func starterRun(t *testing.T, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	exit := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr)
	return result{exit, stdout.String(), stderr.String()}
}

// requestWith is a right request with some flags replaced, or, with the value omit, left out.
func requestWith(replaced ...string) []string {
	const omit = "-"
	values := map[string]string{
		"--tenant": "shop", "--request-id": "r-1", "--order": "o-1001", "--amount": "42.00", "--currency": "EUR",
		"--reason": "broken on arrival", "--requester": "alice",
	}
	for i := 0; i < len(replaced); i += 2 {
		values[replaced[i]] = replaced[i+1]
	}
	args := []string{"request"}
	for flag, value := range values {
		if value != omit {
			args = append(args, flag, value)
		}
	}
	return args
}

const someOperation = "6f0c3c06-7f3b-5a51-9d8e-0123456789ab"

// Bad input is refused at once, with its code, a text that says what to do, and its exit status; no file and no connection
// is opened for it.
func TestBadInputIsRefusedBeforeAnythingIsOpened(t *testing.T) {
	approve := func(args ...string) []string {
		return append([]string{"approve", someOperation, "--as", "bob"}, args...)
	}
	reconcile := func(kind string, args ...string) []string {
		return append([]string{"reconcile", someOperation, "--kind", kind, "--by", "carol", "--reason", "asked the bank"}, args...)
	}
	digest := strings.Repeat("ab", 32)
	long := strings.Repeat("x", refund.MaxIdentity+1)

	for _, test := range []struct {
		name string
		args []string
		code refund.Code
		text string
	}{
		{"amount zero", requestWith("--amount", "0"), "INVALID_AMOUNT", "more than zero"},
		{"amount zero with decimals", requestWith("--amount", "0.00"), "INVALID_AMOUNT", "more than zero"},
		{"amount negative", requestWith("--amount", "-42.00"), "INVALID_AMOUNT", `"-42.00" is not a plain decimal number`},
		{"amount NaN", requestWith("--amount", "NaN"), "INVALID_AMOUNT", `"NaN" is not a plain decimal number`},
		{"amount with exponent", requestWith("--amount", "1e3"), "INVALID_AMOUNT", `"1e3" is not a plain decimal number`},
		{"amount with comma", requestWith("--amount", "42,00"), "INVALID_AMOUNT", "not a plain decimal number"},
		{"amount empty", requestWith("--amount", ""), "INVALID_AMOUNT", "not a plain decimal number"},
		{"amount too fine", requestWith("--amount", "42.001"), "INVALID_AMOUNT", "finer than the smallest unit of EUR"},
		{"amount too fine for a currency without decimals", requestWith("--amount", "42.0", "--currency", "JPY"), "INVALID_AMOUNT", "finer than the smallest unit of JPY"},
		{"amount too large", requestWith("--amount", "10000000000.01"), "INVALID_AMOUNT", "larger than the limit"},
		{"amount beyond 64 bits", requestWith("--amount", "99999999999999999999"), "INVALID_AMOUNT", "larger than the limit"},
		{"currency unknown", requestWith("--currency", "EUX"), "INVALID_CURRENCY", `"EUX" is not an active ISO 4217 code`},
		{"currency lower case", requestWith("--currency", "eur"), "INVALID_CURRENCY", "three upper-case letters"},
		{"tenant empty", requestWith("--tenant", ""), "INVALID_IDENTITY", "tenant is empty"},
		{"request id empty", requestWith("--request-id", ""), "INVALID_IDENTITY", "request id is empty"},
		{"request id too long", requestWith("--request-id", long), "INVALID_IDENTITY", "request id is 129 bytes long: the limit is 128"},
		{"order with a control character", requestWith("--order", "o-1001\x07"), "INVALID_IDENTITY", "order"},
		{"order not ASCII", requestWith("--order", "ordér"), "INVALID_IDENTITY", "only ASCII"},
		{"requester with a blank inside", requestWith("--requester", "al ice"), "INVALID_IDENTITY", "requester"},
		{"reason empty", requestWith("--reason", "  "), "INVALID_REASON", "reason is empty"},
		{"reason too long", requestWith("--reason", strings.Repeat("x", refund.MaxReason+1)), "INVALID_REASON", "reason is 501 bytes long: the limit is 500"},
		{"reason with a control character", requestWith("--reason", "broken\x1b[2J"), "INVALID_REASON", "control character U+001B"},
		{"reason not UTF-8", requestWith("--reason", "broken\xff"), "INVALID_REASON", "not valid UTF-8"},
		{"amount missing", requestWith("--amount", "-"), "INVALID_FLAG", `required flag(s) "amount" not set`},
		{"profile unknown", append(requestWith(), "--profile", "perfect"), "INVALID_PROFILE", `profile "perfect" is unknown: the profiles are full`},
		{"deadline zero", append(requestWith(), "--decide-within", "0s"), "INVALID_DEADLINE", "--decide-within is 0s: the least is 1ms"},
		{"deadline too far", append(requestWith(), "--decide-within", "2161h"), "INVALID_DEADLINE", "at most 2160h"},
		{"deadline not a time", append(requestWith(), "--decide-within", "soon"), "INVALID_FLAG", `invalid argument "soon" for "--decide-within"`},
		{"commit deadline negative", append(requestWith(), "--commit-within", "-1s"), "INVALID_DEADLINE", "--commit-within is -1s"},
		{"retention zero", append(requestWith(), "--retention", "0"), "INVALID_DEADLINE", "--retention is 0s"},
		{"model budget zero", append(requestWith(), "--model-budget", "0"), "INVALID_FLAG", "--model-budget is 0"},
		{"model budget too large", append(requestWith(), "--model-budget", "11"), "INVALID_FLAG", "model budget is 11"},
		{"call time-out finer than a millisecond", append(requestWith(), "--call-timeout", "10us"), "INVALID_FLAG", "--call-timeout is 10µs"},
		{"backoff too long", append(requestWith(), "--backoff", "61m"), "INVALID_FLAG", "backoff is 3660000 ms"},
		{"an argument to request", append(requestWith(), "extra"), "INVALID_FLAG", `unknown command "extra"`},

		{"no verb", nil, "INVALID_FLAG", "a verb is missing"},
		{"verb unknown", []string{"refund"}, "INVALID_FLAG", `unknown command "refund" for "starter": see starter --help`},
		{"flag unknown", []string{"list", "--colour"}, "INVALID_FLAG", "unknown flag: --colour: see starter list --help"},
		{"flag without its value", []string{"list", "--which"}, "INVALID_FLAG", "flag needs an argument: --which"},

		{"no operation", []string{"status"}, "INVALID_FLAG", "the run is not named"},
		{"operation twice", []string{"status", someOperation, "--tenant", "shop", "--request-id", "r-1"}, "INVALID_FLAG", "named twice"},
		{"two operations", []string{"status", someOperation, someOperation}, "INVALID_FLAG", "accepts at most 1 arg"},
		{"operation not a UUID", []string{"status", "r-1"}, "INVALID_IDENTITY", `operation id "r-1" is not a lower-case UUID`},
		{"tenant without request id", []string{"status", "--tenant", "shop"}, "INVALID_FLAG", "request-id"},
		{"tenant of a lookup too long", []string{"export", "--tenant", long, "--request-id", "r-1"}, "INVALID_IDENTITY", "tenant is 129 bytes long"},
		{"provider not a URL", []string{"--provider", "localhost:8080", "status", someOperation}, "INVALID_FLAG", `provider URL "localhost:8080" is not usable`},

		{"approver missing", []string{"approve", someOperation}, "INVALID_FLAG", `required flag(s) "as" not set`},
		{"approver empty", []string{"approve", someOperation, "--as", " "}, "INVALID_IDENTITY", "approver is empty"},
		{"decision id empty", approve("--decision-id", ""), "INVALID_IDENTITY", "decision id is empty"},
		{"decision id too long", approve("--decision-id", long), "INVALID_IDENTITY", "decision id is 129 bytes long"},
		{"digest without order version", approve("--digest", digest), "INVALID_FLAG", "order-version"},
		{"digest cut", approve("--digest", digest[1:], "--order-version", "1"), "INVALID_DECISION", "is not the 64 hex digits"},
		{"order version zero", approve("--digest", digest, "--order-version", "0"), "INVALID_DECISION", "order version 0"},
		{"order version not a number", approve("--digest", digest, "--order-version", "one"), "INVALID_FLAG", `invalid argument "one"`},
		{"no time to wait", approve("--wait", "0s"), "INVALID_FLAG", "--wait is 0s"},

		{"listing unknown", []string{"list", "--which", "mine"}, "INVALID_FLAG", `--which "mine" is unknown`},
		{"bound negative", []string{"list", "--bound", "-1m"}, "INVALID_FLAG", "--bound is -1m0s"},
		{"status unknown", []string{"watch", someOperation, "--until", "CONFIRMED,DONE"}, "INVALID_FLAG", `--until "DONE" is not a run status`},
		{"no time to watch", []string{"watch", someOperation, "--timeout", "0s"}, "INVALID_FLAG", "--timeout is 0s"},

		{"cancellation on the journal", []string{"cancel", someOperation}, "INVALID_FLAG", "reject the refund"},
		{"settlement unknown", reconcile("refund"), "INVALID_DECISION", `settlement kind "refund" is unknown`},
		{"settlement by receipt without one", reconcile("receipt"), "INVALID_DECISION", "has no receipt"},
		{"close with a receipt", reconcile("close", "--receipt", `{"refund_id":"f-1"}`), "INVALID_DECISION", "carries a receipt"},
		{"receipt cut off", reconcile("receipt", "--receipt", `{"refund_id":"f-1"`), "INVALID_BODY", "cut off"},
		{"receipt with an unknown key", reconcile("receipt", "--receipt", `{"refund":"f-1"}`), "INVALID_BODY", "refund"},
		{"receipt with a key twice", reconcile("receipt", "--receipt", `{"refund_id":"f-1","refund_id":"f-2"}`), "INVALID_BODY", "stands twice"},
		{"receipt of no file", reconcile("receipt", "--receipt", "no-such-file"), "INVALID_FLAG", "--receipt is neither JSON nor a file"},
		{"settling person empty", []string{"reconcile", someOperation, "--kind", "close", "--by", "", "--reason", "asked"}, "INVALID_IDENTITY", "name of the person who settles is empty"},
		{"settling reason empty", []string{"reconcile", someOperation, "--kind", "close", "--by", "carol", "--reason", ""}, "INVALID_REASON", "reason is empty"},
		{"settling reason over two lines", []string{"reconcile", someOperation, "--kind", "close", "--by", "carol", "--reason", "a\nb"}, "INVALID_REASON", "control character U+000A"},
	} {
		t.Run(test.name, func(t *testing.T) {
			journal := filepath.Join(t.TempDir(), "journal.db")
			args := append([]string{"--engine", "handrolled", "--journal", journal}, test.args...)
			requireRefused(t, args, test.code, test.text)
			require.NoFileExists(t, journal)
		})
	}
}

// The flags that name the engine are checked before anything else happens, too.
func TestAnEngineThatCannotBeMeantIsRefused(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		text string
	}{
		{"no engine", []string{"list"}, "--engine is missing"},
		{"engine unknown", []string{"--engine", "cadence", "list"}, `--engine "cadence" is unknown: it is temporal or handrolled`},
		{"no journal", []string{"--engine", "handrolled", "list"}, "--journal is missing"},
		{"a journal for Temporal", []string{"--engine", "temporal", "--journal", "journal.db", "list"}, "--journal means nothing to --engine temporal"},
		{"Temporal's flags for the journal", []string{"--engine", "handrolled", "--journal", "journal.db", "--namespace", "default", "--temporal-address", "localhost:7233", "list"},
			"--namespace, --temporal-address means nothing to --engine handrolled"},
		{"address without a port", []string{"--engine", "temporal", "--temporal-address", "localhost", "list"}, `--temporal-address "localhost" is not HOST:PORT`},
		{"namespace empty", []string{"--engine", "temporal", "--namespace", "", "list"}, "--namespace is empty"},
		{"task queue empty", []string{"--engine", "temporal", "--task-queue", "", "list"}, "--task-queue is empty"},
		{"workflow task time-out too short", []string{"--engine", "temporal", "--workflow-task-timeout", "1ms", "list"}, "--workflow-task-timeout is 1ms: the least is 1s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			requireRefused(t, test.args, refund.CodeInvalidFlag, test.text)
		})
	}
}

func TestTheJournalsOwnLedgerIsNotForTemporal(t *testing.T) {
	args := append([]string{"--engine", "temporal", "--temporal-address", "127.0.0.1:1"}, append(requestWith(), "--profile", "local")...)
	requireRefused(t, args, refund.CodeInvalidProfile, "profile local is the journal's own ledger")
}

// requireRefused runs a command line twice: for a person and for a program.
func requireRefused(t *testing.T, args []string, code refund.Code, text string) {
	t.Helper()
	human := starterRun(t, args...)
	require.Equal(t, refund.ExitStatus(code), human.exit, human.stderr)
	require.Empty(t, human.stdout)
	lines := strings.Split(strings.TrimSuffix(human.stderr, "\n"), "\n")
	require.True(t, strings.HasPrefix(lines[len(lines)-1], string(code)+": "), human.stderr)
	require.Contains(t, human.stderr, text)

	program := starterRun(t, slices.Concat([]string{"--json"}, args)...)
	require.Equal(t, human.exit, program.exit)
	var answer struct {
		Error struct{ Code, Message string }
	}
	require.NoError(t, json.Unmarshal([]byte(program.stdout), &answer), program.stdout)
	require.Equal(t, string(code), answer.Error.Code)
	require.Contains(t, answer.Error.Message, text)
}

// A store or a server that cannot be had is told apart from bad input, and a reader creates nothing.
func TestWhatCannotBeReachedIsUnavailable(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.db")
	garbage := filepath.Join(dir, "garbage.db")
	require.NoError(t, os.WriteFile(garbage, bytes.Repeat([]byte("not a database. "), 512), 0o600))
	journal := func(file string, verb ...string) []string {
		return append([]string{"--engine", "handrolled", "--journal", file}, verb...)
	}
	readers := [][]string{
		{"status", someOperation}, {"list"}, {"watch", someOperation}, {"export", someOperation},
		{"approve", someOperation, "--as", "bob"},
		{"reconcile", someOperation, "--kind", "close", "--by", "carol", "--reason", "asked"},
	}
	for _, verb := range readers {
		t.Run("no journal for "+verb[0], func(t *testing.T) {
			requireRefused(t, journal(missing, verb...), refund.CodeStoreUnreadable, missing)
			require.NoFileExists(t, missing)
		})
		t.Run("garbage for "+verb[0], func(t *testing.T) {
			requireRefused(t, journal(garbage, verb...), refund.CodeStoreUnreadable, garbage)
		})
	}
	t.Run("journal in a directory that is not there", func(t *testing.T) {
		requireRefused(t, journal(filepath.Join(dir, "none", "journal.db"), requestWith()...), refund.CodeStoreUnreadable, "none")
	})
	t.Run("journal locked by a frozen process", func(t *testing.T) {
		file := filepath.Join(dir, "locked.db")
		require.Zero(t, starterRun(t, journal(file, requestWith()...)...).exit)
		holder, err := sql.Open("sqlite", "file:"+file+"?_txlock=exclusive")
		require.NoError(t, err)
		defer holder.Close()
		tx, err := holder.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer tx.Rollback() // ends the lock
		got := starterRun(t, journal(file, requestWith("--request-id", "r-2")...)...)
		require.Equal(t, refund.ExitUnavailable, got.exit)
		require.Contains(t, got.stderr, "STORE_LOCKED: ")
	})
	t.Run("dead Temporal server", func(t *testing.T) {
		requireRefused(t, []string{"--engine", "temporal", "--temporal-address", "127.0.0.1:1", "list"}, refund.CodeUnavailable, "127.0.0.1:1")
	})
}

// A caller that reads JSON gets JSON, also when parsing stopped before it came to the flag.
func TestJSONIsSpokenWhereverItWasAskedFor(t *testing.T) {
	for _, args := range [][]string{{"refund", "--json"}, {"list", "--colour", "--json"}} {
		got := starterRun(t, args...)
		require.Equal(t, refund.ExitInvalidInput, got.exit)
		require.Empty(t, got.stderr)
		require.True(t, strings.HasPrefix(got.stdout, `{"error":{"code":"INVALID_FLAG",`), got.stdout)
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	for _, verb := range []string{"", "request", "approve", "reject", "status", "list", "watch", "reconcile", "cancel", "export"} {
		t.Run(verb, func(t *testing.T) {
			got := starterRun(t, append(strings.Fields(verb), "--help")...)
			require.Zero(t, got.exit)
			require.Contains(t, got.stdout, "Examples:\n  starter ")
			require.Empty(t, got.stderr)
		})
	}
}

// A request id that the starter makes up is printed before anything is sent, so that a lost answer can be asked for again.
func TestARequestIDIsToldBeforeAnythingIsSent(t *testing.T) {
	unreachable := filepath.Join(t.TempDir(), "none", "journal.db")
	got := starterRun(t, append([]string{"--engine", "handrolled", "--journal", unreachable}, requestWith("--request-id", "-")...)...)
	require.Equal(t, refund.ExitUnavailable, got.exit)
	require.Regexp(t, `^request id [0-9a-f-]{36}\nSTORE_UNREADABLE: `, got.stderr)
}

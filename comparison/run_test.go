package comparison

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"refundlab/evidence"
	"refundlab/faults"
	"refundlab/refund"
)

// played is a run of two cells, its clean arm and its arm with the fault, and one cell that is not applicable.
func played(t *testing.T) (dir string, matrix faults.Matrix) {
	t.Helper()
	dir = t.TempDir()
	matrix.Scenarios = []faults.ScenarioText{{Name: "crash", Title: "Killed after the commit.", About: "The ledger has its entry and the worker is dead before it heard of it."}}
	for _, engine := range []string{"temporal", "handrolled"} {
		broken, clean := newScene(engine, refund.ProfileFull), undisturbed(engine)
		require.NoError(t, evidence.Save(dir, broken.Record))
		require.NoError(t, evidence.Save(dir, clean.Record))
		matrix.Cells = append(matrix.Cells, clean.expect, broken.expect)
	}
	matrix.Cells = append(matrix.Cells, faults.Expectation{Scenario: "crash", Engine: "temporal", Profile: "local", Arm: "fault", NotApplicable: "no transaction is shared with Temporal"})
	suit(t, dir)
	return dir, matrix
}

// undisturbed is the clean arm: one submit, no fault.
func undisturbed(engine string) *scene {
	s := newScene(engine, refund.ProfileFull)
	s.Trial.Arm, s.expect.Arm = evidence.ArmClean, "clean"
	s.Trial.Schedule, s.Trial.Fired, s.expect.Schedule = nil, nil, nil
	s.Trial.Processes[1].WaitStatus, s.Trial.Processes[1].EndSeq = "", 0
	s.Trace = filter(s.Trace, func(c evidence.Crossing) bool {
		return c.Process != "B" && (c.Process != "provider" || c.Fence == "1.1")
	})
	s.Provider.Received = s.Provider.Received[:1]
	s.change("r1", func(e *refund.Export) {
		e.Facts = filter(e.Facts, func(f refund.Fact) bool {
			return f.Fence != refund.Fence{Term: 2, Seq: 1} || f.Kind == refund.FactOutcome
		})
	})
	end := s.expect.Runs["r1"]
	end.LeastSubmits, end.MostSubmits = 1, 1
	s.expect.Runs["r1"] = end
	return s
}

func suit(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, evidence.SaveSuite(dir, evidence.Suite{
		Command: "lab run", StartedAt: start, EndedAt: start + 61_500,
		Machine:  evidence.Machine{OS: "linux", Arch: "amd64", CPUs: 2, MemoryMB: 4096, Go: "go1.26.8"},
		Versions: []evidence.Version{{Part: "Temporal server", Version: "1.32.1"}},
		Budget:   evidence.Budget{CallTimeoutMS: 800, LeaseMS: 1500, StartToCloseMS: 2000, WorkflowTaskTimeoutMS: 2000, BackoffMS: 100, BoundMS: 10_000},
		Census: []evidence.Lines{
			{Package: "refund", Duty: "vocabulary and rules", Owner: "shared", Files: 2, Code: 100, Test: 50},
			{Package: "workflows", Duty: "driving a run", Owner: "temporal", Files: 1, Code: 70, Test: 30},
			{Package: "handrolled", Duty: "driving a run", Owner: "handrolled", Files: 1, Code: 90, Test: 40},
		},
	}))
}

func TestARunPassesWhenEveryCellHasItsTrial(t *testing.T) {
	dir, matrix := played(t)
	result, err := Judge(dir, matrix)
	require.NoError(t, err)
	require.True(t, result.Passed(), result.Trials)
	require.Len(t, result.Trials, 5)
}

func TestACellWithoutASoundTrialFailsTheRun(t *testing.T) {
	trial := filepath.Join("crash", "temporal", "full", "fault")
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, trial, name), []byte(text), 0o644))
		}
	}
	cutOff := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			path := filepath.Join(dir, trial, name)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, text[:len(text)/2], 0o644))
		}
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(filepath.Join(dir, trial, name))) }
	}
	for _, tt := range []struct {
		name   string
		damage func(*testing.T, string)
		says   string
	}{
		{"no trial", remove(""), "no trial.json"},
		{"no trace", remove(evidence.TraceFile), "no trace.jsonl"},
		{"no provider", remove(evidence.ProviderFile), "no provider.json"},
		{"an empty file", write(evidence.AnswersFile, "\n"), "answers.jsonl is empty"},
		{"a trace that was cut off", cutOff(evidence.TraceFile), "trace.jsonl is not what was recorded"},
		{"exports that were cut off", cutOff(evidence.ExportsFile), "exports.json is not what was recorded"},
		{"a trial.json that was altered", write(evidence.TrialFile, `{"format":1}`), "trial.json is not what was recorded"},
		{"a trial that suite.json does not know", func(t *testing.T, dir string) {
			text, err := os.ReadFile(filepath.Join(dir, evidence.SuiteFile))
			require.NoError(t, err)
			text = bytes.ReplaceAll(text, []byte("crash/temporal/full/fault"), []byte("crash/temporal/full/other"))
			require.NoError(t, os.WriteFile(filepath.Join(dir, evidence.SuiteFile), text, 0o644))
		}, "suite.json does not list the trial"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, matrix := played(t)
			tt.damage(t, dir)
			result, err := Judge(dir, matrix)
			require.NoError(t, err)
			require.False(t, result.Passed())
			for _, judged := range result.Trials {
				if judged.Engine == "temporal" && judged.Profile == refund.ProfileFull && judged.Arm == evidence.ArmFault {
					requireChecks(t, judged, Invalid, "EVIDENCE")
					require.Contains(t, texts(judged), tt.says)
				}
			}
		})
	}
}

func TestATrialOutsideTheMatrixFailsTheRun(t *testing.T) {
	dir, matrix := played(t)
	matrix.Cells = matrix.Cells[1:]
	result, err := Judge(dir, matrix)
	require.NoError(t, err)
	require.False(t, result.Passed())
	requireChecks(t, result.Trials[len(result.Trials)-1], Invalid, "EVIDENCE")
}

func TestATrialInACellThatIsNotApplicableFailsTheRun(t *testing.T) {
	dir, matrix := played(t)
	s := newScene("temporal", refund.ProfileLocal)
	require.NoError(t, evidence.Save(dir, s.Record))
	suit(t, dir)
	result, err := Judge(dir, matrix)
	require.NoError(t, err)
	require.False(t, result.Passed())
}

func TestAFilteredRunIsJudgedAgainstWhatItWasAskedFor(t *testing.T) {
	dir, matrix := played(t)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "crash", "temporal")))
	require.NoError(t, evidence.SaveSuite(dir, evidence.Suite{Filter: evidence.Filter{Engines: []string{"handrolled"}}}))
	result, err := Judge(dir, matrix)
	require.NoError(t, err)
	require.True(t, result.Passed(), result.Trials)
	require.Len(t, result.Trials, 2)
}

func TestARunWithoutSuiteIsNoRun(t *testing.T) {
	for name, text := range map[string]string{"none": "", "another format": `{"format":99}`, "cut off": `{"format":`} {
		t.Run(name, func(t *testing.T) {
			dir, matrix := played(t)
			require.NoError(t, os.Remove(filepath.Join(dir, evidence.SuiteFile)))
			if text != "" {
				require.NoError(t, os.WriteFile(filepath.Join(dir, evidence.SuiteFile), []byte(text), 0o644))
			}
			_, err := Judge(dir, matrix)
			require.ErrorContains(t, err, evidence.SuiteFile)
		})
	}
}

func TestPackedEvidenceGivesTheSameReport(t *testing.T) {
	dir, matrix := played(t)
	want := reported(t, dir, matrix)
	var first, again bytes.Buffer
	hash, err := Pack(dir, &first)
	require.NoError(t, err)
	_, err = Pack(dir, &again)
	require.NoError(t, err)
	require.Equal(t, first.Bytes(), again.Bytes(), "packing twice")

	copied := t.TempDir()
	require.NoError(t, Unpack(&first, copied))
	unpacked, err := HashEvidence(copied)
	require.NoError(t, err)
	require.Equal(t, hash, unpacked)
	require.Contains(t, want, hash)
	require.Equal(t, want, reported(t, copied, matrix))
}

func TestUnpackStaysInItsDirectory(t *testing.T) {
	require.ErrorContains(t, Unpack(bytes.NewReader([]byte("no archive")), t.TempDir()), "not gzip")
	require.ErrorContains(t, Unpack(archive(t, "../outside"), t.TempDir()), "not a plain file inside it")
}

func TestDiffNamesTheCellsThatChanged(t *testing.T) {
	dir, matrix := played(t)
	before, err := Judge(dir, matrix)
	require.NoError(t, err)
	require.Empty(t, Diff(before, before))

	s := newScene("handrolled", refund.ProfileFull)
	second(s)
	require.NoError(t, evidence.Save(dir, s.Record))
	suit(t, dir)
	matrix.Cells = matrix.Cells[:len(matrix.Cells)-1]
	now, err := Judge(dir, matrix)
	require.NoError(t, err)
	require.Equal(t, []Change{
		{evidence.Cell{Scenario: "crash", Engine: "handrolled", Profile: "full", Arm: "fault"}, "pass: CONFIRMED, 1 ledger entries", "fail (I1, I2, END): CONFIRMED, 2 ledger entries"},
		{evidence.Cell{Scenario: "crash", Engine: "temporal", Profile: "local", Arm: "fault"}, "not applicable (SCOPE)", "no such cell"},
	}, Diff(before, now))
}

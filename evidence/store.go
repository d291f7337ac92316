package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
)

// Record is everything that one trial left behind.
type Record struct {
	Trial    Trial
	Trace    []Crossing
	Answers  []Answer
	Provider Provider
	Exports  Exports
}

// Dir is the directory of a cell's trial below the root of a run's evidence, with slashes.
func (c Cell) Dir() string {
	return path.Join(c.Scenario, c.Engine, string(c.Profile), string(c.Arm))
}

// Save writes a trial below root. Its trial.json comes last and carries the hashes of the other files, so that a trial
// whose writing was cut off, or that was touched later, is refused by Load.
func Save(root string, r Record) error {
	dir := filepath.Join(root, filepath.FromSlash(r.Trial.Dir()))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	r.Trial.Format, r.Trial.Files = Format, map[string]string{}
	for _, file := range []struct {
		name  string
		write func(*bytes.Buffer) error
	}{
		{TraceFile, func(b *bytes.Buffer) error { return writeLines(b, r.Trace) }},
		{AnswersFile, func(b *bytes.Buffer) error { return writeLines(b, r.Answers) }},
		{ProviderFile, func(b *bytes.Buffer) error { return writeIndented(b, r.Provider) }},
		{ExportsFile, func(b *bytes.Buffer) error { return writeIndented(b, r.Exports) }},
		{TrialFile, func(b *bytes.Buffer) error { return writeIndented(b, r.Trial) }},
	} {
		var text bytes.Buffer
		if err := file.write(&text); err != nil {
			return fmt.Errorf("%s of trial %s: %w", file.name, r.Trial.Dir(), err)
		}
		if err := os.WriteFile(filepath.Join(dir, file.name), text.Bytes(), 0o644); err != nil {
			return err
		}
		r.Trial.Files[file.name] = hash(text.Bytes())
	}
	return nil
}

// SaveSuite writes suite.json with the hash of every trial that lies below root. It is called once, after the last trial.
func SaveSuite(root string, s Suite) error {
	cells, err := Cells(root)
	if err != nil {
		return err
	}
	s.Format, s.Trials = Format, map[string]string{}
	for _, cell := range cells {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(cell.Dir()), TrialFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue // its writing was cut off: the judge finds it unlisted
		}
		if err != nil {
			return err
		}
		s.Trials[cell.Dir()] = hash(text)
	}
	var text bytes.Buffer
	if err := writeIndented(&text, s); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, SuiteFile), text.Bytes(), 0o644)
}

// LoadSuite reads suite.json. It refuses another format.
func LoadSuite(root string) (Suite, error) {
	var s Suite
	text, err := os.ReadFile(filepath.Join(root, SuiteFile))
	if err != nil {
		return Suite{}, fmt.Errorf("run without %s: %w", SuiteFile, err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return Suite{}, fmt.Errorf("%s cannot be read: %w", SuiteFile, err)
	}
	if s.Format != Format {
		return Suite{}, fmt.Errorf("%s has format %d: this program reads format %d", SuiteFile, s.Format, Format)
	}
	return s, nil
}

// Cells lists the trials that lie below root, complete or not, sorted by directory.
func Cells(root string) ([]Cell, error) {
	found := map[string]Cell{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		parts := splitPath(filepath.ToSlash(relative))
		if len(parts) == 5 {
			cell := cellAt(parts)
			found[cell.Dir()] = cell
		}
		return nil
	})
	dirs := make([]string, 0, len(found))
	for dir := range found {
		dirs = append(dirs, dir)
	}
	sort.Strings(dirs)
	cells := make([]Cell, 0, len(dirs))
	for _, dir := range dirs {
		cells = append(cells, found[dir])
	}
	return cells, err
}

// ErrMissing says that a trial, or one of its files, is not there.
var ErrMissing = errors.New("evidence is missing")

// Load reads the trial of a cell. want is the hash of its trial.json as suite.json has it, or "" to read a trial of a run that
// is still going on. Whatever is missing, empty, cut off, altered, of another format or of another cell is an error that
// says which file and why: the trial is then invalid.
func Load(root string, cell Cell, want string) (Record, error) {
	dir := filepath.Join(root, filepath.FromSlash(cell.Dir()))
	var r Record
	text, err := read(dir, TrialFile, want)
	if err != nil {
		return Record{}, err
	}
	if err := json.Unmarshal(text, &r.Trial); err != nil {
		return Record{}, fmt.Errorf("%s cannot be read: %w", TrialFile, err)
	}
	if r.Trial.Format != Format {
		return Record{}, fmt.Errorf("%s has format %d: this program reads format %d", TrialFile, r.Trial.Format, Format)
	}
	if r.Trial.Cell != cell {
		return Record{}, fmt.Errorf("%s speaks of trial %s", TrialFile, r.Trial.Dir())
	}
	for _, file := range []struct {
		name string
		read func([]byte) error
	}{
		{TraceFile, func(b []byte) error { return readLines(b, &r.Trace) }},
		{AnswersFile, func(b []byte) error { return readLines(b, &r.Answers) }},
		{ProviderFile, func(b []byte) error { return json.Unmarshal(b, &r.Provider) }},
		{ExportsFile, func(b []byte) error { return json.Unmarshal(b, &r.Exports) }},
	} {
		want, listed := r.Trial.Files[file.name]
		if !listed {
			return Record{}, fmt.Errorf("%s does not list %s", TrialFile, file.name)
		}
		text, err := read(dir, file.name, want)
		if err != nil {
			return Record{}, err
		}
		if err := file.read(text); err != nil {
			return Record{}, fmt.Errorf("%s cannot be read: %w", file.name, err)
		}
	}
	return r, nil
}

func read(dir, name, want string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: no %s", ErrMissing, name)
	case err != nil:
		return nil, err
	case len(bytes.TrimSpace(text)) == 0:
		return nil, fmt.Errorf("%s is empty", name)
	case want != "" && hash(text) != want:
		return nil, fmt.Errorf("%s is not what was recorded: its hash differs", name)
	}
	return text, nil
}

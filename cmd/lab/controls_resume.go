package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"refundlab/binaries"
	"refundlab/evidence"
	"refundlab/refund"
)

// keptControls is a file with the results of the controls that are done: a line that says what was played, and one for each of
// them. A last line that was cut off is a control that is played again.
type keptControls struct {
	file *os.File // nil where nothing is kept
	mu   sync.Mutex
	done map[string]evidence.Control
}

// keptRun is what results must share to stand in one report: the same sources, by the directories of what was built from them,
// and the same question.
type keptRun struct {
	Built []string               `json:"built"`
	Asked evidence.ControlsAsked `json:"asked"`
}

// keepControls opens the file, "" for none.
//
// Errors: INVALID_FLAG where it was written for other sources or another question, or cannot be had.
func keepControls(path string, b *bench, asked evidence.ControlsAsked) (*keptControls, error) {
	k := &keptControls{done: map[string]evidence.Control{}}
	if path == "" {
		return k, nil
	}
	this := keptRun{Asked: asked}
	for _, name := range []string{binaries.Worker, binaries.Starter, binaries.Provider} {
		this.Built = append(this.Built, filepath.Base(filepath.Dir(b.paths[name])))
	}
	switch err := k.read(path, this); {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, refund.Wrap(refund.CodeInvalidFlag, err, "--resume")
		}
	case err != nil:
		return nil, err
	}
	// Written anew, so that a line that was cut off is gone.
	var err error
	if k.file, err = os.Create(path); err != nil {
		return nil, refund.Wrap(refund.CodeInvalidFlag, err, "--resume")
	}
	err = k.write(this)
	for _, control := range k.done {
		err = errors.Join(err, k.write(control))
	}
	return k, err
}

func (k *keptControls) read(path string, this keptRun) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := json.NewDecoder(bufio.NewReader(file))
	var that keptRun
	if err := lines.Decode(&that); err != nil || !reflect.DeepEqual(this, that) {
		return refund.Errorf(refund.CodeInvalidFlag, "--resume %s was written for other sources or other flags: give another file", path)
	}
	for {
		var control evidence.Control
		err := lines.Decode(&control)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return refund.Wrap(refund.CodeInvalidFlag, err, "--resume %s cannot be read", path)
		}
		k.done[control.Name] = control
	}
}

func (k *keptControls) write(v any) error { return json.NewEncoder(k.file).Encode(v) }

func (k *keptControls) find(name string) (evidence.Control, bool) {
	control, found := k.done[name]
	return control, found
}

// keep adds a result. A control that did not build is not kept: its sources are about to change.
func (k *keptControls) keep(control evidence.Control) error {
	if k.file == nil || control.BuildError != "" {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.write(control)
}

func (k *keptControls) close() {
	if k.file != nil {
		_ = k.file.Close() // each line was written when it was added
	}
}

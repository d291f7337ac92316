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

// keepControls opens the file, "" for none.
//
// Errors: INVALID_FLAG where it was written by other code or for another question, or cannot be had.
func keepControls(path string, b *bench, asked evidence.ControlsAsked) (*keptControls, error) {
	k := &keptControls{done: map[string]evidence.Control{}}
	if path == "" {
		return k, nil
	}
	built, err := playedBy(b.paths)
	if err != nil {
		return nil, err
	}
	this := keptRun[evidence.ControlsAsked]{Built: built, Asked: asked}
	switch err := k.read(path, this); {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, refund.Wrap(refund.CodeInvalidFlag, err, "--resume")
		}
	case err != nil:
		return nil, err
	}
	// Written anew, so that a line that was cut off is gone.
	if k.file, err = os.Create(path); err != nil {
		return nil, refund.Wrap(refund.CodeInvalidFlag, err, "--resume")
	}
	err = k.write(this)
	for _, control := range k.done {
		err = errors.Join(err, k.write(control))
	}
	return k, err
}

func (k *keptControls) read(path string, this keptRun[evidence.ControlsAsked]) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := json.NewDecoder(bufio.NewReader(file))
	var that keptRun[evidence.ControlsAsked]
	if err := lines.Decode(&that); err != nil {
		return refund.Wrap(refund.CodeInvalidFlag, err, "--resume %s is no file of lab controls", path)
	}
	if err := sameCode(path, that.Built, this.Built); err != nil {
		return err
	}
	if !reflect.DeepEqual(this.Asked, that.Asked) {
		return refund.Errorf(refund.CodeInvalidFlag, "--resume %s was written for other flags: begin a new run with another file", path)
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

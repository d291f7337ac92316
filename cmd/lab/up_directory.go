package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"refundlab/binaries"
	"refundlab/refund"
)

// seedOrders are there from the start; a provider that has them already keeps what became of them.
const seedOrders = `[
  {"tenant": "shop", "id": "o1", "currency": "EUR", "captured_minor": 10000, "refunded_minor": 0, "version": 1},
  {"tenant": "shop", "id": "o2", "currency": "EUR", "captured_minor": 14505, "refunded_minor": 0, "version": 1},
  {"tenant": "shop", "id": "o3", "currency": "JPY", "captured_minor": 4200, "refunded_minor": 0, "version": 1}
]
`

// prepareDirectory makes the directory and takes it for this process, until the lock is closed.
//
// Errors: STORE_LOCKED, STORE_UNREADABLE, ALREADY_EXISTS.
func (p *playground) prepareDirectory() (lock *os.File, err error) {
	if p.dir == "" {
		p.dir, err = os.MkdirTemp("", "refundlab-")
	} else if p.dir, err = filepath.Abs(p.dir); err == nil {
		err = os.MkdirAll(p.dir, 0o755)
	}
	if err != nil {
		return nil, refund.Wrap(refund.CodeStoreUnreadable, err, "no directory for the data")
	}
	if lock, err = lockDirectory(p.dir); err != nil {
		return nil, err
	}
	for _, script := range []string{onTemporal, onJournal, temporalWorker, journalWorker} {
		if err := refuseForeign(filepath.Join(p.dir, script)); err != nil {
			return nil, errors.Join(err, lock.Close())
		}
	}
	return lock, nil
}

// lockDirectory keeps a second "lab up" out: two providers on one file would both be right, and the scripts would reach only
// one. The lock ends with the process, however that one ends; its file stays.
func lockDirectory(dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, refund.Wrap(refund.CodeStoreUnreadable, err, "the directory cannot be locked")
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return file, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, refund.Errorf(refund.CodeStoreLocked, "another lab up runs on directory %s: end it, or give another --dir", dir)
	}
	return nil, refund.Wrap(refund.CodeStoreUnreadable, err, "directory %s cannot be locked", dir)
}

// orders is the file of the orders: written once, and the user's from then on.
func (p *playground) orders() (string, error) {
	path := filepath.Join(p.dir, "orders.json")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return path, nil
	}
	if err == nil {
		_, err = file.WriteString(seedOrders)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return "", refund.Wrap(refund.CodeStoreUnreadable, err, "the orders cannot be written")
	}
	return path, nil
}

// Names of the scripts: the starter, and a further worker, with the flags that reach one engine.
const (
	onTemporal     = "on-temporal"
	onJournal      = "on-journal"
	temporalWorker = "temporal-worker"
	journalWorker  = "journal-worker"
)

// signature is how a script is known to be ours to overwrite.
const signature = "# Written by lab up at each start: changes are lost."

func refuseForeign(path string) error {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return refund.Wrap(refund.CodeStoreUnreadable, err, "%s cannot be read", path)
	case !strings.Contains(string(content), signature):
		return refund.Errorf(refund.CodeAlreadyExists, "%s is there and was not written by lab up: move it away, or give another --dir", path)
	}
	return nil
}

func (p *playground) writeScripts() error {
	starter, worker := p.paths[binaries.Starter], p.paths[binaries.Worker]
	for name, command := range map[string][]string{
		onTemporal:     append([]string{starter}, p.temporalFlags()...),
		onJournal:      append([]string{starter}, p.journalFlags()...),
		temporalWorker: append([]string{worker}, p.temporalFlags()...),
		journalWorker:  append([]string{worker}, p.journalFlags()...),
	} {
		for i, word := range command {
			command[i] = quoted(word)
		}
		command = append(command, "--provider", quoted(p.provider))
		switch name { // a name that no other process has at the same time: exec keeps the shell's pid
		case temporalWorker:
			command = append(command, "--name", "temporal-$$")
		case journalWorker:
			command = append(command, "--name", "journal-$$")
		}
		script := "#!/bin/sh\n" + signature + "\n"
		if p.server != nil { // settings of the user's shell point at another server
			script += `unset $(env | sed -n 's/^\(TEMPORAL_[A-Za-z0-9_]*\)=.*/\1/p')` + "\nexport TEMPORAL_CONFIG_FILE=" + os.DevNull + "\n"
		}
		script += fmt.Sprintf("exec %s \"$@\"\n", strings.Join(command, " "))
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(script), 0o755); err != nil {
			return refund.Wrap(refund.CodeStoreUnreadable, err, "the script %s cannot be written", name)
		}
	}
	return nil
}

// quoted makes one word of a text for a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

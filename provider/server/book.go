package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"

	"refundlab/evidence"
	"refundlab/refund"
)

// book is an append-only file that keeps what the ledger does not (what was received, billed and delivered, and what the
// control surface has set) beyond the process. Each entry is one write, so that SIGKILL loses nothing that was noted before;
// losing power is not its business. The nil book keeps nothing.
type book struct {
	mu   sync.Mutex
	file *os.File
	err  error // the first that a write met
}

// bookEntry is one line. A later line about the same number, and a later value of the same setting, replaces the earlier.
type bookEntry struct {
	Received *evidence.Received      `json:"received,omitempty"`
	Billed   *evidence.ModelRequest  `json:"billed,omitempty"`
	Notice   *evidence.NoticeArrival `json:"notice,omitempty"`
	// What is still queued, whole, after each change; and the clock's offset in milliseconds.
	ModelAnswers *[]ModelAnswer `json:"model_answers,omitempty"`
	Answers      *[]string      `json:"answers,omitempty"`
	Instead      *[]unprocessed `json:"instead,omitempty"`
	OffsetMS     *int64         `json:"offset_ms,omitempty"`
}

// openBook opens or creates a book and returns what it holds. A last line without its end is what a process was writing when
// the machine stopped: it is cut off.
//
// Errors: STORE_UNREADABLE.
func openBook(path string) (*book, []bookEntry, error) {
	if path == "" {
		return nil, nil, nil
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, refund.Wrap(refund.CodeStoreUnreadable, err, "record %q cannot be opened", path)
	}
	entries, err := readBook(file)
	if err != nil {
		_ = file.Close() // the error that counts is told
		return nil, nil, refund.Wrap(refund.CodeStoreUnreadable, err, "record %q cannot be read", path)
	}
	return &book{file: file}, entries, nil
}

func readBook(file *os.File) ([]bookEntry, error) {
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	whole := bytes.LastIndexByte(text, '\n') + 1
	if whole < len(text) {
		if err := file.Truncate(int64(whole)); err != nil {
			return nil, err
		}
	}
	var entries []bookEntry
	var received, billed int64 // the highest numbers
	for line := range bytes.Lines(text[:whole]) {
		var entry bookEntry
		if err := refund.DecodeStrict(line, &entry); err != nil {
			return nil, err
		}
		if r := entry.Received; r != nil && !follows(&received, r.N) {
			return nil, refund.Errorf(refund.CodeStoreUnreadable, "request %d stands out of order", r.N)
		}
		if m := entry.Billed; m != nil && !follows(&billed, m.N) {
			return nil, refund.Errorf(refund.CodeStoreUnreadable, "line %d of the bill stands out of order", m.N)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// follows tells whether n is the number after the highest, which it then becomes, or one that was there before.
func follows(highest *int64, n int64) bool {
	if n == *highest+1 {
		*highest = n
	}
	return n >= 1 && n <= *highest
}

// note appends an entry. A book that failed once takes nothing more, and failure tells why: an arrival that is missing in it
// would look like one that never was.
func (b *book) note(entry bookEntry) {
	if b == nil {
		return
	}
	line, err := json.Marshal(entry)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil && b.err == nil {
		_, err = b.file.Write(append(line, '\n'))
	}
	if b.err == nil {
		b.err = err
	}
}

// failure is why the book is not complete, or nil.
func (b *book) failure() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return refund.Wrap(refund.CodeStoreUnreadable, b.err, "record %q is not complete", b.file.Name())
	}
	return nil
}

func (b *book) close() error {
	if b == nil {
		return nil
	}
	if err := b.file.Close(); !errors.Is(err, os.ErrClosed) { // as often as a store may be closed
		return err
	}
	return nil
}

// recall puts an earlier process's state back, before anything is served. A request that was in flight when that process died
// keeps no outcome: what became of it stands in the ledger alone.
func (s *Server) recall(entries []bookEntry) {
	for _, e := range entries {
		if r := e.Received; r != nil {
			s.record.received = put(s.record.received, r.N, r)
		}
		if m := e.Billed; m != nil {
			s.simulator.bill = put(s.simulator.bill, m.N, m)
			s.simulator.n = int64(len(s.simulator.bill))
		}
		if n := e.Notice; n != nil {
			s.notices.restore(*n)
		}
		if e.ModelAnswers != nil {
			s.simulator.next = *e.ModelAnswers
		}
		if e.Answers != nil {
			s.faulty.kinds = *e.Answers
		}
		if e.Instead != nil {
			s.faulty.instead = *e.Instead
		}
		if e.OffsetMS != nil {
			s.offset.Store(*e.OffsetMS)
		}
	}
}

// put sets the n-th item, counted from 1, of a list that holds all before it.
func put[T any](list []*T, n int64, item *T) []*T {
	if n == int64(len(list))+1 {
		return append(list, item)
	}
	list[n-1] = item
	return list
}

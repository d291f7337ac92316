package server

import (
	"context"
	"database/sql"
	"net/http"
	"slices"
	"sync"

	"refundlab/evidence"
	"refundlab/provider/ledger"
	"refundlab/refund"
)

// record is what was received, in the order of arrival. It does not live in the ledger's file, because an arrival must be on
// record before anything else happens, also while a held transaction keeps the file's write lock.
type record struct {
	mu       sync.Mutex
	keep     bool // whether anybody can ask for it
	book     *book
	received []*evidence.Received
}

// arrive notes a request before anything is done with it.
func (r *record) arrive(at refund.Instant, received evidence.Received) *evidence.Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	received.N, received.At = int64(len(r.received))+1, at
	if r.keep {
		r.received = append(r.received, &received)
		r.book.note(bookEntry{Received: &received})
	}
	return &received
}

// decide notes what the provider decided about it.
func (r *record) decide(received *evidence.Received, outcome string, code refund.Code) {
	r.mu.Lock()
	defer r.mu.Unlock()
	received.Outcome, received.Code = outcome, code
	if r.keep {
		r.book.note(bookEntry{Received: received})
	}
}

func (r *record) list() []evidence.Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]evidence.Received, len(r.received))
	for i, received := range r.received {
		list[i] = *received
	}
	return list
}

// Evidence is the whole outside world as it stands now.
func (s *Server) Evidence(ctx context.Context) (evidence.Provider, error) {
	var world evidence.Provider
	err := s.store.read(ctx, func(tx *sql.Tx) (err error) {
		world, err = dump(ctx, tx)
		return err
	})
	world.Received, world.Bill, world.Notices = s.record.list(), s.simulator.list(), s.notices.list()
	if err == nil {
		err = s.book.failure()
	}
	return world, storeError(s.options.Database, err)
}

// Dump reads a ledger's file, the provider's or a journal's, without changing it. What was received, billed and delivered
// is not in a file.
//
// Errors: STORE_LOCKED, STORE_UNREADABLE, PROFILE_MISMATCH.
func Dump(ctx context.Context, path string, profile refund.ProfileName) (evidence.Provider, error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	db, err := open(path, "ro", "&_pragma=query_only(1)")
	if err != nil {
		return evidence.Provider{}, storeError(path, err)
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return evidence.Provider{}, storeError(path, err)
	}
	defer tx.Rollback()
	world, err := dump(ctx, tx)
	if err == nil && world.Profile != profile {
		err = refund.Errorf(refund.CodeProfileMismatch, "ledger was written under profile %q, not %q", world.Profile, profile)
	}
	world.Received, world.Bill, world.Notices = []evidence.Received{}, []evidence.ModelRequest{}, []evidence.NoticeArrival{}
	return world, storeError(path, err)
}

func dump(ctx context.Context, q ledger.Querier) (evidence.Provider, error) {
	world := evidence.Provider{Orders: []evidence.Order{}, Operations: []evidence.Operation{}, Ledger: []evidence.Entry{}}
	var err error
	if world.Profile, err = ledger.ProfileOf(ctx, q); err != nil {
		return world, err
	}
	contents, err := ledger.Dump(ctx, q)
	if err != nil {
		return world, err
	}
	for _, o := range contents.Orders {
		world.Orders = append(world.Orders, evidence.Order(o))
	}
	for _, o := range contents.Operations {
		world.Operations = append(world.Operations, evidence.Operation{Tenant: o.Tenant, Kind: o.Kind, OperationID: o.OperationID, Digest: o.Digest,
			Result: string(o.Result), Code: o.Code, RefundID: o.RefundID, Fence: o.Fence, At: o.At})
	}
	for _, e := range contents.Entries {
		world.Ledger = append(world.Ledger, evidence.Entry(e))
	}
	return world, nil
}

// flights counts the requests that are being served, so that a harness can wait for rest.
type flights struct {
	mu   sync.Mutex
	n    int
	idle []chan struct{} // closed and emptied when n falls to 0
}

func (f *flights) counted(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.n++
		f.mu.Unlock()
		defer func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.n--
			if f.n == 0 {
				for _, waiting := range f.idle {
					close(waiting)
				}
				f.idle = nil
			}
		}()
		next(w, r)
	}
}

// rest returns the number of requests in flight once it is 0 or ctx ends.
func (f *flights) rest(ctx context.Context) int {
	f.mu.Lock()
	if f.n == 0 {
		f.mu.Unlock()
		return 0
	}
	idle := make(chan struct{})
	f.idle = append(f.idle, idle)
	f.mu.Unlock()
	select {
	case <-idle:
		return 0
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.idle = slices.DeleteFunc(f.idle, func(c chan struct{}) bool { return c == idle })
	return f.n
}

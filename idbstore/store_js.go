package idbstore

import (
	"context"
	"sync"
	"syscall/js"

	"github.com/stdsync/outbox/outbox"
)

// Options say which database a Store is on, and what its Values are.
type Options struct {
	// Database is its name; "std-sync" when empty.
	Database string
	// Value wraps a stored JavaScript value. A Value given to the Store must
	// have a method JSValue() js.Value that unwraps it.
	Value func(js.Value) outbox.Value
	// Lost, if set, is told when the browser or another tab has closed the
	// connection or holds up its opening, and why. The Store goes on by itself.
	Lost func(error)
}

// Store is an outbox.Store on one IndexedDB database, which it opens with its
// first transaction.
type Store struct {
	opts Options

	mu     sync.Mutex
	conn   *connection
	closed bool
}

var _ outbox.Store = (*Store)(nil)

// New returns a Store that has touched nothing yet.
func New(opts Options) *Store {
	if opts.Database == "" {
		opts.Database = "std-sync"
	}
	if opts.Lost == nil {
		opts.Lost = func(error) {}
	}
	return &Store{opts: opts}
}

// View runs fn in a read-only transaction.
func (s *Store) View(ctx context.Context, fn func(outbox.Tx) error) error {
	return s.run(ctx, "readonly", "default", fn)
}

// Update runs fn in a read-write transaction and returns on its complete event.
func (s *Store) Update(ctx context.Context, durability outbox.Durability, fn func(outbox.Tx) error) error {
	hint := "relaxed"
	if durability == outbox.Strict {
		hint = "strict"
	}
	return s.run(ctx, "readwrite", hint, fn)
}

// run opens a transaction, once more if the connection turns out to be closed.
func (s *Store) run(ctx context.Context, mode, durability string, fn func(outbox.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	conn, err := s.connect()
	if err != nil {
		return err
	}
	t, err := begin(conn.db, mode, durability)
	if err != nil {
		s.forget(conn)
		if conn, err = s.connect(); err != nil {
			return err
		}
		if t, err = begin(conn.db, mode, durability); err != nil {
			return err
		}
	}
	if err := fn(&tx{transaction: t, value: s.opts.Value}); err != nil {
		t.abort()
		return err
	}
	if mode == "readonly" {
		return nil
	}
	return t.commit()
}

// connect returns the open connection, opening one if need be.
func (s *Store) connect() (*connection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, &outbox.Error{Code: outbox.CodeDisposed, Message: "the store is closed in this tab"}
	}
	if s.conn != nil && !s.conn.gone {
		return s.conn, nil
	}
	conn, err := open(s.opts)
	s.conn = conn
	return conn, err
}

// forget drops a connection that does not serve any more.
func (s *Store) forget(conn *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == conn {
		conn.close()
		s.conn = nil
	}
}

// Close closes the connection. Transactions that have begun go on.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.conn != nil {
		s.conn.close()
		s.conn = nil
	}
	return nil
}

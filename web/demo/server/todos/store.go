package todos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"

	_ "modernc.org/sqlite" // registers the "sqlite" driver
)

// ErrReset is returned for a request that arrived before a [Store.Reset].
var ErrReset = errors.New("the store was reset after this request arrived")

// Store is the demo's database. Its methods may be called concurrently.
type Store struct {
	writer *sql.DB // one connection: writes queue here
	reader *sql.DB
	resets atomic.Int64
}

// Open opens the SQLite file at path, creating it and its tables if missing.
// Close it when done.
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	store := &Store{}
	if store.writer, err = connect(path, url.Values{
		"_pragma": {"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(NORMAL)"},
		"_txlock": {"immediate"},
	}); err != nil {
		return nil, err
	}
	store.writer.SetMaxOpenConns(1)
	if _, err := store.writer.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database %s: %w", path, err), store.Close())
	}
	if store.reader, err = connect(path, url.Values{
		"_pragma": {"busy_timeout(5000)", "query_only(1)"},
	}); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	store.reader.SetMaxOpenConns(4)
	return store, nil
}

func connect(path string, query url.Values) (*sql.DB, error) {
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, fmt.Errorf("opening the database %s: %w", path, err)
	}
	return db, nil
}

// Close closes the database.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// Resets returns how often the store was reset. A [Request] carries the number
// it found on arrival.
func (s *Store) Resets() int64 { return s.resets.Load() }

// Reset empties all tables. The change counter and the journal's numbers do
// not start anew.
func (s *Store) Reset(ctx context.Context) error {
	return s.write(ctx, s.Resets(), func(tx *Tx) error {
		s.resets.Add(1)
		return tx.exec("DELETE FROM todos; DELETE FROM requests; DELETE FROM journal")
	})
}

// write runs do in a transaction that is committed unless do fails.
func (s *Store) write(ctx context.Context, resets int64, do func(*Tx) error) error {
	tx, err := s.writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("starting a transaction: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // does nothing once committed
	if resets != s.Resets() {
		return ErrReset
	}
	if err := do(&Tx{ctx: ctx, tx: tx}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	return nil
}

package todos

import (
	"context"
	"encoding/json"
	"fmt"
)

// Entry is one write request in the journal.
type Entry struct {
	// N orders the entries by when they were settled.
	N int64 `json:"n"`
	// At is when the request arrived, in milliseconds since 1970.
	At      int64           `json:"at"`
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	Key     *string         `json:"key"`
	IfMatch *string         `json:"ifMatch"`
	Body    json.RawMessage `json:"body"` // null if it was no JSON
	// Status is the answer's; 0 if nothing was applied and nothing answered.
	Status int `json:"status"`
	// Replayed says that the answer was a remembered one.
	Replayed bool `json:"replayed"`
	// Applied says that this request changed the data.
	Applied bool `json:"applied"`
}

// Note journals a request that was not applied, with the status it is answered
// with, or 0 for none.
func (s *Store) Note(ctx context.Context, request Request, status int) error {
	return s.write(ctx, request.Resets, func(tx *Tx) error {
		return tx.journal(request, status, false, false)
	})
}

// Journal returns all entries, oldest first.
func (s *Store) Journal(ctx context.Context) ([]Entry, error) {
	rows, err := s.reader.QueryContext(ctx,
		"SELECT n, at, method, path, key, if_match, body, status, replayed, applied FROM journal ORDER BY n")
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	defer func() { _ = rows.Close() }()
	entries := []Entry{}
	for rows.Next() {
		var entry Entry
		var body *string
		if err := rows.Scan(&entry.N, &entry.At, &entry.Method, &entry.Path, &entry.Key, &entry.IfMatch,
			&body, &entry.Status, &entry.Replayed, &entry.Applied); err != nil {
			return nil, fmt.Errorf("reading the journal: %w", err)
		}
		if body != nil {
			entry.Body = json.RawMessage(*body)
		}
		entries = append(entries, entry)
	}
	return entries, rows.Err()
}

// ClearJournal empties the journal and nothing else.
func (s *Store) ClearJournal(ctx context.Context) error {
	return s.write(ctx, s.Resets(), func(tx *Tx) error { return tx.exec("DELETE FROM journal") })
}

func (t *Tx) journal(request Request, status int, replayed, applied bool) error {
	var body *string
	if json.Valid(request.Body) {
		body = orNull(string(request.Body))
	}
	return t.exec(`INSERT INTO journal (at, method, path, key, if_match, body, status, replayed, applied)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, request.At.UnixMilli(), request.Method, request.Path,
		orNull(request.Key), orNull(request.IfMatch), body, status, replayed, applied)
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

package todos

import (
	"context"
	"fmt"
)

// PageSize is the most changes that one page holds.
const PageSize = 500

// Changes is one page of what changed since a cursor, in change order. A row
// that changed more than once is there once, as it is now.
type Changes struct {
	Rows    []Row    `json:"rows"`
	Deleted []string `json:"deleted"`
	// Cursor is the number of the page's last change, or the cursor asked with
	// if there is none.
	Cursor int64 `json:"cursor"`
	// More says that there are changes after Cursor.
	More bool `json:"more"`
}

// Changes returns the first page of changes whose number is greater than cursor.
func (s *Store) Changes(ctx context.Context, cursor int64) (Changes, error) {
	page := Changes{Rows: []Row{}, Deleted: []string{}, Cursor: cursor}
	rows, err := s.reader.QueryContext(ctx, `SELECT id, title, done, note, version, deleted, change
		FROM todos WHERE change > ? ORDER BY change LIMIT ?`, cursor, PageSize+1)
	if err != nil {
		return Changes{}, fmt.Errorf("reading changes: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if len(page.Rows)+len(page.Deleted) == PageSize {
			page.More = true
			break
		}
		var row Row
		var deleted bool
		if err := rows.Scan(&row.ID, &row.Title, &row.Done, &row.Note, &row.Version, &deleted, &page.Cursor); err != nil {
			return Changes{}, fmt.Errorf("reading changes: %w", err)
		}
		if deleted {
			page.Deleted = append(page.Deleted, row.ID)
		} else {
			page.Rows = append(page.Rows, row)
		}
	}
	return page, rows.Err()
}

// All returns all live rows, ordered by id.
func (s *Store) All(ctx context.Context) ([]Row, error) {
	rows, err := s.reader.QueryContext(ctx,
		"SELECT id, title, done, note, version FROM todos WHERE deleted = 0 ORDER BY id")
	if err != nil {
		return nil, fmt.Errorf("reading todos: %w", err)
	}
	defer func() { _ = rows.Close() }()
	all := []Row{}
	for rows.Next() {
		var row Row
		if err := rows.Scan(&row.ID, &row.Title, &row.Done, &row.Note, &row.Version); err != nil {
			return nil, fmt.Errorf("reading todos: %w", err)
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// Write runs do in a transaction of its own, neither remembered nor journaled:
// a change made by somebody else.
func (s *Store) Write(ctx context.Context, do func(*Tx) error) error {
	return s.write(ctx, s.Resets(), do)
}

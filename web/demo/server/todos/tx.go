package todos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Tx is one write transaction. It is valid only inside the function it is
// given to.
type Tx struct {
	ctx     context.Context
	tx      *sql.Tx
	changed bool
}

// Get returns the live row with this id, and whether there is one.
func (t *Tx) Get(id string) (Row, bool, error) {
	row := Row{ID: id}
	err := t.tx.QueryRowContext(t.ctx,
		"SELECT title, done, note, version FROM todos WHERE id = ? AND deleted = 0", id).
		Scan(&row.Title, &row.Done, &row.Note, &row.Version)
	if errors.Is(err, sql.ErrNoRows) {
		return Row{}, false, nil
	}
	if err != nil {
		return Row{}, false, fmt.Errorf("reading todo %q: %w", id, err)
	}
	return row, true, nil
}

// Put stores row under the next change number and its version plus one, and
// returns it so. A row that is not there yet, or only as a tombstone, is given
// with version 0.
func (t *Tx) Put(row Row) (Row, error) {
	change, err := t.next()
	if err != nil {
		return Row{}, err
	}
	row.Version++
	return row, t.exec(`INSERT OR REPLACE INTO todos (id, title, done, note, version, deleted, change)
		VALUES (?, ?, ?, ?, ?, 0, ?)`, row.ID, row.Title, row.Done, row.Note, row.Version, change)
}

// Delete turns the live row with this id into a tombstone.
func (t *Tx) Delete(id string) error {
	change, err := t.next()
	if err != nil {
		return err
	}
	return t.exec("UPDATE todos SET deleted = 1, title = '', note = '', change = ? WHERE id = ?", change, id)
}

func (t *Tx) next() (change int64, err error) {
	t.changed = true
	err = t.tx.QueryRowContext(t.ctx, "UPDATE counter SET change = change + 1 RETURNING change").Scan(&change)
	if err != nil {
		return 0, fmt.Errorf("taking a change number: %w", err)
	}
	return change, nil
}

func (t *Tx) exec(statement string, args ...any) error {
	if _, err := t.tx.ExecContext(t.ctx, statement, args...); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

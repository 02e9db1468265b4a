package outboxtest

import (
	"maps"

	"github.com/stdsync/outbox/outbox"
)

// Table is the data of a Backend where the last write wins, an insert of an
// existing row updates it, and a delete of a missing one succeeds.
type Table struct{ rows map[string]Fields }

// Apply does one Write to one row.
func (b *Table) Apply(key string, w outbox.Write) {
	if b.rows == nil {
		b.rows = map[string]Fields{}
	}
	switch w.Op {
	case outbox.OpInsert:
		b.merge(key, w.Changes)
	case outbox.OpUpdate:
		if b.rows[key] != nil {
			b.merge(key, w.Changes)
		}
	case outbox.OpDelete:
		delete(b.rows, key)
	}
}

func (b *Table) merge(key string, changes outbox.Value) {
	row := b.rows[key]
	if row == nil {
		row = Fields{}
	}
	b.rows[key] = row.Spread(changes).(Fields)
}

// Row returns a copy of one row, or nil.
func (b *Table) Row(key string) Fields { return maps.Clone(b.rows[key]) }

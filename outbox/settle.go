package outbox

import (
	"errors"
	"slices"
)

// settling writes the ends of flights.
type settling struct {
	tx   Tx
	meta *Meta
	turn *turn
}

func (s *settling) settle(landed []flight) error {
	confirmed, err := s.confirmed(landed)
	if err != nil {
		return err
	}
	for _, f := range landed {
		var err error
		switch away, ok := errors.AsType[*unreachable](f.err); {
		case f.err == nil:
			err = s.deliver(f, confirmed[f.ID])
		case ok:
			err = s.release(f, away)
		default:
			err = s.fail(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// confirmed returns what each delivered Request leaves in the Sync Replica. A
// Backend that answered with no row confirmed the optimistic one, over the row
// as it is now.
func (s *settling) confirmed(landed []flight) (map[string][]Row, error) {
	var keys []RowKey
	for _, f := range landed {
		if key, ok := f.entity(); ok && f.err == nil && len(f.result.Rows) == 0 && f.Op != OpDelete {
			keys = append(keys, key)
		}
	}
	now, err := rowValues(s.tx, keys)
	if err != nil {
		return nil, err
	}
	out := map[string][]Row{}
	for _, f := range landed {
		out[f.ID] = f.result.Rows
		if key, ok := f.entity(); ok && f.err == nil && len(f.result.Rows) == 0 {
			out[f.ID] = []Row{{RowKey: key, Value: f.optimistic(now[key])}}
		}
	}
	return out, nil
}

// optimistic returns the row as the user left it, over the confirmed one.
func (q Request) optimistic(now Value) Value {
	if q.Op == OpDelete {
		return nil
	}
	if now == nil {
		now = q.Base
	}
	return spread(now, q.Changes)
}

// deliver deletes the group and stores what the Backend confirmed.
func (s *settling) deliver(f flight, rows []Row) error {
	s.meta.Counts.move(len(f.Entries), InRequest, "")
	s.turn.leave(EventDelivered, f.Entries, nil)
	if err := s.tx.DeleteEntries(ids(f.Entries)...); err != nil {
		return err
	}
	return s.confirm(rows, f.traits)
}

// confirm stores rows that the Backend confirmed, but for those that are older
// than what is stored. A row that is gone leaves a mark where a fetch could bring
// it back.
func (s *settling) confirm(rows []Row, traits Traits) error {
	if len(rows) == 0 || traits.Sourced {
		return nil
	}
	rows, err := s.newest(rows, traits)
	if err != nil {
		return err
	}
	s.meta.Clock++
	s.turn.ring.Steps++
	var put []Row
	var gone []RowKey
	for _, row := range rows {
		row.Confirmed = s.meta.Clock
		s.turn.ring.Rows = append(s.turn.ring.Rows, row.RowKey)
		s.turn.seen.row(row)
		if row.Value == nil && !traits.Fetched {
			gone = append(gone, row.RowKey)
		} else {
			put = append(put, row)
		}
	}
	if err := s.tx.DeleteRows(gone...); err != nil {
		return err
	}
	return s.tx.PutRows(put...)
}

// newest returns the rows with those that are older than what is stored replaced
// by what is stored.
func (s *settling) newest(rows []Row, traits Traits) ([]Row, error) {
	if traits.Newer == nil {
		return rows, nil
	}
	keys := make([]RowKey, len(rows))
	for i, row := range rows {
		keys[i] = row.RowKey
	}
	stored, err := rowValues(s.tx, keys)
	rows = slices.Clone(rows)
	for i, row := range rows {
		if old := stored[row.RowKey]; row.Value != nil && old != nil && !traits.Newer(row.Value, old) {
			rows[i].Value = old
		}
	}
	return rows, err
}

// release puts the group back, pinned to its Request: it may have arrived.
func (s *settling) release(f flight, away *unreachable) error {
	entries := slices.Clone(f.Entries)
	for i := range entries {
		entries[i].Status, entries[i].Claim = Pending, nil
		entries[i].Error = failureOf(away.err)
	}
	s.meta.Counts.move(len(entries), InRequest, Pending)
	s.turn.change(EventUnreachable, entries, notArrived(entries[0].ID, away.err))
	return s.tx.PutEntries(entries...)
}

// fail marks the group failed, and whatever cannot do without it.
func (s *settling) fail(f flight) error {
	entries := slices.Clone(f.Entries)
	for i := range entries {
		entries[i].Status, entries[i].Claim = Failed, nil
		entries[i].Error = failureOf(f.err)
		if i > 0 && f.Op == OpInsert {
			entries[i].DependsOn = entries[0].ID
			entries[i].Error.Message = dependsOn(entries[0].ID)
		}
	}
	s.meta.Counts.move(len(entries), InRequest, Failed)
	s.turn.change(EventFailed, entries, ErrorOf(entries[0]))
	if err := s.tx.PutEntries(entries...); err != nil {
		return err
	}
	return s.failDependents(entries)
}

func dependsOn(id string) string { return "depends on " + id }

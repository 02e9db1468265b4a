package outbox

import "slices"

// claim marks the next group of each Queue in-request.
func (r *records) claim(tx Tx, meta *Meta, queues []string, t *turn) error {
	if len(queues) == 0 {
		return nil
	}
	pending, err := r.idle(tx, queues)
	if err != nil {
		return err
	}
	if err := failFaulty(tx, meta, queues, pending, t); err != nil {
		return err
	}
	gates, err := gatesOf(tx, pending)
	if err != nil {
		return err
	}
	for i, q := range queues {
		if err := r.claimGroup(tx, meta, q, pending[i], gates, t); err != nil {
			return err
		}
	}
	return latest(tx, t.claimed)
}

// idle returns the pending Entries of each Queue, or none for one that has a
// Request in the air. Of an action's Queue, which may be long and is flown call
// by call, it returns the next two.
func (r *records) idle(tx Tx, queues []string) ([][]Entry, error) {
	var selections []Selection
	for _, q := range queues {
		if KeyOf(q) != "" {
			selections = append(selections, Selection{Sync: r.sync, Queue: q})
			continue
		}
		selections = append(selections,
			Selection{Sync: r.sync, Queue: q, Status: InRequest, Limit: 1},
			Selection{Sync: r.sync, Queue: q, Status: Pending, Limit: 2})
	}
	found, err := tx.Select(selections...)
	if err != nil {
		return nil, err
	}
	out := make([][]Entry, len(queues))
	for i, q := range queues {
		entries := found[0]
		if KeyOf(q) == "" {
			entries = append(entries, found[1]...)
			found = found[1:]
		}
		found = found[1:]
		out[i] = pendingOf(entries)
	}
	return out, nil
}

// pendingOf returns the pending ones of a Queue's Entries, or none if one is in a
// Request.
func pendingOf(entries []Entry) (pending []Entry) {
	for _, e := range entries {
		switch e.Status {
		case InRequest:
			return nil
		case Pending:
			pending = append(pending, e)
		}
	}
	return pending
}

// failFaulty marks those failed that can never be sent, and what depends on them, so
// that they hold up nobody. A Queue that had one is left for the next turn.
func failFaulty(tx Tx, meta *Meta, queues []string, pending [][]Entry, t *turn) error {
	var faulty []Entry
	for i, entries := range pending {
		for _, e := range entries {
			fault := e.Fault()
			if fault == "" {
				continue
			}
			e.Status, e.Claim = Failed, nil
			err := &Error{Code: CodeInvalid, EntryID: e.ID, Message: "the stored write " + e.ID + " cannot be sent: " + fault + " (it was changed by somebody else; discard it)"}
			e.Error = failureOf(err)
			faulty = append(faulty, e)
			meta.Counts.move(1, Pending, Failed)
			t.change(EventFailed, []Entry{e}, err)
			t.more[queues[i]] = true
			pending[i] = nil
		}
	}
	if len(faulty) == 0 {
		return nil
	}
	if err := tx.PutEntries(faulty...); err != nil {
		return err
	}
	return (&settling{tx: tx, meta: meta, turn: t}).failDependents(faulty)
}

// claimGroup claims one Queue's next group, deleting groups that fold to
// nothing on the way.
func (r *records) claimGroup(tx Tx, meta *Meta, queue string, pending []Entry, gates map[string]bool, t *turn) error {
	gate := func(e Entry) string {
		for _, id := range e.After {
			if gates[id] {
				return id
			}
		}
		return ""
	}
	for len(pending) > 0 {
		first := pending[0]
		if id := gate(first); id != "" && first.RequestID == "" {
			t.gated[queue] = id
			return nil
		}
		entries, write := group(pending, func(e Entry) bool { return gate(e) != "" })
		if write.Op == "" {
			var err error
			if write, err = undo(tx, first); err != nil {
				return err
			}
		}
		if write.Op != "" {
			t.more[queue] = len(entries) < len(pending)
			return r.claimEntries(tx, meta, entries, write, t)
		}
		if err := tx.DeleteEntries(ids(entries)...); err != nil {
			return err
		}
		for _, e := range entries {
			delete(gates, e.ID)
		}
		meta.Counts.move(len(entries), Pending, "")
		t.leave(EventFoldedAway, entries, nil)
		pending = pending[len(entries):]
	}
	t.empty = append(t.empty, queue)
	return nil
}

// undo returns what an insert and a delete that fold to nothing come to: a
// delete, if the row is there after all because another tab inserted it too.
func undo(tx Tx, insert Entry) (Write, error) {
	collection, key, _ := entityOf(insert.Queue)
	rows, err := tx.Rows(RowKey{Sync: insert.Sync, Collection: collection, Key: key})
	if err != nil || len(rows) == 0 || rows[0].Value == nil {
		return Write{}, err
	}
	return Write{Op: OpDelete, Base: rows[0].Value}, nil
}

func (r *records) claimEntries(tx Tx, meta *Meta, entries []Entry, write Write, t *turn) error {
	entries = slices.Clone(entries)
	id := entries[0].RequestID
	if id == "" {
		id = r.newID()
	}
	for i := range entries {
		entries[i].Status = InRequest
		entries[i].Claim = &Claim{Epoch: meta.Epoch, At: r.now()}
		entries[i].RequestID = id
		entries[i].Attempt++
	}
	first := entries[0]
	t.claimed = append(t.claimed, Request{
		Write: write, ID: id, Name: first.Name, Queue: first.Queue, Key: first.Key,
		Entries: entries, Attempt: first.Attempt, EnqueuedAt: first.EnqueuedAt,
	})
	meta.Counts.move(len(entries), Pending, InRequest)
	t.change(EventClaimed, entries, nil)
	return tx.PutEntries(entries...)
}

// gatesOf returns the Entries that others wait for and that are still stored.
func gatesOf(tx Tx, found [][]Entry) (map[string]bool, error) {
	var after []string
	for _, entries := range found {
		for _, e := range entries {
			after = append(after, e.After...)
		}
	}
	if len(after) == 0 {
		return nil, nil
	}
	entries, err := tx.Entries(after...)
	gates := make(map[string]bool, len(entries))
	for _, e := range entries {
		gates[e.ID] = true
	}
	return gates, err
}

// latest reads the confirmed rows that Requests are about to change.
func latest(tx Tx, requests []Request) error {
	keys := make([]RowKey, 0, len(requests))
	for _, q := range requests {
		if key, ok := q.entity(); ok && q.Op != OpInsert {
			keys = append(keys, key)
		}
	}
	rows, err := rowValues(tx, keys)
	for i := range requests {
		if key, ok := requests[i].entity(); ok {
			requests[i].Latest = rows[key]
		}
	}
	return err
}

// entity returns the record a Request changes, if it is not an action's.
func (q Request) entity() (RowKey, bool) {
	collection, ok := CollectionOf(q.Name)
	return RowKey{Sync: q.Entries[0].Sync, Collection: collection, Key: q.Key}, ok
}

func rowValues(tx Tx, keys []RowKey) (map[RowKey]Value, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	rows, err := tx.Rows(keys...)
	values := make(map[RowKey]Value, len(rows))
	for _, row := range rows {
		values[row.RowKey] = row.Value
	}
	return values, err
}

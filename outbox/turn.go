package outbox

import (
	"context"
	"errors"
	"slices"
	"time"
)

// flight is a Request and how it ended.
type flight struct {
	Request
	result Result
	err    error
	traits Traits
}

// turn is what one transaction of the Drainer did.
type turn struct {
	// claimed are the Requests to fly now.
	claimed []Request
	// more holds the claimed Queues that have further pending Entries.
	more map[string]bool
	// empty and gated are the asked Queues that gave no Request: nothing is
	// pending, or their head waits for the Entry given. A Queue that another
	// round has in a Request counts as empty.
	empty  []string
	gated  map[string]string
	paused bool
	// seen is what the turn knows of the store, having written it.
	seen   sight
	ring   Ring
	events []Event
}

// turn settles what has landed and claims the next group of each of the given
// Queues, in one transaction fenced by the epoch.
func (r *records) turn(ctx context.Context, epoch int64, landed []flight, queues []string) (turn, error) {
	var t turn
	durability := Relaxed
	if len(queues) > 0 {
		durability = Strict
	}
	err := r.update(ctx, "settle and claim", durability, func(tx Tx, meta *Meta) error {
		t = turn{more: map[string]bool{}, gated: map[string]string{}}
		if meta.Epoch != epoch {
			return errStale
		}
		s := settling{tx: tx, meta: meta, turn: &t}
		if err := s.settle(landed); err != nil {
			return err
		}
		if t.paused = meta.Paused; t.paused {
			return nil
		}
		return r.claim(tx, meta, queues, &t)
	})
	return t, err
}

// claim marks the next group of each Queue in-request.
func (r *records) claim(tx Tx, meta *Meta, queues []string, t *turn) error {
	if len(queues) == 0 {
		return nil
	}
	pending, err := r.idle(tx, queues)
	if err != nil {
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
	if len(rows) == 0 {
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
	s.turn.change(EventUnreachable, entries, away.err)
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
	s.turn.change(EventFailed, entries, f.err)
	if err := s.tx.PutEntries(entries...); err != nil {
		return err
	}
	return s.failDependents(entries)
}

// leave notes that Entries of one Queue left the Store, and why, if it was not by
// delivery.
func (t *turn) leave(what EventType, entries []Entry, why error) {
	for _, e := range entries {
		t.seen.left(e.ID, why)
	}
	t.note(what, entries, nil)
}

// change notes that Entries of one Queue changed.
func (t *turn) change(what EventType, entries []Entry, err error) {
	for _, e := range entries {
		t.seen.entry(e)
	}
	t.note(what, entries, err)
}

func (t *turn) note(what EventType, entries []Entry, err error) {
	first := entries[0]
	if marks := marks(entries); what == EventClaimed {
		t.ring.Claimed = append(t.ring.Claimed, marks...)
	} else {
		t.ring.Entries = append(t.ring.Entries, marks...)
	}
	t.events = append(t.events, Event{
		Type: what, EntryIDs: ids(entries), Queue: first.Queue, Name: first.Name, Attempt: first.Attempt, Error: err,
	})
}

func dependsOn(id string) string { return "depends on " + id }

// backoff returns how long a Queue waits after its nth flight in a row that did
// not arrive: 1 s doubling to 60 s, less up to a half by chance in [0, 1).
func backoff(n int, chance float64) time.Duration {
	d := time.Minute
	if n < 7 {
		d = min(d, time.Second<<(n-1))
	}
	return d - time.Duration(chance*float64(d)/2)
}

func marks(entries []Entry) []Mark {
	out := make([]Mark, len(entries))
	for i, e := range entries {
		out[i] = Mark{ID: e.ID, Queue: e.Queue}
	}
	return out
}

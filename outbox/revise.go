package outbox

import "context"

// discard deletes an Entry for good and fails what depends on it.
func (r *records) discard(ctx context.Context, id string) (turn, error) {
	var t turn
	err := r.update(ctx, "discard the entry", Relaxed, func(tx Tx, meta *Meta) error {
		t = turn{}
		entry, err := r.one(tx, id)
		if err != nil {
			return err
		}
		if entry.Status == InRequest {
			return &Error{Code: CodeInRequest, EntryID: id, Message: "this entry is being sent: discard it once that has ended"}
		}
		if err := unpin(tx, entry); err != nil {
			return err
		}
		meta.Counts.move(1, entry.Status, "")
		t.leave(EventDiscarded, []Entry{entry}, whyGone(id, CodeDiscarded))
		if err := tx.DeleteEntries(id); err != nil {
			return err
		}
		outcome := Outcome{ID: id, Sync: r.sync, Reason: CodeDiscarded, At: r.now().UnixMilli()}
		if err := tx.PutOutcomes(outcome); err != nil {
			return err
		}
		if err := tx.PruneOutcomes(r.sync, keptOutcomes); err != nil {
			return err
		}
		s := settling{tx: tx, meta: meta, turn: &t}
		return s.failDependents([]Entry{entry})
	})
	return t, err
}

// keptOutcomes bounds the Outcomes of a Std Sync.
const keptOutcomes = 1000

// unpin gives those that shared a Request with a discarded Entry a new one: what
// they fold to without it is not what was flown.
func unpin(tx Tx, entry Entry) error {
	if entry.RequestID == "" {
		return nil
	}
	queue, err := tx.Select(Selection{Sync: entry.Sync, Queue: entry.Queue, Status: Pending})
	if err != nil {
		return err
	}
	for _, e := range queue[0] {
		if e.RequestID == entry.RequestID && e.ID != entry.ID {
			e.RequestID = ""
			if err := tx.PutEntries(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// retry makes a failed Entry pending again under a new idempotency key, with
// everything that failed because of it, and what it failed because of.
func (r *records) retry(ctx context.Context, id string) (revived []Entry, err error) {
	err = r.update(ctx, "retry the entry", Strict, func(tx Tx, meta *Meta) error {
		revived = nil
		entry, err := r.one(tx, id)
		if err != nil {
			return err
		}
		if entry.Status != Failed {
			return &Error{Code: CodeInvalid, EntryID: id, Message: "only a failed entry can be retried; this one is " + string(entry.Status)}
		}
		family, err := r.family(tx, entry)
		if err != nil {
			return err
		}
		for _, e := range family {
			e.Status, e.Error, e.DependsOn, e.RequestID = Pending, nil, "", ""
			revived = append(revived, e)
		}
		meta.Counts.move(len(revived), Failed, Pending)
		return tx.PutEntries(revived...)
	})
	return revived, err
}

// family returns the failed Entries that stand and fall with entry.
func (r *records) family(tx Tx, entry Entry) ([]Entry, error) {
	failed, err := tx.Select(Selection{Sync: r.sync, Status: Failed})
	if err != nil {
		return nil, err
	}
	byID := map[string]Entry{}
	for _, e := range failed[0] {
		byID[e.ID] = e
	}
	root := entry
	for parent, ok := byID[root.DependsOn]; ok; parent, ok = byID[root.DependsOn] {
		root = parent
	}
	in := map[string]bool{root.ID: true}
	for grown := true; grown; {
		grown = false
		for _, e := range failed[0] {
			if !in[e.ID] && in[e.DependsOn] {
				in[e.ID], grown = true, true
			}
		}
	}
	var family []Entry
	for _, e := range failed[0] {
		if in[e.ID] {
			family = append(family, e)
		}
	}
	return family, nil
}

// one returns an Entry of this Std Sync.
func (r *records) one(tx Tx, id string) (Entry, error) {
	entries, err := tx.Entries(id)
	if err != nil {
		return Entry{}, err
	}
	if len(entries) == 0 || entries[0].Sync != r.sync {
		return Entry{}, &Error{Code: CodeInvalid, EntryID: id, Message: "there is no entry " + id + ": it was delivered, discarded or never stored"}
	}
	return entries[0], nil
}

// Discard deletes an Entry for good. It refuses one that is in a Request.
func (o *Outbox) Discard(ctx context.Context, id string) error {
	if err := o.ready(ctx); err != nil {
		return err
	}
	t, err := o.records.discard(ctx, id)
	if err == nil {
		o.changedHere(t.ring, t.events)
	}
	return err
}

// Retry makes a failed Entry pending again under a new idempotency key, together
// with those that failed with it, and returns them all.
func (o *Outbox) Retry(ctx context.Context, id string) ([]Entry, error) {
	if err := o.ready(ctx); err != nil {
		return nil, err
	}
	revived, err := o.records.retry(ctx, id)
	if err == nil {
		o.changedHere(Ring{Entries: marks(revived)}, []Event{{Type: EventRetried, EntryIDs: ids(revived), Count: len(revived)}})
	}
	return revived, err
}

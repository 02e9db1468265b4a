package outbox

import "context"

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

func marks(entries []Entry) []Mark {
	out := make([]Mark, len(entries))
	for i, e := range entries {
		out[i] = Mark{ID: e.ID, Queue: e.Queue}
	}
	return out
}

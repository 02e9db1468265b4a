package outbox

import (
	"context"
	"slices"
	"sync"
)

// enqueuer stores batches in the order in which they were handed over. Those that
// gather while a transaction runs share the next one.
type enqueuer struct {
	mu      sync.Mutex
	waiting []batch
	closed  error
	wake    chan struct{}
}

// batch is what one task wrote.
type batch struct {
	drafts []Draft
	// generation is the session it was written in; "" before there was one.
	generation string
	// stored is told, once, which drafts are not stored.
	stored func([]error)
}

func newEnqueuer() *enqueuer { return &enqueuer{wake: make(chan struct{}, 1)} }

// add takes a batch, or returns why it does not. It does not block.
func (q *enqueuer) add(b batch) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed != nil {
		return q.closed
	}
	q.waiting = append(q.waiting, b)
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil
}

// take returns what waits. After close it returns the last of it.
func (q *enqueuer) take() []batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	batches := q.waiting
	q.waiting = nil
	return batches
}

// close refuses what comes from now on.
func (q *enqueuer) close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = err
}

// run stores batches with store until ctx ends, and then what was handed over
// before.
func (q *enqueuer) run(ctx context.Context, why func() error, store func([]batch)) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-q.wake:
			store(q.take())
		}
	}
	q.close(why())
	store(q.take())
}

// Enqueue has writes stored, in one transaction and after all that were handed
// over before, and calls stored with an error for each that is not. The others are
// on disk, and OnNews tells when their transactions are settled. It does not block.
func (o *Outbox) Enqueue(drafts []Draft, stored func([]error)) {
	byTransaction := map[string][]Mark{}
	for _, d := range drafts {
		byTransaction[d.Transaction] = append(byTransaction[d.Transaction], Mark{ID: d.ID, Queue: d.Queue})
	}
	for _, d := range drafts {
		if marks := byTransaction[d.Transaction]; marks != nil {
			o.waiters.watch(d.Transaction, marks, true)
			delete(byTransaction, d.Transaction)
		}
	}
	b := batch{drafts: drafts, generation: o.records.session.current(), stored: stored}
	if err := o.enqueuer.add(b); err != nil {
		o.refuse(b, err)
	}
}

// refuse says that nothing of a batch is stored.
func (o *Outbox) refuse(b batch, err error) {
	errs := make([]error, len(b.drafts))
	for i, d := range b.drafts {
		errs[i] = err
		o.waiters.drop(d.Transaction)
	}
	b.stored(errs)
}

// store stores batches in one transaction, or each in its own if that fails.
func (o *Outbox) store(batches []batch) {
	if len(batches) == 0 {
		return
	}
	generation := o.records.session.current()
	var drafts []Draft
	for i, b := range batches {
		if b.generation != "" && b.generation != generation {
			// Its promises have been rejected: it must not be sent after all.
			o.refuse(b, errGeneration())
			o.store(slices.Delete(slices.Clone(batches), i, i+1))
			return
		}
		drafts = append(drafts, b.drafts...)
	}
	entries, errs, err := o.records.enqueue(context.Background(), generation, drafts)
	if CodeOf(err) == CodeReset {
		o.observer.look(Ring{All: true})
	}
	if err != nil && len(batches) > 1 {
		for _, b := range batches {
			o.store([]batch{b})
		}
		return
	}
	if len(entries) > 0 {
		o.status.enqueued(entries[0].EnqueuedAt)
	}
	var again []Mark
	for i, d := range drafts {
		if errs[i] != nil {
			o.waiters.drop(d.Transaction)
		} else {
			again = append(again, o.waiters.stored(d.Transaction)...)
		}
	}
	for _, b := range batches {
		n := len(b.drafts)
		b.stored(errs[:n:n])
		errs = errs[n:]
	}
	if len(again) > 0 {
		o.observer.look(Ring{Entries: again})
	}
	if len(entries) > 0 {
		o.changedHere(Ring{Entries: marks(entries)}, []Event{{Type: EventEnqueued, EntryIDs: ids(entries), Count: len(entries)}})
	}
}

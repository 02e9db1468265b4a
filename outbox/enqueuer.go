package outbox

import (
	"context"
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

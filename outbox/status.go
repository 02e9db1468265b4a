package outbox

import (
	"context"
	"sync"
	"time"
)

// Status is what a person would want to know of the Outbox.
type Status struct {
	Pending, InRequest, Failed int
	// OldestAt is when the oldest unsent Entry was enqueued; zero without one.
	OldestAt time.Time
	// Leader: this tab drains.
	Leader bool
	Online bool
	// WaitingFor says why nothing moves: "online", "handler:<name>", "backoff",
	// "paused", or "".
	WaitingFor string
}

// statusBoard keeps a Status that is read without waiting. It counts in the
// Store only while somebody asks, and no more often than it has to.
type statusBoard struct {
	outbox *Outbox

	mu        sync.Mutex
	last      Status
	asked     bool
	listeners map[int]func(Status)
	nextID    int
	wake      chan struct{}
}

// statusEvery is the least time between two counts.
const statusEvery = 50 * time.Millisecond

func newStatusBoard(o *Outbox) *statusBoard {
	return &statusBoard{outbox: o, listeners: map[int]func(Status){}, wake: make(chan struct{}, 1)}
}

// Status returns what was last counted.
func (o *Outbox) Status() Status {
	b := o.status
	b.mu.Lock()
	first := !b.asked
	b.asked = true
	s := b.last
	b.mu.Unlock()
	if first {
		b.stale()
	}
	return o.outside(s)
}

// Subscribe calls listener with the Status now and whenever it has changed,
// until stop is called. listener must not block.
func (o *Outbox) Subscribe(listener func(Status)) (stop func()) {
	b := o.status
	b.mu.Lock()
	id := b.nextID
	b.nextID++
	b.listeners[id] = listener
	b.asked = true
	b.mu.Unlock()
	b.stale()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, id)
	}
}

// outside adds what is known without the Store.
func (o *Outbox) outside(s Status) Status {
	s.Leader = o.leading.Load()
	s.Online = o.cfg.Connectivity.IsOnline()
	if !s.Online && s.Pending+s.InRequest > 0 {
		s.WaitingFor = "online"
	}
	return s
}

// stale says that the Status may have changed.
func (b *statusBoard) stale() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *statusBoard) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.wake:
		}
		if b.wanted() {
			b.refresh(ctx)
			if !pause(ctx, statusEvery) {
				return
			}
		}
	}
}

func (b *statusBoard) wanted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

func (b *statusBoard) refresh(ctx context.Context) {
	s, err := b.count(ctx)
	if err != nil {
		return // told by whoever needs the Store; the next change counts again
	}
	s = b.outbox.outside(s)
	b.mu.Lock()
	changed := s != b.last
	b.last = s
	listeners := make([]func(Status), 0, len(b.listeners))
	for _, l := range b.listeners {
		listeners = append(listeners, l)
	}
	b.mu.Unlock()
	if !changed {
		return
	}
	for _, listener := range listeners {
		listener(s)
	}
}

func (b *statusBoard) count(ctx context.Context) (Status, error) {
	var s Status
	err := b.outbox.cfg.Store.View(ctx, func(tx Tx) error {
		s = Status{}
		meta, err := tx.Meta(b.outbox.cfg.Sync)
		if err != nil {
			return err
		}
		for status, into := range map[EntryStatus]*int{Pending: &s.Pending, InRequest: &s.InRequest, Failed: &s.Failed} {
			if *into, err = tx.Count(meta.Sync, status); err != nil {
				return err
			}
		}
		for _, status := range []EntryStatus{Pending, InRequest} {
			oldest, err := tx.Oldest(meta.Sync, status)
			if err != nil {
				return err
			}
			for _, e := range oldest {
				if s.OldestAt.IsZero() || e.EnqueuedAt.Before(s.OldestAt) {
					s.OldestAt = e.EnqueuedAt
				}
			}
		}
		s.WaitingFor = b.why(meta, s)
		return nil
	})
	return s, err
}

func (b *statusBoard) why(meta Meta, s Status) string {
	if s.Pending == 0 {
		return ""
	}
	if meta.Paused {
		return "paused"
	}
	if why := b.outbox.drainer.why.Load(); why != nil {
		return *why
	}
	return ""
}

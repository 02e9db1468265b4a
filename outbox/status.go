package outbox

import (
	"context"
	"sync"
	"sync/atomic"
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
	// WaitingFor says why nothing moves: "online", "leader", "handler:<name>",
	// "backoff", "paused", or "".
	WaitingFor string
}

// statusBoard keeps a Status that is read without waiting.
type statusBoard struct {
	outbox *Outbox

	mu sync.Mutex
	// paused is Meta.Paused as last seen.
	paused atomic.Bool
	// last is what is known, and told what the listeners know.
	last, told Status
	listeners  map[int]func(Status)
	nextID     int
	wake       chan struct{}
}

// A change is left for statusAfter to be followed by others before the Status is
// looked at, since whoever waits for the change itself goes first, and no two looks
// are closer than statusEvery. Counts are known without a look.
const (
	statusAfter = 20 * time.Millisecond
	statusEvery = 250 * time.Millisecond
)

func newStatusBoard(o *Outbox) *statusBoard {
	return &statusBoard{outbox: o, listeners: map[int]func(Status){}, wake: make(chan struct{}, 1)}
}

// Status returns how the Outbox stood a moment ago.
func (o *Outbox) Status() Status {
	o.status.mu.Lock()
	s := o.status.last
	o.status.mu.Unlock()
	return o.here(s)
}

// Subscribe calls listener whenever the Status has changed, until stop is
// called. listener must not block.
func (o *Outbox) Subscribe(listener func(Status)) (stop func()) {
	b := o.status
	b.mu.Lock()
	defer b.mu.Unlock()
	id := b.nextID
	b.nextID++
	b.listeners[id] = listener
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.listeners, id)
	}
}

// here adds what is known without the Store.
func (o *Outbox) here(s Status) Status {
	s.Leader = o.leading.Load()
	s.Online = o.cfg.Connectivity.IsOnline()
	s.WaitingFor = ""
	why := o.drainer.why.Load()
	if !s.Leader {
		why = o.vigil.why.Load()
	}
	switch {
	case s.Pending+s.InRequest == 0:
	case !s.Online:
		s.WaitingFor = "online"
	case s.Pending > 0 && o.status.paused.Load():
		s.WaitingFor = "paused"
	case !s.Leader && o.vigil.silent.Load():
		s.WaitingFor = "leader"
	case s.Pending > 0 && why != nil:
		s.WaitingFor = *why
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
		if !pause(ctx, statusAfter) {
			return
		}
		b.refresh(ctx)
		if !pause(ctx, statusEvery) {
			return
		}
	}
}

// know takes over the counts of a Meta that was read or written, so that a Status
// is never behind a promise.
func (b *statusBoard) know(meta Meta) {
	b.mu.Lock()
	b.last.Pending, b.last.InRequest, b.last.Failed = meta.Counts.Pending, meta.Counts.InRequest, meta.Counts.Failed
	if b.last.Pending+b.last.InRequest == 0 {
		b.last.OldestAt = time.Time{}
	}
	b.mu.Unlock()
	b.paused.Store(meta.Paused)
	b.stale()
}

// enqueued notes that something waits since then, if not for longer.
func (b *statusBoard) enqueued(at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last.OldestAt.IsZero() && b.last.Pending+b.last.InRequest > 0 {
		b.last.OldestAt = at
	}
}

func (b *statusBoard) refresh(ctx context.Context) {
	s, err := b.look(ctx)
	if err != nil {
		return // told by whoever needs the Store; the next change looks again
	}
	s = b.outbox.here(s)
	b.mu.Lock()
	changed := s != b.told
	b.last, b.told = s, s
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

func (b *statusBoard) look(ctx context.Context) (s Status, err error) {
	err = b.outbox.cfg.Store.View(ctx, func(tx Tx) error {
		meta, err := tx.Meta(b.outbox.cfg.Sync)
		if err != nil {
			return err
		}
		b.paused.Store(meta.Paused)
		s = Status{Pending: meta.Counts.Pending, InRequest: meta.Counts.InRequest, Failed: meta.Counts.Failed}
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
		return nil
	})
	return s, err
}

package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/stdsync/outbox/outbox"
)

// Lock joins Leaderships, as a Web Lock's name does: first come, first served.
// Its zero value is free.
type Lock struct {
	mu     sync.Mutex
	holder *holder
	queue  []chan struct{}
}

type holder struct{ steal context.CancelFunc }

var _ outbox.Leadership = (*Lock)(nil)

// Lead waits for the lock and runs term while it is held.
func (l *Lock) Lead(ctx context.Context, term func(context.Context) error) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	me := &holder{steal: cancel}
	l.mu.Lock()
	l.holder = me
	l.mu.Unlock()
	defer l.release(me)
	if err := ctx.Err(); err != nil {
		return err
	}
	return term(held)
}

// wait returns when the lock is this caller's to take.
func (l *Lock) wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	if l.holder == nil && len(l.queue) == 0 {
		l.holder = &holder{}
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	l.queue = append(l.queue, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		l.mu.Lock()
		defer l.mu.Unlock()
		if i := slices.Index(l.queue, turn); i >= 0 {
			l.queue = slices.Delete(l.queue, i, i+1)
		} else {
			l.next()
		}
		return ctx.Err()
	}
}

// release frees the lock, unless it was stolen from me.
func (l *Lock) release(me *holder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder == me {
		l.next()
	}
}

// next hands the lock to whoever waits longest.
func (l *Lock) next() {
	l.holder = nil
	if len(l.queue) > 0 {
		l.holder = &holder{}
		close(l.queue[0])
		l.queue = l.queue[1:]
	}
}

// Steal takes the lock from its holder, whose term's context ends, and gives it
// to the first who waits.
func (l *Lock) Steal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.holder != nil && l.holder.steal != nil {
		l.holder.steal()
		l.next()
	}
}

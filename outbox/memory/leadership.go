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
	queue  []*holder
}

// holder has, or waits for, the lock.
type holder struct {
	// turn is closed when the lock is its own.
	turn chan struct{}
	// lose ends its term, once there is one, and lost says that the lock is its own no
	// longer. Both are the Lock's to guard.
	lose context.CancelFunc
	lost bool
}

func newHolder() *holder { return &holder{turn: make(chan struct{}), lose: func() {}} }

var _ outbox.Leadership = (*Lock)(nil)

// Lead waits for the lock and runs term while it is held.
func (l *Lock) Lead(ctx context.Context, term func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	me := newHolder()
	l.mu.Lock()
	l.queue = append(l.queue, me)
	if l.holder == nil {
		l.next()
	}
	l.mu.Unlock()
	defer l.leave(me)
	select {
	case <-me.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	return l.run(ctx, me, term)
}

// Steal takes the lock from its holder, if it has one, and runs term while it is
// held.
func (l *Lock) Steal(ctx context.Context, term func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	me := newHolder()
	l.mu.Lock()
	l.rob()
	l.holder = me
	l.mu.Unlock()
	defer l.leave(me)
	return l.run(ctx, me, term)
}

// Break takes the lock from its holder and gives it to the first who waits.
func (l *Lock) Break() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rob()
	l.next()
}

// run runs a term that ends when the lock is stolen.
func (l *Lock) run(ctx context.Context, me *holder, term func(context.Context) error) error {
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	l.mu.Lock()
	me.lose = cancel
	if me.lost {
		cancel()
	}
	l.mu.Unlock()
	if err := held.Err(); err != nil {
		return err
	}
	return term(held)
}

// rob takes the lock from its holder, whose term ends.
func (l *Lock) rob() {
	if l.holder != nil {
		l.holder.lost = true
		l.holder.lose()
		l.holder = nil
	}
}

// leave gives the lock back, or the place in the queue.
func (l *Lock) leave(me *holder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.DeleteFunc(l.queue, func(one *holder) bool { return one == me })
	if l.holder == me {
		l.next()
	}
}

// next hands the lock to whoever waits longest.
func (l *Lock) next() {
	l.holder = nil
	if len(l.queue) > 0 {
		l.holder, l.queue = l.queue[0], l.queue[1:]
		close(l.holder.turn)
	}
}

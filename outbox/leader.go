package outbox

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// lead drains whenever this tab holds the lock.
func (o *Outbox) lead(ctx context.Context) {
	select {
	case <-o.gate:
	case <-ctx.Done():
		return
	}
	misses := 0
	for ctx.Err() == nil {
		err := o.stand(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case isContext(err):
			// Reset or robbed: stand in line again. Who was robbed has been away, and may
			// have heard nothing.
			o.Suspect()
			misses = 0
			continue
		case err == nil || errors.Is(err, errStale) || CodeOf(err) == CodeReset:
			misses = 1
		default:
			misses++
			o.storageFailed(err)
		}
		pause(ctx, backoff(misses, 0))
	}
}

// stand waits for the lock and drains, or takes the lock when the vigil finds that
// nobody answers for it.
func (o *Outbox) stand(ctx context.Context) error {
	waiting, leave := context.WithCancel(ctx)
	defer leave()
	o.vigil.leave.Store(&leave)
	err := o.cfg.Leadership.Lead(waiting, o.drain)
	if waiting.Err() == nil || ctx.Err() != nil {
		return err
	}
	return o.cfg.Leadership.Steal(ctx, o.drain)
}

// drain is one term as the Drainer.
func (o *Outbox) drain(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	o.term.Store(&end)
	defer o.term.Store(nil)
	o.leading.Store(true)
	o.emit(Event{Type: EventLeader})
	defer func() {
		o.leading.Store(false)
		o.emit(Event{Type: EventFollower})
		o.status.stale()
	}()
	return o.drainer.drain(ctx)
}

// A tab that hangs, is frozen, or whose module is stuck keeps its lock. Whoever
// waits for it asks after so long, and gives it so long to answer.
const (
	patience     = 8 * time.Second
	answerWithin = 5 * time.Second
)

// vigil is a follower's watch over the leader.
type vigil struct {
	// deaf: there is no doorbell, and no answer would be heard.
	deaf bool
	// lives receives the leader's answer, and now a wish to ask at once.
	lives, now chan struct{}
	// silent: the leader has been asked and has not answered yet.
	silent atomic.Bool
	// why is what the leader was last heard to wait for.
	why atomic.Pointer[string]
	// leave ends the wait for the lock.
	leave atomic.Pointer[context.CancelFunc]
}

func newVigil(deaf bool) vigil {
	return vigil{deaf: deaf, lives: make(chan struct{}, 1), now: make(chan struct{}, 1)}
}

// answered notes that the leader lives, and what it waits for.
func (v *vigil) answered(why string) {
	v.why.Store(&why)
	nudge(v.lives)
}

// hurry asks now.
func (v *vigil) hurry() { nudge(v.now) }

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// keepVigil has this tab take the lock when something waits and no leader answers.
func (o *Outbox) keepVigil(ctx context.Context) {
	for !o.vigil.deaf {
		if !wait(ctx, patience, o.vigil.now) {
			return
		}
		if o.wantsLeader() && !o.leaderAnswers(ctx) && o.wantsLeader() {
			(*o.vigil.leave.Load())()
		}
		o.vigil.silent.Store(false)
	}
}

// wantsLeader reports whether this tab, which somebody sees, waits for another to
// send.
func (o *Outbox) wantsLeader() bool {
	s := o.Status()
	return s.Pending+s.InRequest > 0 && s.Online && !s.Leader && !o.status.paused.Load() &&
		o.cfg.Visibility.IsVisible() && o.vigil.leave.Load() != nil
}

// leaderAnswers asks the leader whether it lives. A tab that was itself asleep when
// the answer came, and so waited for much longer than it meant to, asks once more.
func (o *Outbox) leaderAnswers(ctx context.Context) bool {
	o.vigil.silent.Store(true)
	o.status.stale()
	for asked := time.Now(); ; asked = time.Now() {
		select {
		case <-o.vigil.lives:
		default:
		}
		o.cfg.Doorbell.Ring(Ring{Ask: true})
		timer := time.NewTimer(answerWithin)
		select {
		case <-ctx.Done():
			timer.Stop()
			return true
		case <-o.vigil.lives:
			timer.Stop()
			return true
		case <-timer.C:
			if time.Since(asked) < answerWithin+time.Second {
				return false
			}
		}
	}
}

// wait waits so long, or until it is told not to; it returns false if ctx ended
// first.
func wait(ctx context.Context, d time.Duration, enough <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-enough:
	}
	return true
}

// pause waits, and returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool { return wait(ctx, d, nil) }

// mute is the Doorbell of a tab that has none.
type mute struct{}

func (mute) Ring(Ring)                       {}
func (mute) Listen(func(Ring)) (stop func()) { return func() {} }

package outbox

import (
	"context"
	"sync"
)

// Pause stops flights in every tab, until Resume.
func (o *Outbox) Pause(ctx context.Context) error { return o.setPaused(ctx, true, EventPaused) }

// Resume lets flights go on in every tab.
func (o *Outbox) Resume(ctx context.Context) error { return o.setPaused(ctx, false, EventResumed) }

func (o *Outbox) setPaused(ctx context.Context, paused bool, event EventType) error {
	err := o.ready(ctx)
	if err == nil {
		err = o.records.setPaused(ctx, paused)
	}
	if err == nil {
		o.changedHere(Ring{All: true}, []Event{{Type: event}})
	}
	return err
}

// Drain asks the leader, whichever tab that is, to try now, whatever the backoff.
func (o *Outbox) Drain() {
	if o.leading.Load() {
		o.drainer.rush()
		return
	}
	o.cfg.Doorbell.Ring(Ring{Drain: true})
}

// View has OnNews tell of all Entries, and of every change to them, until stop
// is called.
func (o *Outbox) View() (stop func()) {
	o.observer.view(true)
	return sync.OnceFunc(func() { o.observer.view(false) })
}

// Leads reports whether this tab drains.
func (o *Outbox) Leads() bool { return o.leading.Load() }

// Suspect looks at everything, as the slow poll does: the store may not be what it
// was, because its connection was closed from outside.
func (o *Outbox) Suspect() {
	o.heard(Ring{All: true})
}

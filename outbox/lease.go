package outbox

import (
	"context"
	"time"
)

// Lease is a Leadership that is kept in the Store, for a browser without Web
// Locks. Its holder renews it; one that is not renewed is anybody's. Two tabs may
// hold it for a moment, when a clock jumps or a holder sleeps: the epoch keeps that
// harmless.
type Lease struct {
	Store Store
	Sync  string
	NewID func() string
}

var _ Leadership = (*Lease)(nil)

const (
	leaseFor   = 10 * time.Second
	leaseRenew = leaseFor / 4
)

// Held says who holds a Lease.
type Held struct {
	// By is the holder's id, or "".
	By string
	// Until is in milliseconds since the epoch.
	Until int64
}

// free reports whether the Lease may be taken. One that ends impossibly late was
// taken before the clock was put back.
func (h Held) free(now time.Time) bool {
	return h.By == "" || h.Until <= now.UnixMilli() || h.Until > now.Add(2*leaseFor).UnixMilli()
}

// Lead waits for the Lease and runs term while it is held.
func (l *Lease) Lead(ctx context.Context, term func(context.Context) error) error {
	return l.hold(ctx, term, false)
}

// Steal takes the Lease and runs term while it is held.
func (l *Lease) Steal(ctx context.Context, term func(context.Context) error) error {
	return l.hold(ctx, term, true)
}

func (l *Lease) hold(ctx context.Context, term func(context.Context) error, steal bool) error {
	me := l.NewID()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		taken, err := l.change(ctx, func(h Held) bool { return steal || h.free(time.Now()) }, l.until(me))
		if err != nil {
			return err
		}
		if taken {
			break
		}
		if !pause(ctx, leaseRenew) {
			return ctx.Err()
		}
	}
	defer func() {
		mine := func(h Held) bool { return h.By == me }
		_, _ = l.change(context.WithoutCancel(ctx), mine, func() Held { return Held{} }) // else it runs out
	}()
	held, lose := context.WithCancel(ctx)
	defer lose()
	go l.renew(held, me, lose)
	return term(held)
}

// renew keeps the Lease until ctx ends, or loses it.
func (l *Lease) renew(ctx context.Context, me string, lose func()) {
	defer lose()
	for pause(ctx, leaseRenew) {
		if kept, err := l.change(ctx, func(h Held) bool { return h.By == me }, l.until(me)); err != nil || !kept {
			return
		}
	}
}

func (l *Lease) until(by string) func() Held {
	return func() Held { return Held{By: by, Until: time.Now().Add(leaseFor).UnixMilli()} }
}

// change stores what the Lease becomes, if it may be changed, and reports whether
// it did. A Store that was just deleted has no Lease to take.
func (l *Lease) change(ctx context.Context, may func(Held) bool, becomes func() Held) (changed bool, err error) {
	err = l.Store.Update(ctx, Relaxed, func(tx Tx) error {
		meta, err := tx.Meta(l.Sync)
		if changed = err == nil && meta.Format != 0 && may(meta.Lease); !changed {
			return err
		}
		meta.Lease = becomes()
		return tx.PutMeta(meta)
	})
	return changed && err == nil, wrapStorage("take the lease", err)
}

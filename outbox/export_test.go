package outbox

import "context"

// Round claims for Queues as a round of that epoch's Drainer would, and returns
// how many Requests it would fly.
func (o *Outbox) Round(ctx context.Context, epoch int64, queues ...string) (int, error) {
	t, err := o.records.turn(ctx, epoch, nil, queues)
	return len(t.claimed), err
}

// ErrStale is what an old epoch's round fails with.
var ErrStale = errStale

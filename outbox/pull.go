package outbox

import (
	"context"
	"time"
)

// Pull is a read strategy of a Collection whose Handler is registered: it fetches
// what has changed since a cursor, again and again, in one tab at a time.
type Pull struct {
	Collection string
	// Scope names the cursor, so that one Collection may have several.
	Scope string
	// Every is how long to wait between fetches, and at least as long as a backoff
	// when the last one failed. It must be positive.
	Every time.Duration
	// Leadership decides which tab fetches.
	Leadership Leadership
	// Fetch returns the page after cursor, which is nil at first.
	Fetch func(ctx context.Context, cursor Value) (Page, error)
}

// Page is one answer of a Fetch.
type Page struct {
	Rows    []Row
	Deleted []Key
	Cursor  Value
	// More: another page follows at once.
	More bool
}

// Pull fetches until ctx ends. Rows and cursor of a page are stored in one
// transaction, and OnNews tells of them in every tab.
func (o *Outbox) Pull(ctx context.Context, p Pull) error {
	if err := o.ready(ctx); err != nil {
		return err
	}
	for ctx.Err() == nil {
		err := p.Leadership.Lead(ctx, func(ctx context.Context) error { return o.pull(ctx, p) })
		if err != nil && !isContext(err) {
			o.storageFailed(err)
		}
		pause(ctx, time.Second)
	}
	return ctx.Err()
}

// pull is one tab's time as the one that fetches.
func (o *Outbox) pull(ctx context.Context, p Pull) error {
	if err := o.forgetDeleted(ctx, p.Collection); err != nil {
		return err
	}
	online := make(chan struct{}, 1)
	defer o.cfg.Connectivity.Subscribe(func() {
		select {
		case online <- struct{}{}:
		default:
		}
	})()
	misses := 0
	for {
		wait := p.Every
		if o.cfg.Connectivity.IsOnline() {
			if err := o.pullPages(ctx, p); err != nil {
				misses++
				wait = max(p.Every, backoff(misses, 0))
				o.emit(Event{Type: EventUnreachable, Name: CollectionHandler(p.Collection), Attempt: misses, Error: fetchFailed(err)})
			} else {
				misses = 0
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-online:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// fetchFailed returns what failed a fetch: the Store, or what was fetched from.
func fetchFailed(err error) error {
	if CodeOf(err) != "" {
		return err
	}
	return notArrived("", err)
}

// forgetDeleted drops the marks of deleted rows: no fetch is in the air that
// could bring such a row back.
func (o *Outbox) forgetDeleted(ctx context.Context, collection string) error {
	return o.records.update(ctx, "forget deleted rows", Relaxed, func(tx Tx, _ *Meta) error {
		rows, err := tx.Replica(o.cfg.Sync, collection)
		if err != nil {
			return err
		}
		var gone []RowKey
		for _, row := range rows {
			if row.Value == nil {
				gone = append(gone, row.RowKey)
			}
		}
		return tx.DeleteRows(gone...)
	})
}

// pullPages fetches until there is no more.
func (o *Outbox) pullPages(ctx context.Context, p Pull) error {
	for {
		more, err := o.pullPage(ctx, p)
		if err != nil || !more {
			return err
		}
	}
}

func (o *Outbox) pullPage(ctx context.Context, p Pull) (more bool, err error) {
	key := StateKey{Sync: o.cfg.Sync, Collection: p.Collection, Scope: p.Scope}
	var start State
	var clock int64
	generation := o.records.session.current()
	err = o.cfg.Store.View(ctx, func(tx Tx) error {
		meta, err := o.records.joined(tx)
		if err != nil {
			return err
		}
		clock = meta.Clock
		start, err = tx.State(key)
		return err
	})
	if err != nil {
		return false, wrapStorage("read the cursor", err)
	}
	page, err := p.Fetch(ctx, start.Cursor)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return false, err
	}
	if generation != o.records.session.current() {
		return true, nil // a reset has come between: begin anew
	}
	ring, again, err := o.storePage(ctx, p, page, start, clock)
	if err != nil {
		return false, err
	}
	o.changed(ring, nil)
	return page.More || again, nil
}

// storePage stores what a fetch returned that started from a cursor, when the
// clock stood so. A row that the Backend confirmed since is newer than the page.
// It returns whether such a row was skipped.
func (o *Outbox) storePage(ctx context.Context, p Pull, page Page, start State, clock int64) (ring Ring, skipped bool, err error) {
	handler, _ := o.handlers.lookup(CollectionHandler(p.Collection))
	err = o.records.update(ctx, "store the fetched rows", Relaxed, func(tx Tx, meta *Meta) error {
		ring = Ring{}
		now, err := tx.State(start.StateKey)
		if err != nil || now.Revision != start.Revision {
			return err
		}
		keys := make([]RowKey, 0, len(page.Rows)+len(page.Deleted))
		for _, row := range page.Rows {
			keys = append(keys, row.RowKey)
		}
		for _, key := range page.Deleted {
			keys = append(keys, RowKey{Sync: o.cfg.Sync, Collection: p.Collection, Key: key})
		}
		stored, err := tx.Rows(keys...)
		if err != nil {
			return err
		}
		byKey := make(map[RowKey]Row, len(stored))
		for _, row := range stored {
			byKey[row.RowKey] = row
		}
		// Where a version tells which row is newer, it alone decides. Otherwise what
		// was confirmed since the fetch began stays, and the page is fetched again:
		// it may have held what came after.
		skipped = false
		stays := func(key RowKey, incoming Value) bool {
			row, ok := byKey[key]
			if ok && incoming != nil && row.Value != nil && handler.Newer != nil {
				return !handler.Newer(incoming, row.Value)
			}
			since := ok && row.Confirmed > clock
			skipped = skipped || since
			return since
		}
		var put []Row
		for _, row := range page.Rows {
			if !stays(row.RowKey, row.Value) {
				put = append(put, row)
				ring.Rows = append(ring.Rows, row.RowKey)
			}
		}
		var gone []RowKey
		for _, key := range keys[len(page.Rows):] {
			if !stays(key, nil) {
				gone = append(gone, key)
				ring.Rows = append(ring.Rows, key)
			}
		}
		if len(ring.Rows) > 0 {
			meta.Clock++
			ring.Steps++
		}
		if !skipped {
			now.Cursor = page.Cursor
		}
		now.Revision++
		if err := tx.PutState(now); err != nil {
			return err
		}
		if err := tx.PutRows(put...); err != nil {
			return err
		}
		return tx.DeleteRows(gone...)
	})
	return ring, skipped, err
}

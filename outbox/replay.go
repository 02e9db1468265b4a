package outbox

import "context"

// Replay returns a Collection's confirmed rows and its Entries that are not
// failed, in order. Watch waits for the Entries.
func (o *Outbox) Replay(ctx context.Context, collection string) (rows []Row, entries []Entry, err error) {
	if err := o.ready(ctx); err != nil {
		return nil, nil, err
	}
	err = o.cfg.Store.View(ctx, func(tx Tx) error {
		if rows, err = tx.Replica(o.cfg.Sync, collection); err != nil {
			return err
		}
		entries, err = unsent(tx, o.cfg.Sync, CollectionHandler(collection))
		return err
	})
	if err != nil {
		return nil, nil, wrapStorage("replay "+collection, err)
	}
	return rows, entries, nil
}

// Unsent returns a Handler's Entries that are not failed, in order.
func (o *Outbox) Unsent(ctx context.Context, handler string) (entries []Entry, err error) {
	if err := o.ready(ctx); err != nil {
		return nil, err
	}
	err = o.cfg.Store.View(ctx, func(tx Tx) error {
		entries, err = unsent(tx, o.cfg.Sync, handler)
		return err
	})
	return entries, wrapStorage("replay "+handler, err)
}

// unsent returns a Handler's Entries that are to be sent.
func unsent(tx Tx, sync, handler string) (entries []Entry, err error) {
	found, err := tx.Select(Selection{Sync: sync, Handler: handler})
	if err != nil {
		return nil, err
	}
	for _, e := range found[0] {
		if e.Status != Failed && e.Fault() == "" {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// Replica returns a Collection's confirmed rows; one without a Value is gone.
func (o *Outbox) Replica(ctx context.Context, collection string) (rows []Row, err error) {
	if err := o.ready(ctx); err != nil {
		return nil, err
	}
	err = o.cfg.Store.View(ctx, func(tx Tx) error {
		rows, err = tx.Replica(o.cfg.Sync, collection)
		return err
	})
	return rows, wrapStorage("read "+collection, err)
}

// Confirm stores rows that the Backend confirmed to a write which did not go
// through the Outbox.
func (o *Outbox) Confirm(ctx context.Context, rows []Row, traits Traits) error {
	if err := o.ready(ctx); err != nil {
		return err
	}
	var t turn
	err := o.records.update(ctx, "store confirmed rows", Relaxed, func(tx Tx, meta *Meta) error {
		t = turn{}
		s := settling{tx: tx, meta: meta, turn: &t}
		return s.confirm(rows, traits)
	})
	if err == nil {
		o.changed(t.ring, nil)
	}
	return err
}

// Watch waits for the transactions of stored Entries: OnNews tells when they are
// settled, at once if they are gone already.
func (o *Outbox) Watch(entries []Entry) {
	for i, e := range entries {
		o.waiters.watch(e.Transaction, marks(entries[i:i+1]), false)
	}
	if len(entries) > 0 {
		o.observer.look(Ring{Entries: marks(entries)})
	}
}

package outbox

import (
	"context"
	"time"
)

// records are the stored Entries of one Std Sync, and every transition they can
// make. Each method is one transaction, so a tab may die between any two of
// them.
type records struct {
	store Store
	sync  string
	// generation is the session's; see Meta.Generation.
	generation string
	newID      func() string
	now        func() time.Time
}

// update runs fn in a transaction of this session.
func (r *records) update(ctx context.Context, doing string, durability Durability, fn func(Tx, *Meta) error) error {
	return wrapStorage(doing, r.store.Update(ctx, durability, func(tx Tx) error {
		meta, err := r.session(tx)
		if err != nil {
			return err
		}
		before := meta
		if err := fn(tx, &meta); err != nil {
			return err
		}
		if meta != before {
			return tx.PutMeta(meta)
		}
		return nil
	}))
}

// session returns the Meta, if it still is that of this session.
func (r *records) session(tx Tx) (Meta, error) {
	meta, err := tx.Meta(r.sync)
	if err == nil && meta.Generation != r.generation {
		err = errGeneration()
	}
	return meta, err
}

// open joins or begins the stored session. It fails for records of a format
// that this code does not know.
func (r *records) open(ctx context.Context, version int) (meta Meta, err error) {
	err = r.store.Update(ctx, Strict, func(tx Tx) error {
		if meta, err = tx.Meta(r.sync); err != nil {
			return err
		}
		switch {
		case meta.Format > Format:
			return Errorf(CodeSuperseded, "a newer outbox.wasm wrote this store (format %d, known here: %d): reload the page to get it", meta.Format, Format)
		case meta.Format == 0:
			meta = Meta{Sync: r.sync, Format: Format, Version: version, Generation: r.newID()}
			if err := tx.PutMeta(meta); err != nil {
				return err
			}
		}
		r.generation = meta.Generation
		return nil
	})
	return meta, wrapStorage("open the outbox", err)
}

// enqueue stores drafts in one transaction and returns the stored Entries with
// an error for each that could not be.
func (r *records) enqueue(ctx context.Context, drafts []Draft) ([]Entry, []error, error) {
	entries := make([]Entry, len(drafts))
	errs := make([]error, len(drafts))
	err := r.update(ctx, "store the writes", Strict, func(tx Tx, meta *Meta) error {
		now := r.now()
		for i, d := range drafts {
			meta.Seq++
			entries[i] = Entry{
				ID: d.ID, Sync: r.sync, Queue: d.Queue, Name: d.Name, Status: Pending,
				Seq: meta.Seq, EnqueuedAt: now, Transaction: d.Transaction,
				Op: d.Op, Key: KeyOf(d.Queue), Base: d.Base, Changes: d.Changes, Payload: d.Payload,
				After: d.After,
			}
		}
		refused, err := tx.AddEntries(entries...)
		if err != nil || len(refused) == 0 {
			return err
		}
		return tx.DeleteEntries(spoilt(entries, refused, errs)...)
	})
	if err != nil {
		return nil, nil, err
	}
	return entries, errs, nil
}

// spoilt fills errs for every Entry of a transaction that has a refused one,
// and returns those of them that were stored.
func spoilt(entries []Entry, refused map[int]error, errs []error) (stored []string) {
	why := map[string]error{}
	for i, e := range entries {
		if err := refused[i]; err != nil && why[e.Transaction] == nil {
			why[e.Transaction] = err
		}
	}
	for i, e := range entries {
		errs[i] = why[e.Transaction]
		if errs[i] != nil && refused[i] == nil {
			stored = append(stored, e.ID)
		}
	}
	return stored
}

// begin starts a Drainer's term: it takes the next epoch and puts back whatever
// an earlier Drainer had in a Request.
func (r *records) begin(ctx context.Context) (epoch int64, heads []Head, err error) {
	err = r.update(ctx, "start draining", Strict, func(tx Tx, meta *Meta) error {
		meta.Epoch++
		epoch = meta.Epoch
		flying, err := tx.Select(Selection{Sync: r.sync, Status: InRequest})
		if err != nil {
			return err
		}
		for i := range flying[0] {
			flying[0][i].Status, flying[0][i].Claim = Pending, nil
		}
		if err := tx.PutEntries(flying[0]...); err != nil {
			return err
		}
		heads, err = tx.Heads(r.sync)
		return err
	})
	return epoch, heads, err
}

// heads lists the Queues that have something pending.
func (r *records) heads(ctx context.Context) (heads []Head, err error) {
	err = r.store.View(ctx, func(tx Tx) error {
		heads, err = tx.Heads(r.sync)
		return err
	})
	return heads, wrapStorage("list the queues", err)
}

// setPaused stops or starts flights in every tab.
func (r *records) setPaused(ctx context.Context, paused bool) error {
	return r.update(ctx, "pause or resume", Relaxed, func(_ Tx, meta *Meta) error {
		meta.Paused = paused
		return nil
	})
}

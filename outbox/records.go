package outbox

import (
	"context"
	"errors"
	"slices"
	"time"
)

// records are the stored Entries of one Std Sync, and every transition they can
// make. Each method is one transaction, so a tab may die between any two of
// them.
type records struct {
	store   Store
	sync    string
	session session
	newID   func() string
	// known is told the Meta of this session whenever it has been read or written.
	known func(Meta)
	now   func() time.Time
}

// update runs fn in a transaction of this session.
func (r *records) update(ctx context.Context, doing string, durability Durability, fn func(Tx, *Meta) error) error {
	var meta Meta
	err := r.store.Update(ctx, durability, func(tx Tx) (err error) {
		if meta, err = r.joined(tx); err != nil {
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
	})
	if err != nil {
		return wrapStorage(doing, err)
	}
	r.known(meta)
	return nil
}

// joined returns the Meta, if it still is that of this session.
func (r *records) joined(tx Tx) (Meta, error) {
	meta, err := tx.Meta(r.sync)
	if err == nil && meta.Generation != r.session.current() {
		err = errGeneration()
	}
	return meta, err
}

// enqueue stores drafts in one transaction and returns the stored Entries, with
// an error under the index of each draft that is not, and what failed them all, if
// something did. An id that is stored already spoils its own transaction only.
func (r *records) enqueue(ctx context.Context, generation string, drafts []Draft) ([]Entry, []error, error) {
	errs := make([]error, len(drafts))
	stored, err := r.add(ctx, generation, drafts, errs)
	if errors.Is(err, ErrExists) {
		if err = r.refuseKnown(ctx, drafts, errs); err == nil {
			stored, err = r.add(ctx, generation, drafts, errs)
		}
	}
	if err != nil {
		stored = nil
		for i := range errs {
			errs[i] = err
		}
	}
	return stored, errs, err
}

// refuseKnown sets an error for each draft whose id is stored already.
func (r *records) refuseKnown(ctx context.Context, drafts []Draft, errs []error) error {
	wanted := make([]string, len(drafts))
	for i, d := range drafts {
		wanted[i] = d.ID
	}
	var found []Entry
	err := r.store.View(ctx, func(tx Tx) (err error) {
		found, err = tx.Entries(wanted...)
		return err
	})
	for _, e := range found {
		i := slices.Index(wanted, e.ID)
		errs[i] = &Error{Code: CodeInvalid, EntryID: e.ID, Message: "a write with the id " + e.ID + " is stored already: give every transaction its own id"}
	}
	spoil(drafts, errs)
	return wrapStorage("look for entries of the same id", err)
}

// add stores the drafts that have no error yet into the session of that
// generation, and sets an error for those that the Store refuses.
func (r *records) add(ctx context.Context, generation string, drafts []Draft, errs []error) (stored []Entry, err error) {
	err = r.update(ctx, "store the writes", Strict, func(tx Tx, meta *Meta) error {
		if meta.Generation != generation {
			return errGeneration()
		}
		now := r.now()
		var entries []Entry
		var from []int
		for i, d := range drafts {
			if errs[i] != nil {
				continue
			}
			meta.Seq++
			from = append(from, i)
			entries = append(entries, Entry{
				ID: d.ID, Sync: r.sync, Queue: d.Queue, Name: d.Name, Status: Pending,
				Seq: meta.Seq, EnqueuedAt: now, Transaction: d.Transaction,
				Op: d.Op, Key: KeyOf(d.Queue), Base: d.Base, Changes: d.Changes, Payload: d.Payload,
				After: d.After,
			})
		}
		refused, err := tx.AddEntries(entries...)
		if err != nil {
			return err
		}
		for at, err := range refused {
			errs[from[at]] = err
		}
		stored, err = withdraw(tx, entries, from, refused, drafts, errs)
		meta.Counts.move(len(stored), "", Pending)
		return err
	})
	return stored, err
}

// withdraw deletes what was stored of a transaction that has a refused Entry,
// and returns the Entries that stay.
func withdraw(tx Tx, entries []Entry, from []int, refused map[int]error, drafts []Draft, errs []error) ([]Entry, error) {
	if len(refused) == 0 {
		return entries, nil
	}
	spoil(drafts, errs)
	var stay []Entry
	var gone []string
	for at, e := range entries {
		switch {
		case errs[from[at]] == nil:
			stay = append(stay, e)
		case refused[at] == nil:
			gone = append(gone, e.ID)
		}
	}
	return stay, tx.DeleteEntries(gone...)
}

// spoil sets a draft's error for all drafts of its transaction.
func spoil(drafts []Draft, errs []error) {
	why := map[string]error{}
	for i, d := range drafts {
		if errs[i] != nil && why[d.Transaction] == nil {
			why[d.Transaction] = errs[i]
		}
	}
	for i, d := range drafts {
		errs[i] = why[d.Transaction]
	}
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
		if meta.Counts, err = count(tx, r.sync); err != nil {
			return err
		}
		heads, err = tx.Heads(r.sync)
		return err
	})
	return epoch, heads, err
}

// holds returns errStale unless the epoch is still this Drainer's.
func (r *records) holds(ctx context.Context, epoch int64) error {
	err := r.store.View(ctx, func(tx Tx) error { return r.holding(tx, epoch) })
	return wrapStorage("look for another leader", err)
}

func (r *records) holding(tx Tx, epoch int64) error {
	meta, err := r.joined(tx)
	if err == nil && meta.Epoch != epoch {
		err = errStale
	}
	return err
}

// count counts the Entries anew, in case somebody else changed the store.
func count(tx Tx, sync string) (c Counts, err error) {
	for status, into := range map[EntryStatus]*int{Pending: &c.Pending, InRequest: &c.InRequest, Failed: &c.Failed} {
		if *into, err = tx.Count(sync, status); err != nil {
			return c, err
		}
	}
	return c, nil
}

// heads lists the Queues that have something pending, for the Drainer of that epoch.
func (r *records) heads(ctx context.Context, epoch int64) (heads []Head, err error) {
	err = r.store.View(ctx, func(tx Tx) error {
		if err := r.holding(tx, epoch); err != nil {
			return err
		}
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

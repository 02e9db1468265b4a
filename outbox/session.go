package outbox

import (
	"context"
	"strconv"
	"sync/atomic"
)

// session is what this tab believes the store's Generation to be.
type session struct{ generation atomic.Pointer[string] }

func (s *session) current() string {
	if g := s.generation.Load(); g != nil {
		return *g
	}
	return ""
}

func (s *session) join(generation string) { s.generation.Store(&generation) }

// gate is what opening a store of another version came to.
type gate struct {
	// dropped counts the Entries that were not kept; the gate was passed if passed.
	dropped int
	passed  bool
}

// open joins the stored session, or begins one if there is none or if the store
// is of another version. It fails for records of a format that this code does not
// know.
func (r *records) open(ctx context.Context, version int, migrate func(Entry, int) (Entry, bool)) (meta Meta, g gate, err error) {
	err = r.store.Update(ctx, Strict, func(tx Tx) error {
		g = gate{}
		if meta, err = tx.Meta(r.sync); err != nil {
			return err
		}
		switch {
		case meta.Format > Format:
			return Fail(CodeSuperseded, "a newer outbox.wasm wrote this store, in format "+strconv.Itoa(meta.Format)+": reload the page to get it")
		case meta.Format == 0:
			meta = Meta{Sync: r.sync, Format: Format, Version: version, Generation: r.newID()}
			if err := adopt(tx, &meta); err != nil {
				return err
			}
			return tx.PutMeta(meta)
		case version != 0 && version != meta.Version:
			g, err = r.passGate(tx, &meta, version, migrate)
			return err
		}
		return nil
	})
	if err == nil {
		r.session.join(meta.Generation)
	}
	return meta, g, wrapStorage("open the outbox", err)
}

// adopt has a new session go on with Entries that are there all the same: whoever
// deleted its record did not delete them.
func adopt(tx Tx, meta *Meta) error {
	found, err := tx.Select(Selection{Sync: meta.Sync})
	if err != nil {
		return err
	}
	for _, e := range found[0] {
		meta.Seq = max(meta.Seq, e.Seq)
	}
	meta.Counts, err = count(tx, meta.Sync)
	return err
}

// passGate empties the store for another version of the app, but for the Entries
// that migrate keeps.
func (r *records) passGate(tx Tx, meta *Meta, version int, migrate func(Entry, int) (Entry, bool)) (gate, error) {
	found, err := tx.Select(Selection{Sync: r.sync})
	if err != nil {
		return gate{}, err
	}
	var kept []Entry
	for _, e := range found[0] {
		if migrate == nil {
			break
		}
		if e.Status == InRequest {
			e.Status, e.Claim = Pending, nil
		}
		if e, keep := migrate(e, meta.Version); keep {
			e.Record = nil
			kept = append(kept, e)
		}
	}
	if err := r.wipe(tx, meta); err != nil {
		return gate{}, err
	}
	meta.Version = version
	for _, e := range kept {
		meta.Counts.move(1, "", e.Status)
	}
	if err := tx.PutMeta(*meta); err != nil {
		return gate{}, err
	}
	return gate{dropped: len(found[0]) - len(kept), passed: true}, tx.PutEntries(kept...)
}

// wipe deletes everything and fences whoever still writes.
func (r *records) wipe(tx Tx, meta *Meta) error {
	meta.Generation = r.newID()
	meta.Epoch++
	meta.Clock++
	meta.Counts = Counts{}
	meta.Paused = false
	return tx.Clear(r.sync)
}

// reset deletes everything, and returns how many Entries that were and the new
// session. With refuse, it does so only if nothing is unsent.
func (r *records) reset(ctx context.Context, refuse bool) (dropped int, generation string, err error) {
	err = r.update(ctx, "reset", Strict, func(tx Tx, meta *Meta) error {
		counts, err := count(tx, r.sync)
		if err != nil {
			return err
		}
		if unsent := counts.Pending + counts.InRequest; refuse && unsent > 0 {
			return Fail(CodeUnsent, strconv.Itoa(unsent)+" writes are not sent yet: wait for them, or reset with unsent: 'drop'")
		}
		dropped = counts.Pending + counts.InRequest + counts.Failed
		err = r.wipe(tx, meta)
		generation = meta.Generation
		return err
	})
	return dropped, generation, err
}

// Reset deletes everything of the Std Sync, in every tab, and goes on with an
// empty store. It returns how many Entries it dropped. With refuse, it fails with
// CodeUnsent while something is unsent.
func (o *Outbox) Reset(ctx context.Context, refuse bool) (dropped int, err error) {
	if err := o.ready(ctx); err != nil {
		return 0, err
	}
	dropped, generation, err := o.records.reset(ctx, refuse)
	if err == nil {
		o.restart(generation)
		o.changed(Ring{All: true}, []Event{{Type: EventReset, Count: dropped}})
	}
	return dropped, err
}

// restart ends everything of the session that was, and joins the new one.
func (o *Outbox) restart(generation string) {
	// Nobody may still wait for an Entry of the old session when the new one is
	// joined: its absence would then mean delivery.
	left := o.waiters.abandon(Fail(CodeReset, "the write was dropped by a reset before it was sent"))
	o.records.session.join(generation)
	o.observer.forget()
	o.endTerm(Fail(CodeReset, "the Std Sync was reset: what this Request sends is dropped"))
	o.news(News{Settled: left, Reset: true})
	o.observer.look(Ring{All: true})
	o.status.stale()
}

// changedSession acts on a store whose Generation is not this session's: another
// tab has reset it, a newer version of the app has taken it over, or it was deleted.
func (o *Outbox) changedSession(meta Meta) {
	if meta.Format == 0 {
		var err error
		if meta, _, err = o.records.open(context.Background(), o.cfg.Version, o.cfg.Migrate); err != nil {
			o.storageFailed(err)
			return
		}
		if meta.Counts != (Counts{}) {
			// Only the record was deleted: what is stored goes on in the new session.
			o.endTerm(nil)
			o.Suspect()
			return
		}
	}
	if o.cfg.Version != 0 && meta.Version != o.cfg.Version {
		o.supersede()
		return
	}
	o.restart(meta.Generation)
	o.emit(Event{Type: EventReset})
}

// supersede ends this tab's part for good.
func (o *Outbox) supersede() {
	why := Fail(CodeSuperseded, "a newer version of this app has taken over: reload the page")
	if !o.ended.CompareAndSwap(nil, why) {
		return
	}
	o.emit(Event{Type: EventSuperseded, Error: why})
	o.stop()
}

// endTerm aborts this tab's term as Drainer, if it has one, and says why.
func (o *Outbox) endTerm(why error) {
	if end := o.term.Load(); end != nil {
		(*end)(why)
	}
}

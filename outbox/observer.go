package outbox

import (
	"context"
	"sync"
	"time"
)

// observer looks at the store when something may have changed, and tells what
// has become known: to the Waiters, and as News.
type observer struct {
	records *records
	waiters *waiters
	// tell receives what has become known; it must not call back into observer.
	tell func(News)
	// failed tells of a look that the Store refused, and changed of a session that
	// is not this tab's any more.
	failed  func(error)
	changed func(Meta)
	// paced: what is told should leave the tab time for the person who sees it.
	paced func() bool

	mu    sync.Mutex
	dirty dirty
	// seen is known already, and not told yet.
	seen    sight
	viewers int
	// clock is Meta.Clock as of the last look at everything, and steps how often it
	// was told of since.
	clock, steps int64
	wake         chan struct{}
}

// dirty is what the next look reads.
type dirty struct {
	entries map[string]struct{}
	rows    map[RowKey]struct{}
	all     bool
}

func put[K comparable](set *map[K]struct{}, k K) {
	if *set == nil {
		*set = map[K]struct{}{}
	}
	(*set)[k] = struct{}{}
}

func (o *observer) ring() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// view starts or stops telling of Entries nobody waits for.
func (o *observer) view(on bool) {
	o.mu.Lock()
	if on {
		o.viewers++
		o.dirty.all = true
	} else {
		o.viewers--
	}
	o.mu.Unlock()
	o.ring()
}

// look asks for a look at what a Ring names.
func (o *observer) look(ring Ring) {
	o.mu.Lock()
	o.dirty.all = o.dirty.all || ring.All
	o.steps += int64(ring.Steps)
	for _, m := range ring.Entries {
		if _, waits := o.waiters.waitsFor(m.ID); waits || o.viewers > 0 {
			put(&o.dirty.entries, m.ID)
		}
	}
	if o.viewers > 0 {
		for _, m := range ring.Claimed {
			put(&o.dirty.entries, m.ID)
		}
	}
	for _, key := range ring.Rows {
		put(&o.dirty.rows, key)
	}
	o.mu.Unlock()
	o.ring()
}

// forget drops what is known and not told yet.
func (o *observer) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = sight{}
}

// know takes over what this tab's Drainer has written, in so many steps of the
// clock.
func (o *observer) know(s sight, steps int) {
	o.mu.Lock()
	o.seen.add(s)
	o.steps += int64(steps)
	o.mu.Unlock()
	o.ring()
}

// run tells what becomes known until ctx ends. What takes long to be told is
// told less often, so that it is never more than a fifth of the tab's time.
func (o *observer) run(ctx context.Context) {
	misses := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		telling, err := o.check(ctx)
		rest := min(4*telling, time.Second/4)
		if !o.paced() {
			rest = 0
		}
		if misses++; err == nil {
			misses = 0
		} else if ctx.Err() == nil {
			o.failed(err)
			rest = backoff(misses, 0)
		}
		if rest > 16*time.Millisecond && !pause(ctx, rest) {
			return
		}
	}
}

// check looks at what is dirty, in one transaction, and tells all that is known. It
// returns how long the telling took.
func (o *observer) check(ctx context.Context) (telling time.Duration, err error) {
	l, seen := o.take()
	generation := o.records.session.current()
	if l.any() {
		var read sight
		if err := o.records.store.View(ctx, func(tx Tx) error { return o.read(tx, l, &read) }); err != nil {
			o.know(seen, 0)
			o.look(Ring{Rows: l.rows, All: true})
			return 0, wrapStorage("look at the outbox", err)
		}
		if read.other != nil {
			o.changed(*read.other)
			return 0, nil
		}
		if generation != o.records.session.current() {
			return 0, nil // a reset has come between, and asked for a look at everything
		}
		seen.add(read)
	}
	if news := o.news(l, &seen); !news.isZero() {
		start := time.Now()
		o.tell(news)
		telling = time.Since(start)
	}
	return telling, nil
}

// look is what one look reads.
type look struct {
	entries []string
	rows    []RowKey
	// all: everything is to be looked at; list: by reading all Entries.
	all, list bool
}

func (l look) any() bool { return l.all || len(l.entries)+len(l.rows) > 0 }

// take returns what to look at and what is known, and forgets both.
func (o *observer) take() (l look, seen sight) {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.dirty
	o.dirty = dirty{}
	seen, o.seen = o.seen, sight{}
	l = look{all: d.all, list: d.all && o.viewers > 0}
	if d.all {
		for _, id := range o.waiters.all() {
			put(&d.entries, id)
		}
	}
	for id := range d.entries {
		l.entries = append(l.entries, id)
	}
	for key := range d.rows {
		l.rows = append(l.rows, key)
	}
	return l, seen
}

// read does one look.
func (o *observer) read(tx Tx, l look, s *sight) error {
	*s = sight{all: l.list}
	meta, err := tx.Meta(o.records.sync)
	if err != nil {
		return err
	}
	if meta.Generation != o.records.session.current() {
		s.other = &meta
		return nil
	}
	o.records.known(meta)
	s.clock = meta.Clock
	gone, err := o.find(tx, meta.Sync, l, s)
	if err != nil {
		return err
	}
	reasons, err := reasons(tx, gone)
	if err != nil {
		return err
	}
	for _, id := range gone {
		s.left(id, whyGone(id, reasons[id]))
	}
	keys := o.touched(meta.Sync, l.rows, gone)
	values, err := rowValues(tx, keys)
	for _, key := range keys {
		s.row(Row{RowKey: key, Value: values[key]})
	}
	return err
}

// find reads the Entries of a look, and returns which of them are gone. Of all that
// somebody waits for it reads only those that failed.
func (o *observer) find(tx Tx, sync string, l look, s *sight) (gone []string, err error) {
	wanted := l.entries
	stored := map[string]bool{}
	if l.all && !l.list {
		all, err := tx.IDs(sync, "")
		if err != nil {
			return nil, err
		}
		failed, err := tx.IDs(sync, Failed)
		if err != nil {
			return nil, err
		}
		wanted = among(failed, l.entries)
		for _, id := range all {
			stored[id] = true
		}
	}
	entries, err := o.entries(tx, sync, wanted, l.list)
	for _, e := range entries {
		s.entry(e)
		stored[e.ID] = true
	}
	for _, id := range l.entries {
		if !stored[id] {
			gone = append(gone, id)
		}
	}
	return gone, err
}

func (o *observer) entries(tx Tx, sync string, wanted []string, list bool) ([]Entry, error) {
	if !list {
		return tx.Entries(wanted...)
	}
	all, err := tx.Select(Selection{Sync: sync})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// among returns those of ids that are in the list too.
func among(ids, list []string) (both []string) {
	in := make(map[string]bool, len(list))
	for _, id := range list {
		in[id] = true
	}
	for _, id := range ids {
		if in[id] {
			both = append(both, id)
		}
	}
	return both
}

// reasons returns how Entries left the store that were not delivered.
func reasons(tx Tx, gone []string) (map[string]Code, error) {
	outcomes, err := tx.Outcomes(gone...)
	byID := make(map[string]Code, len(outcomes))
	for _, o := range outcomes {
		byID[o.ID] = o.Reason
	}
	return byID, err
}

// whyGone returns why an Entry is gone, or nil if it was delivered.
func whyGone(id string, reason Code) error {
	if reason == "" {
		return nil
	}
	return &Error{Code: reason, EntryID: id, Message: "the write was " + string(reason) + " before it was sent"}
}

// touched returns the rows to read: those named, and those of Entries that are
// gone, which a delivery may have changed.
func (o *observer) touched(sync string, named []RowKey, gone []string) []RowKey {
	keys := named
	seen := make(map[RowKey]bool, len(named))
	for _, key := range named {
		seen[key] = true
	}
	for _, id := range gone {
		queue, _ := o.waiters.waitsFor(id)
		collection, key, ok := entityOf(queue)
		row := RowKey{Sync: sync, Collection: collection, Key: key}
		if ok && !seen[row] {
			seen[row] = true
			keys = append(keys, row)
		}
	}
	return keys
}

// news turns what is known into News.
func (o *observer) news(l look, s *sight) News {
	o.mu.Lock()
	viewed := o.viewers > 0
	news := News{Rows: s.byKey(), All: s.all && viewed}
	if l.all {
		news.Stale = s.clock > o.clock+o.steps
		o.clock, o.steps = s.clock, 0
	}
	o.mu.Unlock()
	if viewed {
		news.Entries = s.inOrder()
		for id := range s.gone {
			news.Gone = append(news.Gone, id)
		}
	}
	news.Settled, news.Delivered = o.waiters.settle(s)
	return news
}

package outbox

import (
	"context"
	"sync"
)

// Settlement is the end of a transaction's wait: delivered, or why not.
type Settlement struct {
	Transaction string
	// Err is nil when every Entry of the transaction was delivered.
	Err error
}

// News is what one look at the Store found. Whoever receives it applies all of
// it together.
type News struct {
	// Rows are records of the Sync Replica as they are now; a row that is not
	// there has no Value.
	Rows []Row
	// Settled are the transactions that wait no longer.
	Settled []Settlement
	// Entries are changed ones as they are now, and Gone those no longer stored.
	// Both are told only while somebody views the Outbox.
	Entries []Entry
	Gone    []string
	// All: Entries is all there is, and what is not in it is gone.
	All bool
	// Stale: rows changed that no Ring named; the Sync Replica must be read anew.
	Stale bool
}

// waiters are this tab's promises. Each watches the rows of one transaction's
// Entries and owns nothing: it is settled by what a look at the Store finds,
// whoever changed it.
type waiters struct {
	records *records
	// tell receives what was found; it must not call back into waiters.
	tell func(News)
	// failed tells of a look that the Store refused.
	failed func(error)

	mu            sync.Mutex
	byEntry       map[string]*waiter
	byTransaction map[string]*waiter
	dirty         dirty
	viewers       int
	// clock is Meta.Clock as of the last look.
	clock int64
	wake  chan struct{}
}

// waiter waits for the Entries of one transaction.
type waiter struct {
	transaction string
	open        map[string]string // Entry id to Queue
	// storing: the Entries are not known to be stored yet, so their absence
	// means nothing. rung: they were named meanwhile.
	storing, rung bool
}

// dirty is what the next look reads.
type dirty struct {
	entries map[string]struct{}
	rows    map[RowKey]struct{}
	all     bool
}

func newWaiters(r *records, tell func(News), failed func(error)) *waiters {
	return &waiters{records: r, tell: tell, failed: failed, byEntry: map[string]*waiter{}, byTransaction: map[string]*waiter{}, wake: make(chan struct{}, 1)}
}

// watch adds a Waiter for these Entries of a transaction, or widens the one
// there is. They are looked at once it is known that they are stored.
func (w *waiters) watch(transaction string, marks []Mark, storing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byTransaction[transaction]
	if one == nil {
		one = &waiter{transaction: transaction, open: map[string]string{}, storing: storing}
		w.byTransaction[transaction] = one
	}
	for _, m := range marks {
		one.open[m.ID] = m.Queue
		w.byEntry[m.ID] = one
	}
}

// stored says that a transaction's Entries are on disk.
func (w *waiters) stored(transaction string) {
	w.mu.Lock()
	one := w.byTransaction[transaction]
	var again Ring
	if one != nil {
		one.storing = false
		if one.rung {
			for id, queue := range one.open {
				again.Entries = append(again.Entries, Mark{ID: id, Queue: queue})
			}
		}
	}
	w.mu.Unlock()
	if !again.IsZero() {
		w.look(again)
	}
}

// drop takes a transaction's Waiter off, unsettled: its Entries were not stored.
func (w *waiters) drop(transaction string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.byTransaction[transaction]; one != nil {
		w.remove(one)
	}
}

func (w *waiters) remove(one *waiter) {
	delete(w.byTransaction, one.transaction)
	for id := range one.open {
		delete(w.byEntry, id)
	}
}

// view starts or stops telling of Entries nobody waits for.
func (w *waiters) view(on bool) {
	w.mu.Lock()
	if on {
		w.viewers++
		w.dirty.all = true
	} else {
		w.viewers--
	}
	w.mu.Unlock()
	w.ring()
}

// look asks for a look at what a Ring names.
func (w *waiters) look(ring Ring) {
	w.mu.Lock()
	w.dirty.all = w.dirty.all || ring.All
	for _, m := range ring.Entries {
		one := w.byEntry[m.ID]
		if one != nil && one.storing {
			one.rung = true
		}
		if w.viewers > 0 || one != nil && !one.storing {
			put(&w.dirty.entries, m.ID)
		}
	}
	if w.viewers > 0 {
		for _, m := range ring.Claimed {
			put(&w.dirty.entries, m.ID)
		}
	}
	for _, key := range ring.Rows {
		put(&w.dirty.rows, key)
	}
	w.mu.Unlock()
	w.ring()
}

func put[K comparable](set *map[K]struct{}, k K) {
	if *set == nil {
		*set = map[K]struct{}{}
	}
	(*set)[k] = struct{}{}
}

func (w *waiters) ring() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run looks whenever it is asked to, until ctx ends.
func (w *waiters) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.wake:
		}
		if err := w.check(ctx); err != nil && ctx.Err() == nil {
			w.failed(err)
		}
	}
}

// take returns what to look at, and forgets it.
func (w *waiters) take() look {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.dirty
	w.dirty = dirty{}
	l := look{all: d.all, list: d.all && w.viewers > 0, queues: map[string]string{}}
	if d.all {
		for id, one := range w.byEntry {
			if !one.storing {
				put(&d.entries, id)
			}
		}
	}
	for id := range d.entries {
		l.entries = append(l.entries, id)
		if one := w.byEntry[id]; one != nil {
			l.queues[id] = one.open[id]
		}
	}
	for key := range d.rows {
		l.rows = append(l.rows, key)
	}
	return l
}

// look is what one look reads.
type look struct {
	entries []string
	// queues holds the Queue of each of entries that somebody waits for.
	queues map[string]string
	rows   []RowKey
	// all: everything is to be looked at; list: by reading all Entries.
	all, list bool
}

// check is one look: one read transaction, then everything it found is told at
// once.
func (w *waiters) check(ctx context.Context) error {
	l := w.take()
	if len(l.entries) == 0 && len(l.rows) == 0 && !l.all {
		return nil
	}
	var seen sight
	if err := w.records.store.View(ctx, func(tx Tx) error { return seen.read(tx, w.records.sync, l) }); err != nil {
		w.look(Ring{Rows: l.rows, All: true})
		return wrapStorage("look at the outbox", err)
	}
	if news := w.news(l, &seen); !news.isZero() {
		w.tell(news)
	}
	return nil
}

func (n News) isZero() bool {
	return len(n.Rows) == 0 && len(n.Settled) == 0 && len(n.Entries) == 0 && len(n.Gone) == 0 && !n.All && !n.Stale
}

// sight is what a look saw.
type sight struct {
	meta     Meta
	entries  []Entry
	gone     []string
	outcomes map[string]Outcome
	rows     []Row
}

func (s *sight) read(tx Tx, sync string, l look) (err error) {
	*s = sight{outcomes: map[string]Outcome{}}
	if s.meta, err = tx.Meta(sync); err != nil {
		return err
	}
	if l.list {
		all, err := tx.Select(Selection{Sync: sync})
		if err != nil {
			return err
		}
		s.entries = all[0]
	} else if s.entries, err = tx.Entries(l.entries...); err != nil {
		return err
	}
	s.gone = missing(l.entries, s.entries)
	outcomes, err := tx.Outcomes(s.gone...)
	if err != nil {
		return err
	}
	for _, o := range outcomes {
		s.outcomes[o.ID] = o
	}
	s.rows, err = rowsOrAbsent(tx, s.touched(sync, l))
	return err
}

// touched returns the rows to read: those named, and those of Entries that are
// gone, which a delivery may have changed.
func (s *sight) touched(sync string, l look) []RowKey {
	keys := l.rows
	named := make(map[RowKey]bool, len(keys))
	for _, key := range keys {
		named[key] = true
	}
	for _, id := range s.gone {
		collection, key, ok := entityOf(l.queues[id])
		row := RowKey{Sync: sync, Collection: collection, Key: key}
		if ok && !named[row] {
			named[row] = true
			keys = append(keys, row)
		}
	}
	return keys
}

// rowsOrAbsent returns a Row for every key, without a Value where none is stored.
func rowsOrAbsent(tx Tx, keys []RowKey) ([]Row, error) {
	values, err := rowValues(tx, keys)
	rows := make([]Row, len(keys))
	for i, key := range keys {
		rows[i] = Row{RowKey: key, Value: values[key]}
	}
	return rows, err
}

func missing(wanted []string, found []Entry) []string {
	have := make(map[string]bool, len(found))
	for _, e := range found {
		have[e.ID] = true
	}
	var gone []string
	for _, id := range wanted {
		if !have[id] {
			gone = append(gone, id)
		}
	}
	return gone
}

// news turns what was seen into settlements, and takes the settled Waiters off.
func (w *waiters) news(l look, seen *sight) News {
	w.mu.Lock()
	defer w.mu.Unlock()
	news := News{Rows: seen.rows, All: l.list, Stale: l.all && seen.meta.Clock != w.clock}
	w.clock = seen.meta.Clock
	if w.viewers > 0 {
		news.Entries, news.Gone = seen.entries, seen.gone
	}
	SortBySeq(seen.entries)
	for _, e := range seen.entries {
		if one := w.byEntry[e.ID]; one != nil && e.Status == Failed {
			w.settle(one, ErrorOf(e), &news)
		}
	}
	for _, id := range seen.gone {
		one := w.byEntry[id]
		if one == nil {
			continue
		}
		if err := seen.whyGone(id, w.records.generation); err != nil {
			w.settle(one, err, &news)
			continue
		}
		delete(w.byEntry, id)
		if delete(one.open, id); len(one.open) == 0 {
			w.settle(one, nil, &news)
		}
	}
	return news
}

// whyGone returns why an Entry is gone, or nil if it was delivered.
func (s *sight) whyGone(id, generation string) error {
	if s.meta.Generation != generation {
		return &Error{Code: CodeReset, EntryID: id, Message: "the write was dropped by a reset before it was sent"}
	}
	if o, ok := s.outcomes[id]; ok {
		return &Error{Code: o.Reason, EntryID: id, Message: "the write was " + string(o.Reason) + " before it was sent"}
	}
	return nil
}

func (w *waiters) settle(one *waiter, err error, news *News) {
	w.remove(one)
	news.Settled = append(news.Settled, Settlement{Transaction: one.transaction, Err: err})
}

// abandon settles every Waiter with err.
func (w *waiters) abandon(err error) {
	w.mu.Lock()
	var news News
	for _, one := range w.byTransaction {
		w.settle(one, err, &news)
	}
	w.mu.Unlock()
	if len(news.Settled) > 0 {
		w.tell(news)
	}
}

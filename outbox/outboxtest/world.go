package outboxtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/memory"
)

// Sync is the name of a World's Std Sync.
const Sync = "acme"

// World is a store, a network and a Backend, with tabs that come and go. It is
// meant for a synctest bubble.
type World struct {
	TB      require.TestingT
	Store   outbox.Store
	Lock    memory.Lock
	Network memory.Network
	Backend Backend
	// NoLock has every tab lead at once, and Leased has them elect one by a lease, as
	// without Web Locks.
	NoLock, Leased bool
	// Hidden: nobody sees the tabs that are opened.
	Hidden bool
	// Traits are those of every Handler.
	Traits outbox.Traits

	channel memory.Channel
	ids     atomic.Int64
}

// NewWorld returns an empty World.
func NewWorld(tb require.TestingT) *World { return &World{TB: tb, Store: &memory.Store{}} }

// Tab is one tab of a World.
type Tab struct {
	*outbox.Outbox
	world *World
	close context.CancelFunc
	done  chan struct{}

	mu      sync.Mutex
	settled map[string]error
	order   []string
	events  []outbox.Event
	rows    map[outbox.RowKey]outbox.Value
	resets  int
	stale   int
}

// OpenTab opens a tab whose gate is open and whose Handlers, of the given names,
// fly to the Backend.
func (w *World) OpenTab(handlers ...string) *Tab { return w.OpenVersion(0, nil, handlers...) }

// OpenVersion opens a tab of a certain version of the app.
func (w *World) OpenVersion(version int, migrate func(outbox.Entry, int) (outbox.Entry, bool), handlers ...string) *Tab {
	tab := &Tab{world: w, settled: map[string]error{}, rows: map[outbox.RowKey]outbox.Value{}, done: make(chan struct{})}
	var err error
	tab.Outbox, err = outbox.New(outbox.Config{
		Sync: Sync, Store: w.Store, Doorbell: w.channel.Doorbell(), Leadership: w.leadership(), Connectivity: &w.Network, Visibility: visibility(!w.Hidden),
		Version: version, Migrate: migrate, OnEvent: tab.onEvent, OnNews: tab.onNews, NewID: w.NewID,
	})
	require.NoError(w.TB, err)
	for _, name := range handlers {
		require.NoError(w.TB, tab.Register(name, &w.Backend, w.Traits))
	}
	tab.OpenGate()
	ctx, cancel := context.WithCancel(context.Background())
	tab.close = cancel
	go func() {
		defer close(tab.done)
		_ = tab.Run(ctx)
	}()
	return tab
}

func (w *World) leadership() outbox.Leadership {
	if w.NoLock {
		return &memory.Lock{}
	}
	if w.Leased {
		return &outbox.Lease{Store: w.Store, Sync: Sync, NewID: w.NewID}
	}
	return &w.Lock
}

// visibility is an outbox.Visibility that never changes.
type visibility bool

func (v visibility) IsVisible() bool              { return bool(v) }
func (visibility) Subscribe(func()) (stop func()) { return func() {} }

// NewID returns the next id.
func (w *World) NewID() string { return fmt.Sprintf("id-%06d", w.ids.Add(1)) }

// Close closes the tab, as a crash would: what is in the air is aborted.
func (t *Tab) Close() {
	t.close()
	<-t.done
}

func (t *Tab) onEvent(e outbox.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
}

func (t *Tab) onNews(n outbox.News) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range n.Settled {
		t.settled[s.Transaction] = s.Err
		t.order = append(t.order, s.Transaction)
	}
	if n.Reset {
		t.resets++
		clear(t.rows)
	}
	if n.Stale {
		t.stale++
	}
	for _, row := range n.Rows {
		t.rows[row.RowKey] = row.Value
	}
}

// Settled returns how a transaction's wait ended, and whether it has.
func (t *Tab) Settled(transaction string) (error, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	err, ok := t.settled[transaction]
	return err, ok
}

// Order returns the transactions in the order in which they were settled.
func (t *Tab) Order() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.order)
}

// Row returns what the tab was last told of a row.
func (t *Tab) Row(collection, key string) outbox.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rows[outbox.RowKey{Sync: Sync, Collection: collection, Key: outbox.Key("s:" + key)}]
}

// Resets returns how often the tab was told that everything is gone.
func (t *Tab) Resets() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.resets
}

// Stale returns how often the tab was told to read its rows anew.
func (t *Tab) Stale() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stale
}

// Events returns the types of the tab's Events so far.
func (t *Tab) Events() []outbox.EventType {
	t.mu.Lock()
	defer t.mu.Unlock()
	var types []outbox.EventType
	for _, e := range t.events {
		types = append(types, e.Type)
	}
	return types
}

// Write enqueues writes of one Entity as one transaction each, in the form of
// ParseEntry, and returns their ids.
func (t *Tab) Write(collection, key string, writes ...string) []string {
	drafts := make([]outbox.Draft, len(writes))
	for i, text := range writes {
		e := ParseEntry(text)
		id := t.world.NewID()
		drafts[i] = outbox.Draft{
			ID: id, Transaction: id, Name: outbox.CollectionHandler(collection),
			Queue: outbox.QueueOf(collection, outbox.Key("s:"+key)), Op: e.Op, Base: e.Base, Changes: e.Changes,
		}
	}
	return t.Store(drafts...)
}

// Call enqueues a call of an action.
func (t *Tab) Call(action, queue, payload string) string {
	id := t.world.NewID()
	return t.Store(outbox.Draft{
		ID: id, Transaction: id, Name: outbox.ActionHandler(action), Queue: outbox.ActionQueue(action, queue),
		Op: outbox.OpAction, Payload: ParseFields(payload),
	})[0]
}

// Store enqueues drafts, which must all be stored, and returns their ids.
func (t *Tab) Store(drafts ...outbox.Draft) []string {
	var ids []string
	for _, d := range drafts {
		ids = append(ids, d.ID)
	}
	for _, err := range t.Try(drafts...) {
		require.NoError(t.world.TB, err)
	}
	return ids
}

// Try enqueues drafts and returns an error for each that is not stored.
func (t *Tab) Try(drafts ...outbox.Draft) []error {
	stored := make(chan []error, 1)
	t.Enqueue(drafts, func(errs []error) { stored <- errs })
	return <-stored
}

// Stored returns the Entries in the store, in order.
func (w *World) Stored() []outbox.Entry {
	var entries []outbox.Entry
	require.NoError(w.TB, w.Store.View(context.Background(), func(tx outbox.Tx) error {
		found, err := tx.Select(outbox.Selection{Sync: Sync})
		if err == nil {
			entries = found[0]
		}
		return err
	}))
	return entries
}

// Entry returns the stored Entry of that id, which must exist.
func (w *World) Entry(id string) outbox.Entry {
	stored := w.Stored()
	i := slices.IndexFunc(stored, func(e outbox.Entry) bool { return e.ID == id })
	require.GreaterOrEqual(w.TB, i, 0, "entry %s is not stored", id)
	return stored[i]
}

// All returns the tab's Events so far.
func (t *Tab) All() []outbox.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.events)
}

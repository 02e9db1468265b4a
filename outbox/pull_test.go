package outbox_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/memory"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

// feed is a Backend's read side: the pages still to come.
type feed struct {
	fetch func() error

	mu    sync.Mutex
	pages []outbox.Page
	asked []outbox.Value
}

// cursors returns those that were asked from.
func (f *feed) cursors() []outbox.Value {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asked)
}

func (f *feed) Fetch(_ context.Context, cursor outbox.Value) (outbox.Page, error) {
	f.mu.Lock()
	f.asked = append(f.asked, cursor)
	f.mu.Unlock()
	if f.fetch != nil {
		if err := f.fetch(); err != nil {
			return outbox.Page{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pages) == 0 {
		return outbox.Page{Cursor: cursor}, nil
	}
	page := f.pages[0]
	f.pages = f.pages[1:]
	return page, nil
}

func pulled(key, fields string) outbox.Row {
	return outbox.Row{RowKey: outbox.RowKey{Sync: outboxtest.Sync, Collection: "todos", Key: outbox.Key("s:" + key)}, Value: outboxtest.ParseFields(fields)}
}

// pulling runs a Pull of the feed in a tab until the test ends.
func pulling(t *testing.T, tab *outboxtest.Tab, f *feed) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = tab.Pull(ctx, outbox.Pull{Collection: "todos", Every: 5 * time.Second, Leadership: &memory.Lock{}, Fetch: f.Fetch})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

func TestAPullStoresRowsAndCursorAndTellsEveryTab(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		one, two := w.OpenTab(todos), w.OpenTab(todos)
		t.Cleanup(one.Close)
		t.Cleanup(two.Close)
		synctest.Wait()
		f := &feed{pages: []outbox.Page{
			{Rows: []outbox.Row{pulled("1", "a:1")}, Cursor: outboxtest.Fields{"at": "1"}, More: true},
			{Rows: []outbox.Row{pulled("2", "a:2")}, Cursor: outboxtest.Fields{"at": "2"}},
			{Deleted: []outbox.Key{"s:1"}, Cursor: outboxtest.Fields{"at": "3"}},
		}}
		pulling(t, one, f)
		synctest.Wait()
		require.Equal(t, []outbox.Value{nil, outboxtest.Fields{"at": "1"}}, f.cursors())
		require.Equal(t, outboxtest.Fields{"a": "1"}, two.Row("todos", "1"))
		require.Equal(t, outboxtest.Fields{"a": "2"}, two.Row("todos", "2"))
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Equal(t, outboxtest.Fields{"at": "2"}, f.cursors()[2])
		require.Nil(t, two.Row("todos", "1"))
	})
}

func TestAFetchThatBeganBeforeARowWasConfirmedDoesNotOverwriteIt(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		tab := w.OpenTab(todos)
		t.Cleanup(tab.Close)
		synctest.Wait()
		f := &feed{
			pages: []outbox.Page{{Rows: []outbox.Row{pulled("1", "a:old"), pulled("2", "a:2")}, Cursor: outboxtest.Fields{"at": "1"}}},
			fetch: func() error { time.Sleep(time.Second); return nil },
		}
		pulling(t, tab, f)
		synctest.Wait()
		tab.Write("todos", "1", "insert a:new")
		synctest.Wait()
		require.Empty(t, w.Stored())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, outboxtest.Fields{"a": "new"}, tab.Row("todos", "1"))
		require.Equal(t, outboxtest.Fields{"a": "2"}, tab.Row("todos", "2"))
		require.Equal(t, []outbox.Value{nil, nil}, f.cursors()[:2], "the page is fetched again: it may have held what came after")
	})
}

// byVersion says that the row with the larger v is newer.
func byVersion(a, b outbox.Value) bool {
	return a.(outboxtest.Fields)["v"] >= b.(outboxtest.Fields)["v"]
}

func TestAVersionDecidesOverWhatWasConfirmedMeanwhile(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Traits = outbox.Traits{Newer: byVersion, Fetched: true}
		tab := w.OpenTab(todos)
		t.Cleanup(tab.Close)
		synctest.Wait()
		f := &feed{
			pages: []outbox.Page{{Rows: []outbox.Row{pulled("1", "v:3 a:theirs")}, Cursor: outboxtest.Fields{"at": "1"}}},
			fetch: func() error { time.Sleep(time.Second); return nil },
		}
		pulling(t, tab, f)
		synctest.Wait()
		tab.Write("todos", "1", "insert v:2 a:mine")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, outboxtest.Fields{"v": "3", "a": "theirs"}, tab.Row("todos", "1"))
		tab.Write("todos", "1", "insert v:1 a:late")
		synctest.Wait()
		require.Equal(t, outboxtest.Fields{"v": "3", "a": "theirs"}, tab.Row("todos", "1"), "a late answer does not overwrite a newer row")
	})
}

func TestAFetchThatBeganBeforeADeleteDoesNotBringTheRowBack(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Traits.Fetched = true
		tab := w.OpenTab(todos)
		t.Cleanup(tab.Close)
		synctest.Wait()
		f := &feed{
			pages: []outbox.Page{{Rows: []outbox.Row{pulled("1", "a:old")}, Cursor: outboxtest.Fields{"at": "1"}}},
			fetch: func() error { time.Sleep(time.Second); return nil },
		}
		pulling(t, tab, f)
		synctest.Wait()
		tab.Write("todos", "1", "delete a:old")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Nil(t, tab.Row("todos", "1"))
	})
}

func TestRowsConvergeByVersionWhereThereIsOne(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Traits = outbox.Traits{Newer: byVersion, Fetched: true}
		tab := w.OpenTab(todos)
		t.Cleanup(tab.Close)
		f := &feed{pages: []outbox.Page{
			{Rows: []outbox.Row{pulled("1", "v:2 a:new")}, Cursor: outboxtest.Fields{"at": "1"}, More: true},
			{Rows: []outbox.Row{pulled("1", "v:1 a:old")}, Cursor: outboxtest.Fields{"at": "2"}},
		}}
		pulling(t, tab, f)
		synctest.Wait()
		require.Equal(t, outboxtest.Fields{"v": "2", "a": "new"}, tab.Row("todos", "1"))
	})
}

func TestAFailingFetchBacksOffAndGoesOn(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		tab := w.OpenTab(todos)
		t.Cleanup(tab.Close)
		var away atomic.Bool
		away.Store(true)
		f := &feed{
			pages: []outbox.Page{{Rows: []outbox.Row{pulled("1", "a:1")}}},
			fetch: func() error {
				if away.Load() {
					return errors.New("away")
				}
				return nil
			},
		}
		pulling(t, tab, f)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.Less(t, len(f.cursors()), 20)
		require.Greater(t, len(f.cursors()), 8)
		away.Store(false)
		w.Network.Set(false)
		w.Network.Set(true)
		synctest.Wait()
		require.Equal(t, outboxtest.Fields{"a": "1"}, tab.Row("todos", "1"))
	})
}

package outbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

func TestAResetRejectsInEveryTabAndLeavesNothing(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		one, two := w.OpenTab(todos), w.OpenTab(todos)
		defer one.Close()
		defer two.Close()
		synctest.Wait()
		one.Write("todos", "0", "insert a:0")
		synctest.Wait()
		w.Network.Set(false)
		mine, theirs := one.Write("todos", "1", "insert a:1")[0], two.Write("todos", "2", "insert a:2")[0]
		synctest.Wait()

		dropped, err := two.Reset(context.Background(), false)
		require.NoError(t, err)
		require.Equal(t, 2, dropped)
		synctest.Wait()
		for tab, id := range map[*outboxtest.Tab]string{one: mine, two: theirs} {
			err, settled := tab.Settled(id)
			require.True(t, settled)
			require.Equal(t, outbox.CodeReset, outbox.CodeOf(err))
			require.Equal(t, 1, tab.Resets())
			require.Nil(t, tab.Row("todos", "0"))
			require.Contains(t, tab.Events(), outbox.EventReset)
		}
		require.Empty(t, w.Stored())
		require.NoError(t, w.Store.View(context.Background(), func(tx outbox.Tx) error {
			rows, err := tx.Replica(outboxtest.Sync, "todos")
			require.Empty(t, rows)
			return err
		}))

		w.Network.Set(true)
		again := one.Write("todos", "1", "insert a:3")[0]
		time.Sleep(2 * time.Second)
		synctest.Wait()
		err, settled := one.Settled(again)
		require.True(t, settled)
		require.NoError(t, err)
		require.Equal(t, outboxtest.Fields{"a": "3"}, w.Backend.Row(queue("1")))
	})
}

func TestAResetRefusesWhileSomethingIsUnsent(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		defer tab.Close()
		id := tab.Write("todos", "1", "insert a:1")[0]
		_, err := tab.Reset(context.Background(), true)
		require.Equal(t, outbox.CodeUnsent, outbox.CodeOf(err))
		require.Equal(t, outbox.Pending, w.Entry(id).Status)
	})
}

func TestARequestInTheAirAtAResetWritesNothingAfterwards(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("1", outboxtest.RefuseLater))
		leader, other := w.OpenTab(todos), w.OpenTab(todos)
		defer leader.Close()
		defer other.Close()
		synctest.Wait()
		leader.Write("todos", "1", "insert a:1")
		synctest.Wait()
		require.Equal(t, outbox.InRequest, w.Stored()[0].Status)
		_, err := other.Reset(context.Background(), false)
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Empty(t, w.Stored(), "the late refusal did not bring the entry back")
	})
}

func TestAWriteIntoAStoreThatWasResetIsRefused(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		defer tab.Close()
		synctest.Wait()
		require.NoError(t, w.Store.Update(context.Background(), outbox.Strict, func(tx outbox.Tx) error {
			meta, err := tx.Meta(outboxtest.Sync)
			meta.Generation = "another"
			require.NoError(t, tx.PutMeta(meta))
			return err
		}))
		errs := tab.Try(outbox.Draft{ID: "x", Transaction: "x", Name: todos, Queue: queue("1"), Op: outbox.OpDelete})
		require.Equal(t, outbox.CodeReset, outbox.CodeOf(errs[0]))
		require.Empty(t, w.Stored())
	})
}

func TestAFetchThatAResetOvertookIsDropped(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		tab := w.OpenTab(todos)
		t.Cleanup(tab.Close)
		synctest.Wait()
		f := &feed{
			pages: []outbox.Page{{Rows: []outbox.Row{pulled("1", "a:theirs")}, Cursor: outboxtest.Fields{"at": "1"}}},
			fetch: func() error { time.Sleep(time.Second); return nil },
		}
		pulling(t, tab, f)
		synctest.Wait()
		_, err := tab.Reset(context.Background(), false)
		require.NoError(t, err)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Nil(t, tab.Row("todos", "1"), "the last user's row did not come into the next user's store")
		require.Equal(t, []outbox.Value{nil, nil}, f.cursors(), "the next fetch begins anew")
	})
}

func TestAnotherVersionEmptiesTheStoreAndSupersedesOlderTabs(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		old := w.OpenVersion(1, nil, todos)
		defer old.Close()
		id := old.Write("todos", "1", "insert a:1")[0]
		newer := w.OpenVersion(2, nil, todos)
		defer newer.Close()
		synctest.Wait()
		require.Empty(t, w.Stored())
		events := newer.All()
		require.Equal(t, outbox.EventVersionDropped, events[1].Type)
		require.Equal(t, 1, events[1].Count)
		err, settled := old.Settled(id)
		require.True(t, settled)
		require.Equal(t, outbox.CodeSuperseded, outbox.CodeOf(err))
		require.Contains(t, old.Events(), outbox.EventSuperseded)
		errs := old.Try(outbox.Draft{ID: "x", Transaction: "x", Name: todos, Queue: queue("1"), Op: outbox.OpDelete})
		require.Equal(t, outbox.CodeSuperseded, outbox.CodeOf(errs[0]))
		require.Eventually(t, newer.Leads, time.Minute, time.Second, "the older tab gave up the lock")
	})
}

func TestAMigrationKeepsEntriesOverAVersion(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		old := w.OpenVersion(1, nil, todos)
		old.Write("todos", "1", "insert a:1")
		old.Write("todos", "2", "insert a:2")
		old.Close()
		newer := w.OpenVersion(2, func(e outbox.Entry, from int) (outbox.Entry, bool) {
			require.Equal(t, 1, from)
			e.Changes = e.Changes.Spread(outboxtest.Fields{"b": "new"})
			return e, e.Key == "s:1"
		}, todos)
		defer newer.Close()
		synctest.Wait()
		require.Equal(t, 1, newer.All()[1].Count)
		w.Network.Set(true)
		synctest.Wait()
		require.Equal(t, []string{queue("1") + ": insert {a:1 b:new}"}, w.Backend.Log())
	})
}

func TestTheSameVersionKeepsEverything(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		for _, version := range []int{3, 3, 0} {
			tab := w.OpenVersion(version, nil, todos)
			tab.Write("todos", "1", "update a:1 < a:0")
			tab.Close()
		}
		require.Len(t, w.Stored(), 3)
	})
}

func TestAStoreWhoseRecordIsGoneGoesOnWithItsEntries(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		tab.Write("todos", "1", "insert a:1", "update a:2 < a:1")
		synctest.Wait()
		tab.Close()
		require.NoError(t, w.Store.Update(t.Context(), outbox.Strict, func(tx outbox.Tx) error {
			return tx.PutMeta(outbox.Meta{Sync: outboxtest.Sync})
		}))
		tab = w.OpenTab(todos)
		defer tab.Close()
		tab.Write("todos", "1", "update a:3 < a:2")
		synctest.Wait()
		require.Equal(t, 3, tab.Status().Pending)
		w.Network.Set(true)
		synctest.Wait()
		require.Len(t, w.Backend.Sent(), 1)
		require.Equal(t, outboxtest.Fields{"a": "3"}, tab.Row("todos", "1"), "in the order in which they were made")
	})
}

func TestAnEntryThatSomebodyChangedFailsAloneAndHoldsUpNobody(t *testing.T) {
	for name, spoil := range map[string]func(*outbox.Entry){
		"op":          func(e *outbox.Entry) { e.Op = "drop" },
		"no op":       func(e *outbox.Entry) { e.Op = "" },
		"name":        func(e *outbox.Entry) { e.Name = "collection:others" },
		"no name":     func(e *outbox.Entry) { e.Name = "" },
		"call":        func(e *outbox.Entry) { e.Op = outbox.OpAction },
		"changes":     func(e *outbox.Entry) { e.Changes = nil },
		"transaction": func(e *outbox.Entry) { e.Transaction = "" },
	} {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, w *outboxtest.World) {
				w.Network.Set(false)
				tab := w.OpenTab(todos)
				defer tab.Close()
				id := tab.Write("todos", "1", "insert a:1")[0]
				after := tab.Write("todos", "1", "update b:2 < a:1")[0]
				synctest.Wait()
				e := w.Entry(id)
				spoil(&e)
				e.Record = nil
				require.NoError(t, w.Store.Update(t.Context(), outbox.Strict, func(tx outbox.Tx) error { return tx.PutEntries(e) }))
				w.Network.Set(true)
				synctest.Wait()
				require.Equal(t, outbox.Failed, w.Entry(id).Status)
				require.Contains(t, w.Entry(id).Error.Message, "cannot be sent")
				require.Zero(t, tab.Status().Pending+tab.Status().InRequest)
				_, settled := tab.Settled(after)
				require.True(t, settled, "what is behind it goes on, or fails with it")
				for _, e := range w.Stored() {
					require.NoError(t, tab.Discard(t.Context(), e.ID))
				}
				require.Empty(t, w.Stored())
			})
		})
	}
}

func TestWhatComesAfterAnEntryThatSomebodyChangedFailsWithIt(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		defer tab.Close()
		first := tab.Write("todos", "1", "insert a:1")[0]
		after := tab.Store(outbox.Draft{ID: "after", Transaction: "after", Name: todos, Queue: queue("2"), Op: outbox.OpDelete, Base: outboxtest.Fields{}, After: []string{first}})[0]
		synctest.Wait()
		e := w.Entry(first)
		e.Op, e.Record = "drop", nil
		require.NoError(t, w.Store.Update(t.Context(), outbox.Strict, func(tx outbox.Tx) error { return tx.PutEntries(e) }))
		w.Network.Set(true)
		synctest.Wait()
		require.Equal(t, outbox.Failed, w.Entry(after).Status)
		require.Empty(t, w.Backend.Sent())
	})
}

func TestALiveTabGoesOnWhenOnlyTheRecordIsGone(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("1", outboxtest.Away))
		tab := w.OpenTab(todos)
		defer tab.Close()
		id := tab.Write("todos", "1", "insert a:1")[0]
		synctest.Wait()
		require.NoError(t, w.Store.Update(t.Context(), outbox.Strict, func(tx outbox.Tx) error {
			return tx.PutMeta(outbox.Meta{Sync: outboxtest.Sync})
		}))
		time.Sleep(time.Minute)
		synctest.Wait()
		_, settled := tab.Settled(id)
		require.False(t, settled, "it is stored, and waited for")
		w.Backend.Answer(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		err, settled := tab.Settled(id)
		require.True(t, settled)
		require.NoError(t, err)
		require.NotContains(t, tab.Events(), outbox.EventReset)
	})
}

package outbox_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/memory"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

// pickyStore refuses rows with a field "bad", and its reads while broken.
type pickyStore struct {
	memory.Store
	broken atomic.Bool
	reads  atomic.Int64
}

func (s *pickyStore) View(ctx context.Context, fn func(outbox.Tx) error) error {
	s.reads.Add(1)
	if s.broken.Load() {
		return errors.New("the disk is gone")
	}
	return s.Store.View(ctx, fn)
}

func (s *pickyStore) Update(ctx context.Context, d outbox.Durability, fn func(outbox.Tx) error) error {
	return s.Store.Update(ctx, d, func(tx outbox.Tx) error { return fn(pickyTx{tx}) })
}

type pickyTx struct{ outbox.Tx }

func (t pickyTx) PutRows(rows ...outbox.Row) error {
	for _, row := range rows {
		if row.Value != nil && row.Value.(outboxtest.Fields)["bad"] != "" {
			return outbox.Fail(outbox.CodeNotStorable, "a bad row")
		}
	}
	return t.Tx.PutRows(rows...)
}

func TestARowThatCannotBeKeptFailsItsOwnRequestOnly(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Store = &pickyStore{}
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		defer tab.Close()
		bad := tab.Write("todos", "bad", "insert bad:1")[0]
		tab.Write("todos", "1", "insert a:1")
		tab.Write("todos", "2", "insert a:1")
		w.Network.Set(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Len(t, w.Backend.Log(), 3, "each was sent once")
		require.Len(t, w.Stored(), 1)
		require.Equal(t, outbox.Failed, w.Entry(bad).Status)
		require.Equal(t, "a bad row", w.Entry(bad).Error.Message)
	})
}

func TestAStoreThatCannotBeReadIsNotAskedWithoutEnd(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		store := &pickyStore{}
		w.Store = store
		tab := w.OpenTab(todos)
		defer tab.Close()
		synctest.Wait()
		store.broken.Store(true)
		store.reads.Store(0)
		require.NoError(t, tab.Resume(context.Background()))
		time.Sleep(time.Minute)
		require.Less(t, store.reads.Load(), int64(200))
	})
}

func TestOnlyRowsThatNobodyToldOfAreReadAnew(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		one, two := w.OpenTab(todos), w.OpenTab(todos)
		defer one.Close()
		defer two.Close()
		synctest.Wait()
		for _, key := range []string{"1", "2", "3"} {
			one.Write("todos", key, "insert a:1")
			synctest.Wait()
		}
		time.Sleep(2 * time.Minute)
		require.Zero(t, one.Stale()+two.Stale(), "every ring was heard")

		require.NoError(t, w.Store.Update(context.Background(), outbox.Relaxed, func(tx outbox.Tx) error {
			meta, err := tx.Meta(outboxtest.Sync)
			meta.Clock++
			require.NoError(t, tx.PutMeta(meta))
			return err
		}))
		one.Write("todos", "4", "insert a:1")
		time.Sleep(time.Minute)
		require.Equal(t, 1, one.Stale())
		require.Equal(t, 1, two.Stale(), "a ring that was heard does not hide one that was not")
	})
}

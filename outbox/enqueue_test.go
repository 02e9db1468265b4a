package outbox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/memory"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

// slowStore takes a second to begin each transaction, and refuses some.
type slowStore struct {
	memory.Store
	refuse func(outbox.Tx) error
}

func (s *slowStore) Update(ctx context.Context, d outbox.Durability, fn func(outbox.Tx) error) error {
	time.Sleep(time.Second)
	return s.Store.Update(ctx, d, func(tx outbox.Tx) error {
		if err := fn(tx); err != nil || s.refuse == nil {
			return err
		}
		return s.refuse(tx)
	})
}

func draftOf(w *outboxtest.World, key string) outbox.Draft {
	id := w.NewID()
	return outbox.Draft{ID: id, Transaction: id, Name: todos, Queue: queue(key), Op: outbox.OpDelete}
}

func TestBatchesAreStoredInTheOrderInWhichTheyWereHandedOver(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Store = &slowStore{}
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		defer tab.Close()
		var want []string
		stored := 0
		for range 7 { // some before the store is open, some while it writes
			draft := draftOf(w, "1")
			want = append(want, draft.ID)
			tab.Enqueue([]outbox.Draft{draft}, func(errs []error) {
				require.NoError(t, errs[0])
				stored++
			})
			time.Sleep(300 * time.Millisecond)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, 7, stored)
		var got []string
		for _, e := range w.Stored() {
			got = append(got, e.ID)
		}
		require.Equal(t, want, got)
	})
}

func TestABatchThatCannotBeStoredDoesNotTakeOthersWithIt(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		full := errors.New("the disk is full")
		w.Store = &slowStore{refuse: func(tx outbox.Tx) error {
			found, err := tx.Select(outbox.Selection{Sync: outboxtest.Sync, Queue: queue("large")})
			if err == nil && len(found[0]) > 0 {
				return full
			}
			return err
		}}
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		defer tab.Close()
		results := map[string]error{}
		for _, key := range []string{"1", "large", "2"} {
			tab.Enqueue([]outbox.Draft{draftOf(w, key)}, func(errs []error) { results[key] = errs[0] })
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		require.NoError(t, results["1"])
		require.NoError(t, results["2"])
		require.ErrorIs(t, results["large"], full)
		require.Equal(t, outbox.CodeStorage, outbox.CodeOf(results["large"]))
	})
}

func TestWhatWasHandedOverBeforeADisposeIsStored(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		synctest.Wait()
		var before error
		tab.Enqueue([]outbox.Draft{draftOf(w, "1")}, func(errs []error) { before = errs[0] })
		tab.Close()
		require.NoError(t, before)
		require.Len(t, w.Stored(), 1)
		require.Equal(t, outbox.CodeDisposed, outbox.CodeOf(tab.Try(draftOf(w, "2"))[0]))
	})
}

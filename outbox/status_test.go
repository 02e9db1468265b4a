package outbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/memory"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

func TestAStatusIsNotBehindAPromise(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		defer tab.Close()
		tab.Write("todos", "1", "insert a:1", "update a:2 < a:1")
		require.Equal(t, 2, tab.Status().Pending)
		require.False(t, tab.Status().OldestAt.IsZero())
		w.Network.Set(true)
		synctest.Wait()
		require.Zero(t, tab.Status().Pending+tab.Status().InRequest)
		require.True(t, tab.Status().OldestAt.IsZero())
	})
}

func TestAnEntryOfAnotherStdSyncIsNoneOfOurs(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		defer tab.Close()
		id := tab.Write("todos", "1", "insert a:1")[0]

		other, err := outbox.New(outbox.Config{Sync: "other", Store: w.Store, Doorbell: new(memory.Channel).Doorbell(), Leadership: &memory.Lock{}, NewID: w.NewID})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = other.Run(ctx)
		}()
		require.Equal(t, outbox.CodeInvalid, outbox.CodeOf(other.Discard(ctx, id)))
		_, err = other.Retry(ctx, id)
		require.Equal(t, outbox.CodeInvalid, outbox.CodeOf(err))
		stop()
		<-done
		require.Equal(t, outbox.Pending, w.Entry(id).Status)
	})
}

func TestAStoreThatWasDeletedIsBegunAnew(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		tab := w.OpenVersion(3, nil, todos)
		defer tab.Close()
		id := tab.Write("todos", "1", "insert a:1")[0]
		synctest.Wait()
		require.NoError(t, w.Store.Update(context.Background(), outbox.Strict, func(tx outbox.Tx) error {
			require.NoError(t, tx.Clear(outboxtest.Sync))
			return tx.PutMeta(outbox.Meta{Sync: outboxtest.Sync})
		}))
		tab.Suspect()
		synctest.Wait()
		err, settled := tab.Settled(id)
		require.True(t, settled)
		require.Equal(t, outbox.CodeReset, outbox.CodeOf(err))
		tab.Write("todos", "1", "insert a:2")
		require.Equal(t, 1, tab.Status().Pending)
	})
}

func TestAFollowerSaysWhatTheLeaderWaitsFor(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("1", outboxtest.Away))
		leader := w.OpenTab(todos)
		defer leader.Close()
		synctest.Wait()
		tab := w.OpenTab(todos)
		defer tab.Close()
		tab.Write("todos", "1", "insert a:1")
		synctest.Wait()
		require.Equal(t, "backoff", tab.Status().WaitingFor)
		late := w.OpenTab(todos)
		defer late.Close()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Equal(t, "backoff", late.Status().WaitingFor, "one that came later has asked")
		tab.Write("others", "1", "insert a:1")
		w.Backend.Answer(nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Equal(t, "handler:collection:others", tab.Status().WaitingFor)
	})
}

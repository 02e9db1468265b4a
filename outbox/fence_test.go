package outbox_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

func epochOf(t *testing.T, w *outboxtest.World) (epoch int64) {
	require.NoError(t, w.Store.View(context.Background(), func(tx outbox.Tx) error {
		meta, err := tx.Meta(outboxtest.Sync)
		epoch = meta.Epoch
		return err
	}))
	return epoch
}

func TestOverlappingRoundsNeverFlyAQueueTwiceAtOnce(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("1", outboxtest.Hang))
		tab := w.OpenTab(todos)
		defer tab.Close()
		tab.Write("todos", "1", "update a:1 < a:0")
		synctest.Wait()
		tab.Write("todos", "1", "update a:2 < a:1")
		claimed, err := tab.Round(context.Background(), epochOf(t, w), queue("1"))
		require.NoError(t, err)
		require.Zero(t, claimed, "the queue has a claim of this epoch")
	})
}

func TestAStaleEpochWritesNothing(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.NoLock = true
		var sent atomic.Int32
		w.Backend.Answer(func(outboxtest.Sent) outboxtest.Answer {
			if sent.Add(1) == 1 {
				return outboxtest.RefuseLater
			}
			return outboxtest.Apply
		})
		old := w.OpenTab(todos)
		defer old.Close()
		id := old.Write("todos", "1", "insert a:1")[0]
		synctest.Wait()
		require.Equal(t, outbox.InRequest, w.Entry(id).Status)
		stale := epochOf(t, w)

		newer := w.OpenTab(todos)
		defer newer.Close()
		synctest.Wait()
		require.Empty(t, w.Stored(), "the newer drainer repeated the request")
		_, err := old.Round(context.Background(), stale, queue("1"))
		require.ErrorIs(t, err, outbox.ErrStale)

		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		require.Empty(t, w.Stored(), "the older one's late refusal was dropped")
		requests := w.Backend.Sent()
		require.Len(t, requests, 2)
		require.Equal(t, requests[0].Key, requests[1].Key)
		err, settled := old.Settled(id)
		require.True(t, settled)
		require.NoError(t, err)
	})
}

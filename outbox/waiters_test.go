package outbox_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

func TestATransactionFailsWithItsFirstAndTheRestIsWaitedForOnItsOwn(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(func(s outboxtest.Sent) outboxtest.Answer {
			switch s.Queue {
			case queue("bad"):
				return outboxtest.Refuse
			case queue("away"):
				return outboxtest.Away
			}
			return outboxtest.Apply
		})
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		defer tab.Close()
		var drafts []outbox.Draft
		for _, key := range []string{"good", "bad", "away"} {
			drafts = append(drafts, outbox.Draft{
				ID: "tx:" + key, Transaction: "tx", Name: todos, Queue: queue(key), Op: outbox.OpInsert, Changes: outboxtest.Fields{"a": key},
			})
		}
		tab.Store(drafts...)
		w.Network.Set(true)
		synctest.Wait()
		err, settled := tab.Settled("tx")
		require.True(t, settled)
		require.ErrorIs(t, err, &outbox.Error{Code: outbox.CodeFailed, EntryID: "tx:bad"})
		_, settled = tab.Settled("tx:away~")
		require.False(t, settled)

		w.Backend.Answer(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		err, settled = tab.Settled("tx:away~")
		require.True(t, settled)
		require.NoError(t, err)
	})
}

func TestWaitersSettleInTheOrderInWhichTheyBegan(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		defer tab.Close()
		want := tab.Write("todos", "1", "insert a:0")
		for range 50 {
			want = append(want, tab.Write("todos", "1", "update a:1 < a:0")...)
		}
		w.Network.Set(true)
		synctest.Wait()
		require.Len(t, w.Backend.Log(), 1)
		require.Equal(t, want, tab.Order())
	})
}

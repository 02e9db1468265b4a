package outbox_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

const todos = "collection:todos"

// world runs a test in a bubble with a World.
func world(t *testing.T, test func(t *testing.T, w *outboxtest.World)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, outboxtest.NewWorld(t)) })
}

func queue(key string) string { return outbox.QueueOf("todos", outbox.Key("s:"+key)) }

// answers meets the Requests of a Queue in a certain way, and applies the rest.
func answers(key string, answer outboxtest.Answer) func(outboxtest.Sent) outboxtest.Answer {
	return func(s outboxtest.Sent) outboxtest.Answer {
		if s.Queue == queue(key) {
			return answer
		}
		return outboxtest.Apply
	}
}

func TestAnEditIsDeliveredOnceAndItsWaiterResolves(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		tab := w.OpenTab(todos)
		defer tab.Close()
		synctest.Wait()
		id := tab.Write("todos", "1", "insert a:1")[0]
		synctest.Wait()
		require.Equal(t, []string{queue("1") + ": insert {a:1}"}, w.Backend.Log())
		require.Empty(t, w.Stored())
		err, settled := tab.Settled(id)
		require.True(t, settled)
		require.NoError(t, err)
		require.Equal(t, outboxtest.Fields{"a": "1"}, tab.Row("todos", "1"))
		require.Equal(t, []outbox.EventType{"gate-open", "leader", "enqueued", "claimed", "flown", "delivered"}, tab.Events())
	})
}

func TestOfflineEditsWaitAndAreFoldedWhenTheNetworkReturns(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		defer tab.Close()
		tab.Write("todos", "1", "insert a:1", "update a:2 < a:1", "update b:1 < a:2")
		synctest.Wait()
		require.Empty(t, w.Backend.Log())
		require.Equal(t, "online", statusOf(tab).WaitingFor)

		w.Network.Set(true)
		synctest.Wait()
		require.Equal(t, []string{queue("1") + ": insert {a:2 b:1}"}, w.Backend.Log())
		require.Empty(t, w.Stored())
	})
}

// statusOf returns the Status once it has caught up.
func statusOf(tab *outboxtest.Tab) outbox.Status {
	time.Sleep(time.Second)
	synctest.Wait()
	return tab.Status()
}

func TestAnInsertThatMayHaveArrivedIsNotFoldedWithItsDelete(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("1", outboxtest.Hang))
		first := w.OpenTab(todos)
		first.Write("todos", "1", "insert a:1")
		synctest.Wait()
		first.Close()
		require.Equal(t, outbox.InRequest, w.Stored()[0].Status)

		w.Network.Set(false)
		w.Backend.Answer(nil)
		second := w.OpenTab(todos)
		defer second.Close()
		second.Write("todos", "1", "delete a:1")
		w.Network.Set(true)
		synctest.Wait()
		require.Equal(t, []string{queue("1") + ": insert {a:1}", queue("1") + ": insert {a:1}", queue("1") + ": delete ({a:1})"}, w.Backend.Log())
		sent := w.Backend.Sent()
		require.Equal(t, sent[0].Key, sent[1].Key)
		require.False(t, sent[1].Applied)
		require.Nil(t, w.Backend.Row(queue("1")))
		require.Empty(t, w.Stored())
	})
}

func TestARequestThatMayHaveArrivedIsRepeatedUnchanged(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("1", outboxtest.LoseAck))
		tab := w.OpenTab(todos)
		defer tab.Close()
		tab.Write("todos", "1", "update a:2 < a:1 b:1", "update b:2 < a:2 b:1")
		synctest.Wait()
		tab.Write("todos", "1", "update a:3 < a:2 b:2")
		w.Backend.Answer(nil)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		sent := w.Backend.Sent()
		require.Len(t, sent, 3)
		require.Equal(t, sent[0].Key, sent[1].Key)
		require.Equal(t, "update ({a:1 b:1}) {a:2 b:2}", sent[1].Text)
		require.Equal(t, 2, sent[1].Attempt)
		require.NotEqual(t, sent[1].Key, sent[2].Key)
		require.Equal(t, "update ({a:2 b:2}) {a:3}", sent[2].Text)
	})
}

func TestAQueueBacksOffAloneWhenItsBackendIsUnreachable(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("bad", outboxtest.Away))
		tab := w.OpenTab(todos)
		defer tab.Close()
		bad := tab.Write("todos", "bad", "insert a:1")[0]
		for _, key := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
			tab.Write("todos", key, "insert a:1")
		}
		synctest.Wait()
		require.Len(t, w.Stored(), 1)
		require.Equal(t, 1, w.Entry(bad).Attempt)
		require.Equal(t, "no answer", w.Entry(bad).Error.Message)
		require.Equal(t, "backoff", statusOf(tab).WaitingFor)

		time.Sleep(10 * time.Minute)
		attempts := w.Entry(bad).Attempt
		require.Greater(t, attempts, 10, "it is tried at least once a minute")
		require.Less(t, attempts, 40, "it is not hammered")

		w.Backend.Answer(nil)
		tab.Drain()
		synctest.Wait()
		require.Empty(t, w.Stored())
	})
}

func TestABackoffEndsByItself(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("1", outboxtest.Away))
		tab := w.OpenTab(todos)
		defer tab.Close()
		tab.Write("todos", "1", "insert a:1")
		synctest.Wait()
		w.Backend.Answer(nil)
		time.Sleep(400 * time.Millisecond)
		synctest.Wait()
		require.Len(t, w.Stored(), 1)
		time.Sleep(601 * time.Millisecond)
		synctest.Wait()
		require.Empty(t, w.Stored())
	})
}

func TestComingOnlineEndsEveryBackoff(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("1", outboxtest.Away))
		tab := w.OpenTab(todos)
		defer tab.Close()
		tab.Write("todos", "1", "insert a:1")
		time.Sleep(5 * time.Minute)
		w.Backend.Answer(nil)
		w.Network.Set(false)
		w.Network.Set(true)
		synctest.Wait()
		require.Empty(t, w.Stored())
	})
}

func TestARefusedWriteIsKeptAsFailedAndItsQueueGoesOn(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(func(s outboxtest.Sent) outboxtest.Answer {
			if s.Text == "update ({a:1}) {a:bad}" {
				return outboxtest.Refuse
			}
			return outboxtest.Apply
		})
		tab := w.OpenTab(todos)
		defer tab.Close()
		bad := tab.Write("todos", "1", "update a:bad < a:1")[0]
		synctest.Wait()
		good := tab.Write("todos", "1", "update a:2 < a:1")[0]
		synctest.Wait()
		err, _ := tab.Settled(bad)
		require.ErrorIs(t, err, &outbox.Error{Code: outbox.CodeFailed, EntryID: bad})
		require.ErrorContains(t, err, "refused by the backend")
		err, settled := tab.Settled(good)
		require.True(t, settled)
		require.NoError(t, err)
		require.Equal(t, outbox.Failed, w.Entry(bad).Status)

		w.Backend.Answer(nil)
		key := w.Backend.Sent()[0].Key
		revived, err := tab.Retry(context.Background(), bad)
		require.NoError(t, err)
		require.Len(t, revived, 1)
		synctest.Wait()
		sent := w.Backend.Sent()
		require.NotEqual(t, key, sent[len(sent)-1].Key, "a retry flies under a new idempotency key")
		require.Empty(t, w.Stored())
	})
}

func TestWhatDependsOnARefusedInsertFailsUnflownAndIsRevivedWithIt(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(func(s outboxtest.Sent) outboxtest.Answer {
			if strings.HasPrefix(s.Text, "insert") {
				return outboxtest.RefuseLater
			}
			return outboxtest.Apply
		})
		tab := w.OpenTab(todos)
		defer tab.Close()
		insert := tab.Write("todos", "1", "insert a:1")[0]
		synctest.Wait()
		update := tab.Write("todos", "1", "update a:2 < a:1", "delete a:2")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		sent := len(w.Backend.Log())
		require.Equal(t, 1, sent)
		for _, id := range append([]string{insert}, update...) {
			require.Equal(t, outbox.Failed, w.Entry(id).Status)
		}
		require.Equal(t, dependsOn(insert), w.Entry(update[0]).Error.Message)
		err, _ := tab.Settled(update[1])
		require.ErrorContains(t, err, dependsOn(insert))

		w.Backend.Answer(nil)
		_, err = tab.Retry(context.Background(), insert)
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, w.Stored())
		require.Len(t, w.Backend.Log(), sent, "revived together they fold to nothing")
	})
}

func dependsOn(id string) string { return "depends on " + id }

func TestAnEntryWithoutAHandlerWaitsForIt(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		tab := w.OpenTab()
		defer tab.Close()
		id := tab.Write("todos", "1", "insert a:1")[0]
		synctest.Wait()
		require.Equal(t, outbox.Pending, w.Entry(id).Status)
		require.Zero(t, w.Entry(id).Attempt)
		require.Equal(t, "handler:collection:todos", statusOf(tab).WaitingFor)
		require.NoError(t, tab.Register(todos, &w.Backend, outbox.Traits{}))
		synctest.Wait()
		require.Empty(t, w.Stored())
	})
}

func TestAnActionQueueFliesOneEntryAtATimeInOrder(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		tab := w.OpenTab("action:archive")
		defer tab.Close()
		w.Network.Set(false)
		want := []string{}
		for _, n := range []string{"1", "2", "3", "4", "5"} {
			tab.Call("archive", "", "n:"+n)
			want = append(want, "action:archive: action {n:"+n+"}")
		}
		w.Network.Set(true)
		synctest.Wait()
		require.Equal(t, want, w.Backend.Log())
	})
}

func TestAHungRequestDoesNotHoldUpOtherQueues(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("hung", outboxtest.HangAway))
		tab := w.OpenTab(todos)
		defer tab.Close()
		tab.Write("todos", "hung", "insert a:1")
		for _, key := range []string{"1", "2", "3", "4", "5", "6", "7"} {
			tab.Write("todos", key, "insert a:1")
		}
		synctest.Wait()
		require.Len(t, w.Stored(), 1)
	})
}

func TestAFollowersWriteIsDeliveredByTheLeaderAndSettlesInItsTab(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		leader := w.OpenTab(todos)
		defer leader.Close()
		synctest.Wait()
		follower := w.OpenTab(todos)
		defer follower.Close()
		id := follower.Write("todos", "1", "insert a:1")[0]
		synctest.Wait()
		require.False(t, follower.Leads())
		err, settled := follower.Settled(id)
		require.True(t, settled)
		require.NoError(t, err)
		require.Equal(t, outboxtest.Fields{"a": "1"}, follower.Row("todos", "1"))
	})
}

func TestTheNextTabDrainsWhenTheLeaderCloses(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("1", outboxtest.Away))
		leader := w.OpenTab(todos)
		leader.Write("todos", "1", "insert a:1")
		synctest.Wait()
		follower := w.OpenTab(todos)
		defer follower.Close()
		synctest.Wait()
		w.Backend.Answer(nil)
		leader.Close()
		synctest.Wait()
		require.True(t, follower.Leads())
		require.Empty(t, w.Stored())
	})
}

func TestADiscardRejectsInEveryTab(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		one, two := w.OpenTab(todos), w.OpenTab(todos)
		defer one.Close()
		defer two.Close()
		id := one.Write("todos", "1", "insert a:1")[0]
		later := one.Write("todos", "1", "update a:2 < a:1")[0]
		require.NoError(t, two.Discard(context.Background(), id))
		synctest.Wait()
		err, settled := one.Settled(id)
		require.True(t, settled)
		require.Equal(t, outbox.CodeDiscarded, outbox.CodeOf(err))
		require.Equal(t, outbox.Failed, w.Entry(later).Status, "an update of a row that was never made fails with it")
		require.Equal(t, outbox.CodeInvalid, outbox.CodeOf(two.Discard(context.Background(), id)))
	})
}

func TestAnEntryInARequestRefusesToBeDiscarded(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("1", outboxtest.Hang))
		tab := w.OpenTab(todos)
		defer tab.Close()
		id := tab.Write("todos", "1", "insert a:1")[0]
		synctest.Wait()
		err := tab.Discard(context.Background(), id)
		require.Equal(t, outbox.CodeInRequest, outbox.CodeOf(err))
		require.Equal(t, outbox.InRequest, w.Entry(id).Status)
	})
}

func TestAPauseStopsEveryTabUntilItIsResumed(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		leader := w.OpenTab(todos)
		synctest.Wait()
		follower := w.OpenTab(todos)
		require.NoError(t, follower.Pause(context.Background()))
		follower.Write("todos", "1", "insert a:1")
		time.Sleep(time.Minute)
		require.Equal(t, "paused", statusOf(leader).WaitingFor)
		require.Equal(t, "paused", statusOf(follower).WaitingFor)
		leader.Close()
		defer follower.Close()
		synctest.Wait()
		require.Empty(t, w.Backend.Log(), "the pause outlives the tab it was made in")
		require.NoError(t, follower.Resume(context.Background()))
		synctest.Wait()
		require.Len(t, w.Backend.Log(), 1)
	})
}

func TestAStolenLockAbortsTheFlightsAndTheThiefRepeatsThem(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("1", outboxtest.Hang))
		one := w.OpenTab(todos)
		defer one.Close()
		one.Write("todos", "1", "insert a:1")
		synctest.Wait()
		two := w.OpenTab(todos)
		defer two.Close()
		synctest.Wait()
		w.Backend.Answer(nil)
		w.Lock.Break()
		synctest.Wait()
		require.True(t, two.Leads())
		sent := w.Backend.Sent()
		require.Len(t, sent, 2)
		require.Equal(t, sent[0].Key, sent[1].Key)
		require.Empty(t, w.Stored())
	})
}

func TestAWaiterIsSettledByTheSlowPollWhenNoDoorbellRings(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		defer tab.Close()
		id := tab.Write("todos", "1", "insert a:1")[0]
		synctest.Wait()
		require.NoError(t, w.Store.Update(context.Background(), outbox.Strict, func(tx outbox.Tx) error {
			return tx.DeleteEntries(id)
		}))
		synctest.Wait()
		_, settled := tab.Settled(id)
		require.False(t, settled)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		err, settled := tab.Settled(id)
		require.True(t, settled)
		require.NoError(t, err)
	})
}

func TestDisposingATabRejectsItsWaitersAndKeepsItsEntries(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Network.Set(false)
		tab := w.OpenTab(todos)
		id := tab.Write("todos", "1", "insert a:1")[0]
		synctest.Wait()
		tab.Close()
		err, _ := tab.Settled(id)
		require.Equal(t, outbox.CodeDisposed, outbox.CodeOf(err))
		require.Equal(t, outbox.Pending, w.Entry(id).Status)
	})
}

func TestAFlightThatTakesLongIsToldOnce(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("slow", outboxtest.Hang))
		tab := w.OpenTab(todos)
		defer tab.Close()
		tab.Write("todos", "fast", "insert a:1")
		tab.Write("todos", "slow", "insert a:1")
		time.Sleep(29 * time.Second)
		synctest.Wait()
		require.NotContains(t, tab.Events(), outbox.EventRequestSlow)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		require.Equal(t, 1, strings.Count(joined(tab.Events()), string(outbox.EventRequestSlow)))
	})
}

func joined(types []outbox.EventType) (all string) {
	for _, one := range types {
		all += string(one) + " "
	}
	return all
}

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

// hung holds the lock as a tab does whose main thread hangs: it answers nothing.
// It returns whether it was robbed.
func hung(t *testing.T, w *outboxtest.World) (robbed func() bool) {
	var lost bool
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = w.Lock.Lead(ctx, func(held context.Context) error {
			<-held.Done()
			lost = ctx.Err() == nil
			return nil
		})
	}()
	synctest.Wait()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return func() bool {
		synctest.Wait()
		return lost
	}
}

func TestALeaderThatHangsIsReplacedWithinFifteenSeconds(t *testing.T) {
	for _, at := range []time.Duration{0, 4 * time.Second, 9*time.Second + time.Millisecond, 25 * time.Second} {
		world(t, func(t *testing.T, w *outboxtest.World) {
			robbed := hung(t, w)
			tab := w.OpenTab(todos)
			t.Cleanup(tab.Close)
			time.Sleep(at)
			id := tab.Write("todos", "1", "insert a:1")[0]
			time.Sleep(15 * time.Second)
			synctest.Wait()
			err, settled := tab.Settled(id)
			require.True(t, settled)
			require.NoError(t, err)
			require.True(t, robbed())
			require.True(t, tab.Leads())
		})
	}
}

func TestWhoWaitsForASilentLeaderSaysSo(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		hung(t, w)
		tab := w.OpenTab(todos)
		t.Cleanup(tab.Close)
		tab.Write("todos", "1", "insert a:1")
		time.Sleep(9*time.Second + time.Second)
		synctest.Wait()
		require.Equal(t, "leader", tab.Status().WaitingFor)
	})
}

func TestALeaderThatLivesIsNeverRobbed(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Backend.Answer(answers("hangs", outboxtest.Hang))
		leader := w.OpenTab(todos)
		t.Cleanup(leader.Close)
		synctest.Wait()
		tab := w.OpenTab(todos)
		t.Cleanup(tab.Close)
		tab.Write("todos", "hangs", "insert a:1")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		require.True(t, leader.Leads())
		require.Len(t, w.Backend.Sent(), 1)
		require.Equal(t, "", tab.Status().WaitingFor)
	})
}

func TestNobodyIsRobbedWithoutNeed(t *testing.T) {
	for name, prepare := range map[string]func(*outboxtest.World){
		"hidden":  func(w *outboxtest.World) { w.Hidden = true },
		"offline": func(w *outboxtest.World) { w.Network.Set(false) },
	} {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, w *outboxtest.World) {
				prepare(w)
				robbed := hung(t, w)
				tab := w.OpenTab(todos)
				t.Cleanup(tab.Close)
				tab.Write("todos", "1", "insert a:1")
				time.Sleep(time.Minute)
				require.False(t, robbed())
			})
		})
	}
	t.Run("nothing waits", func(t *testing.T) {
		world(t, func(t *testing.T, w *outboxtest.World) {
			robbed := hung(t, w)
			tab := w.OpenTab(todos)
			t.Cleanup(tab.Close)
			time.Sleep(time.Minute)
			require.False(t, robbed())
		})
	})
	t.Run("paused", func(t *testing.T) {
		world(t, func(t *testing.T, w *outboxtest.World) {
			robbed := hung(t, w)
			tab := w.OpenTab(todos)
			t.Cleanup(tab.Close)
			require.NoError(t, tab.Pause(t.Context()))
			tab.Write("todos", "1", "insert a:1")
			time.Sleep(time.Minute)
			require.False(t, robbed())
		})
	})
}

func TestATabWithoutADoorbellRobsNobody(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		robbed := hung(t, w)
		tab, err := outbox.New(outbox.Config{Sync: outboxtest.Sync, Store: w.Store, Leadership: &w.Lock, NewID: w.NewID})
		require.NoError(t, err)
		tab.OpenGate()
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = tab.Run(ctx)
		}()
		tab.Enqueue([]outbox.Draft{{ID: "a", Transaction: "a", Name: todos, Queue: queue("1"), Op: outbox.OpInsert, Changes: outboxtest.Fields{}}}, func([]error) {})
		time.Sleep(time.Minute)
		require.False(t, robbed())
		cancel()
		<-done
	})
}

// A stalled store keeps the answer to one transaction back, as a main thread that
// hangs does.
type stalled struct {
	outbox.Store
	stall chan time.Duration
}

func (s *stalled) Update(ctx context.Context, d outbox.Durability, fn func(outbox.Tx) error) error {
	err := s.Store.Update(ctx, d, fn)
	select {
	case d := <-s.stall:
		time.Sleep(d)
	default:
	}
	return err
}

func TestAClaimThatWasStoredBeforeTheTabHungIsNotFlownByIt(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		shared, store := w.Store, &stalled{Store: w.Store, stall: make(chan time.Duration, 1)}
		w.Store = store
		hangs := w.OpenTab(todos)
		t.Cleanup(hangs.Close)
		synctest.Wait()
		w.Store = shared
		tab := w.OpenTab(todos)
		t.Cleanup(tab.Close)
		synctest.Wait()
		require.True(t, hangs.Leads())
		store.stall <- time.Minute
		id := tab.Write("todos", "1", "insert a:1")[0]
		time.Sleep(15 * time.Second)
		synctest.Wait()
		_, settled := tab.Settled(id)
		require.True(t, settled, "the other tab took over")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Len(t, w.Backend.Sent(), 1)
		require.Empty(t, w.Stored())
	})
}

func TestALeaseElectsOneAndIsHandedOver(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.Leased = true
		one := w.OpenTab(todos)
		synctest.Wait()
		two := w.OpenTab(todos)
		t.Cleanup(two.Close)
		for range 3 {
			two.Write("todos", "1", "update a:1")
			time.Sleep(time.Minute)
			require.True(t, one.Leads())
			require.False(t, two.Leads())
		}
		require.Empty(t, w.Stored())
		one.Close()
		time.Sleep(3 * time.Second)
		require.True(t, two.Leads(), "what is given back is taken soon")
	})
}

func TestALeaseThatIsNotRenewedIsTaken(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		require.NoError(t, w.Store.Update(t.Context(), outbox.Strict, func(tx outbox.Tx) error {
			return tx.PutMeta(outbox.Meta{Sync: outboxtest.Sync, Format: outbox.Format, Generation: "g", Lease: outbox.Held{By: "dead", Until: time.Now().Add(10 * time.Second).UnixMilli()}})
		}))
		w.Leased = true
		tab := w.OpenTab(todos)
		t.Cleanup(tab.Close)
		time.Sleep(8 * time.Second)
		require.False(t, tab.Leads())
		time.Sleep(5 * time.Second)
		require.True(t, tab.Leads())
	})
}

func TestALeaseFromTheFutureIsTaken(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		require.NoError(t, w.Store.Update(t.Context(), outbox.Strict, func(tx outbox.Tx) error {
			return tx.PutMeta(outbox.Meta{Sync: outboxtest.Sync, Format: outbox.Format, Generation: "g", Lease: outbox.Held{By: "dead", Until: time.Now().Add(time.Hour).UnixMilli()}})
		}))
		w.Leased = true
		tab := w.OpenTab(todos)
		t.Cleanup(tab.Close)
		synctest.Wait()
		require.True(t, tab.Leads())
	})
}

func TestAStolenLeaseEndsTheTerm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memory.Store{}
		w := outboxtest.NewWorld(t)
		require.NoError(t, store.Update(t.Context(), outbox.Strict, func(tx outbox.Tx) error {
			return tx.PutMeta(outbox.Meta{Sync: "acme", Format: outbox.Format})
		}))
		lease := func() *outbox.Lease { return &outbox.Lease{Store: store, Sync: "acme", NewID: w.NewID} }
		lost, end := make(chan time.Time, 1), make(chan struct{})
		go func() {
			_ = lease().Lead(context.Background(), func(ctx context.Context) error {
				<-ctx.Done()
				lost <- time.Now()
				return nil
			})
		}()
		synctest.Wait()
		stolen := time.Now()
		done := make(chan error, 1)
		go func() {
			done <- lease().Steal(context.Background(), func(context.Context) error {
				<-end
				return nil
			})
		}()
		require.LessOrEqual(t, (<-lost).Sub(stolen), 3*time.Second)
		close(end)
		require.NoError(t, <-done)
	})
}

func TestATabThatLostTheLeadWithoutHearingOfItFindsOutWhenItLooks(t *testing.T) {
	world(t, func(t *testing.T, w *outboxtest.World) {
		w.NoLock = true // nobody is told of the loss of a lock
		one := w.OpenTab(todos)
		t.Cleanup(one.Close)
		synctest.Wait()
		require.NoError(t, w.Store.Update(t.Context(), outbox.Strict, func(tx outbox.Tx) error {
			meta, err := tx.Meta(outboxtest.Sync)
			require.NoError(t, err)
			meta.Epoch++
			return tx.PutMeta(meta)
		}))
		one.Suspect()
		synctest.Wait()
		require.Contains(t, one.Events(), outbox.EventFollower)
	})
}

package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/memory"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

func TestLock(t *testing.T) {
	outboxtest.TestLeadership(t, func(*testing.T) func() outbox.Leadership {
		var lock memory.Lock
		return func() outbox.Leadership { return &lock }
	})
}

func TestABrokenLockGoesToWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lock memory.Lock
		failure := errors.New("what the loser says")
		said := make(chan error, 1)
		end := make(chan struct{})
		go func() {
			said <- lock.Lead(t.Context(), func(ctx context.Context) error {
				<-ctx.Done()
				<-end
				return failure
			})
		}()
		synctest.Wait()
		terms := 0
		for range 2 {
			go func() {
				_ = lock.Lead(t.Context(), func(ctx context.Context) error {
					terms++ // guarded by the lock
					<-ctx.Done()
					return nil
				})
			}()
		}
		synctest.Wait()
		require.Zero(t, terms)
		lock.Break()
		synctest.Wait()
		require.Equal(t, 1, terms)
		close(end)
		synctest.Wait()
		require.Same(t, failure, <-said)
		require.Equal(t, 1, terms, "the loser's end freed a lock that was not its own")
		lock.Break()
		synctest.Wait()
		require.Equal(t, 2, terms)
		lock.Break()
	})
}

func TestBreakingAFreeLockDoesNothing(t *testing.T) {
	var lock memory.Lock
	lock.Break()
	require.NoError(t, lock.Lead(t.Context(), func(ctx context.Context) error { return ctx.Err() }))
}

package outboxtest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
)

// leadershipTimeout is how long a suite waits for what must happen. It only ever
// fails a test.
const leadershipTimeout = 20 * time.Second

// TestLeadership is the conformance suite of outbox.Leadership. open makes a
// new lock that nobody holds, and returns what gives one more tab's Leadership of it.
//
// A Leadership must have taken its place in the queue before it first asks for
// ctx.Done: that is how the suite knows who waits, without guessing by time.
func TestLeadership(t *testing.T, open func(t *testing.T) (tabs func() outbox.Leadership)) {
	for _, row := range []struct {
		name string
		test func(*leadershipTest)
	}{
		{"one of many leads at a time", (*leadershipTest).oneLeadsAtATime},
		{"the end of a term hands the lock over", (*leadershipTest).handsOver},
		{"first come, first served", (*leadershipTest).firstComeFirstServed},
		{"the error of a term is returned", (*leadershipTest).returnsTheError},
		{"an ended context asks for nothing", (*leadershipTest).endedContext},
		{"a wait that is cut short leaves the lock usable", (*leadershipTest).cutShort},
		{"a wait ends with its deadline", (*leadershipTest).deadline},
		{"the end of the context reaches the term, which still holds the lock", (*leadershipTest).endsDuringATerm},
		{"a wait that is cut short as it is granted leaves the lock usable", (*leadershipTest).cutShortAtTheGrant},
		{"a term that panics frees the lock", (*leadershipTest).panics},
		{"a term that exits its goroutine frees the lock", (*leadershipTest).exits},
		{"a free lock can be stolen", (*leadershipTest).stealsAFreeLock},
		{"a theft ends the context of the holder's term", (*leadershipTest).stealsFromAHolder},
		{"a thief's lock can be stolen, too", (*leadershipTest).stealsFromAThief},
		{"those who wait still do, and in order", (*leadershipTest).stealsPastTheQueue},
		{"an ended context steals nothing", (*leadershipTest).endedContextStealsNothing},
	} {
		t.Run(row.name, func(t *testing.T) { row.test(&leadershipTest{t, open(t), open(t)}) })
	}
}

// leadershipTest is one test with a lock of its own, and with another one.
type leadershipTest struct {
	*testing.T
	tab, elsewhere func() outbox.Leadership
}

// candidate is a call of Lead or Steal under way.
type candidate struct {
	t *leadershipTest
	// waiting is closed when the call has taken its place in the queue, and
	// leading when its term began.
	waiting, leading chan struct{}
	// resign ends the term with an error, or nil; before it does, last is called.
	resign chan error
	last   func()
	// term is the context of the term, once leading is closed.
	term context.Context
	// returned receives what the call returned.
	returned chan error
}

// lead starts a call of Lead whose term lasts until it resigns.
func (t *leadershipTest) lead(ctx context.Context) *candidate {
	return t.call(ctx, t.tab().Lead)
}

// steal starts a call of Steal whose term lasts until it resigns.
func (t *leadershipTest) steal(ctx context.Context) *candidate {
	return t.call(ctx, t.tab().Steal)
}

func (t *leadershipTest) call(ctx context.Context, call func(context.Context, func(context.Context) error) error) *candidate {
	c := &candidate{
		t: t, waiting: make(chan struct{}), leading: make(chan struct{}),
		resign: make(chan error, 1), last: func() {}, returned: make(chan error, 1),
	}
	go func() {
		c.returned <- call(&watchedContext{Context: ctx, watched: c.waiting}, func(ctx context.Context) error {
			c.term = ctx
			close(c.leading)
			err := <-c.resign
			c.last()
			return err
		})
	}()
	return c
}

// queued returns once the candidate has its place in the queue.
func (c *candidate) queued() *candidate {
	c.t.Helper()
	leadershipWait(c.t, c.waiting, "a place in the queue")
	return c
}

// led returns once the candidate's term has begun.
func (c *candidate) led() *candidate {
	c.t.Helper()
	leadershipWait(c.t, c.leading, "a term")
	return c
}

// left returns what the call returned.
func (c *candidate) left() error {
	c.t.Helper()
	return leadershipWait(c.t, c.returned, "the end of a call")
}

// resigned ends the term and returns what the call returned.
func (c *candidate) resigned(err error) error {
	c.t.Helper()
	c.resign <- err
	return c.left()
}

// began reports whether the candidate's term has begun.
func (c *candidate) began() bool {
	select {
	case <-c.leading:
		return true
	default:
		return false
	}
}

// leads reports whether the candidate's term has begun, or is about to.
func (c *candidate) leads() bool {
	c.t.Helper()
	c.t.dwell()
	return c.began()
}

// dwell gives whatever is under way the time to happen, so that what has not
// happened by then does not: it has terms of another lock go by, which take the
// same way.
func (t *leadershipTest) dwell() {
	t.Helper()
	for range 3 {
		passed := make(chan error, 1)
		go func() {
			passed <- t.elsewhere().Lead(context.Background(), func(context.Context) error { return nil })
		}()
		require.NoError(t, leadershipWait(t, passed, "a term of another lock"))
	}
}

// usable fails unless the lock can be had.
func (t *leadershipTest) usable() {
	t.Helper()
	require.NoError(t, t.lead(context.Background()).led().resigned(nil))
}

// leadershipWait returns what the channel gives.
func leadershipWait[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(leadershipTimeout):
		require.FailNow(t, "waited in vain", "for %s", what)
		panic("unreachable")
	}
}

// watchedContext tells when somebody first watches for its end.
type watchedContext struct {
	context.Context
	once    sync.Once
	watched chan struct{}
}

// Done returns the context's, and closes watched.
func (c *watchedContext) Done() <-chan struct{} {
	c.once.Do(func() { close(c.watched) })
	return c.Context.Done()
}

func (t *leadershipTest) oneLeadsAtATime() {
	const tabs, rounds = 10, 10
	var inside atomic.Int32
	terms := 0 // guarded by the lock, and by nothing else
	failures := make(chan error, tabs)
	for range tabs {
		tab, elsewhere := t.tab(), t.elsewhere()
		go func() {
			var failed error
			for range rounds {
				failed = errors.Join(failed, tab.Lead(context.Background(), func(ctx context.Context) error {
					defer inside.Add(-1)
					if others := inside.Add(1) - 1; others > 0 {
						return errors.New("another term is under way")
					}
					terms++
					// While this term lasts, others have the time to begin wrongly.
					if err := elsewhere.Lead(ctx, func(context.Context) error { return nil }); err != nil {
						return err
					}
					return ctx.Err()
				}))
			}
			failures <- failed
		}()
	}
	for range tabs {
		require.NoError(t, leadershipWait(t, failures, "all terms of a tab"))
	}
	require.Equal(t, tabs*rounds, terms)
}

func (t *leadershipTest) handsOver() {
	first := t.lead(context.Background()).led()
	second := t.lead(context.Background()).queued()
	require.False(t, second.leads())
	require.NoError(t, first.resigned(nil))
	second.led()
	t.dwell()
	require.NoError(t, second.term.Err())
	require.NoError(t, second.resigned(nil))
}

func (t *leadershipTest) firstComeFirstServed() {
	candidates := []*candidate{t.lead(context.Background()).led()}
	for range 20 {
		candidates = append(candidates, t.lead(context.Background()).queued())
	}
	for i, c := range candidates {
		c.led()
		t.dwell()
		for _, later := range candidates[i+1:] {
			require.False(t, later.began())
		}
		require.NoError(t, c.resigned(nil))
	}
}

func (t *leadershipTest) returnsTheError() {
	failure := errors.New("the term failed")
	require.Same(t, failure, t.lead(context.Background()).led().resigned(failure))
	t.usable()
}

func (t *leadershipTest) endedContext() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c := t.lead(ctx)
	require.ErrorIs(t, c.left(), context.Canceled)
	require.False(t, c.leads())
	t.usable()
}

func (t *leadershipTest) cutShort() {
	ctx, cancel := context.WithCancel(context.Background())
	holder := t.lead(context.Background()).led()
	cut := t.lead(ctx).queued()
	behind := t.lead(context.Background()).queued()
	cancel()
	require.ErrorIs(t, cut.left(), context.Canceled)
	require.False(t, behind.leads())
	require.NoError(t, holder.resigned(nil))
	require.NoError(t, behind.led().resigned(nil))
	require.False(t, cut.leads())
	t.usable()
}

func (t *leadershipTest) deadline() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	holder := t.lead(context.Background()).led()
	late := t.lead(ctx)
	require.ErrorIs(t, late.left(), context.DeadlineExceeded)
	require.False(t, late.leads())
	require.NoError(t, holder.resigned(nil))
	t.usable()
}

func (t *leadershipTest) endsDuringATerm() {
	ctx, cancel := context.WithCancel(context.Background())
	holder := t.lead(ctx).led()
	next := t.lead(context.Background()).queued()
	t.dwell()
	require.NoError(t, holder.term.Err())
	cancel()
	leadershipWait(t, holder.term.Done(), "the end of the term's context")
	require.False(t, next.leads())
	require.ErrorIs(t, holder.resigned(holder.term.Err()), context.Canceled)
	require.NoError(t, next.led().resigned(nil))
}

// cutShortAtTheGrant lets the end of a wait and the grant meet in every order the
// scheduler knows. Either the term ran and Lead returned its error, or it never
// ran and Lead returned the context's.
func (t *leadershipTest) cutShortAtTheGrant() {
	for round := range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		holder := t.lead(context.Background()).led()
		raced := t.lead(ctx).queued()
		raced.resign <- nil
		if round%2 == 0 {
			holder.last = cancel
		} else {
			go func() {
				for range round % 10 {
					runtime.Gosched()
				}
				cancel()
			}()
		}
		require.NoError(t, holder.resigned(nil))
		err := raced.left()
		require.Equal(t, raced.began(), err == nil)
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
		t.usable()
		cancel()
	}
}

func (t *leadershipTest) panics() {
	tab, ended := t.tab(), make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = recover() }()
		_ = tab.Lead(context.Background(), func(context.Context) error { panic("in a term") })
	}()
	leadershipWait(t, ended, "the end of a call")
	t.usable()
}

func (t *leadershipTest) exits() {
	tab, ended := t.tab(), make(chan struct{})
	go func() {
		defer close(ended)
		_ = tab.Lead(context.Background(), func(context.Context) error {
			runtime.Goexit()
			return nil
		})
	}()
	leadershipWait(t, ended, "the end of a call")
	t.usable()
}

func (t *leadershipTest) stealsAFreeLock() {
	failure := errors.New("the term failed")
	require.Same(t, failure, t.steal(context.Background()).led().resigned(failure))
	t.usable()
}

func (t *leadershipTest) stealsFromAHolder() {
	holder := t.lead(context.Background()).led()
	thief := t.steal(context.Background()).led()
	next := t.lead(context.Background()).queued()
	leadershipWait(t, holder.term.Done(), "the end of the term's context")
	failure := errors.New("what the loser says")
	require.Same(t, failure, holder.resigned(failure))
	t.dwell()
	require.NoError(t, thief.term.Err())
	require.False(t, next.leads(), "the loser's end freed the thief's lock")
	require.NoError(t, thief.resigned(nil))
	require.NoError(t, next.led().resigned(nil))
}

func (t *leadershipTest) stealsFromAThief() {
	first := t.steal(context.Background()).led()
	second := t.steal(context.Background()).led()
	leadershipWait(t, first.term.Done(), "the end of the term's context")
	require.NoError(t, first.resigned(nil))
	t.dwell()
	require.NoError(t, second.term.Err())
	require.NoError(t, second.resigned(nil))
	t.usable()
}

func (t *leadershipTest) stealsPastTheQueue() {
	holder := t.lead(context.Background()).led()
	next := t.lead(context.Background()).queued()
	last := t.lead(context.Background()).queued()
	thief := t.steal(context.Background()).led()
	require.NoError(t, holder.resigned(nil))
	require.False(t, next.leads())
	require.NoError(t, thief.resigned(nil))
	next.led()
	require.False(t, last.leads())
	require.NoError(t, next.resigned(nil))
	require.NoError(t, last.led().resigned(nil))
}

func (t *leadershipTest) endedContextStealsNothing() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	holder := t.lead(context.Background()).led()
	thief := t.steal(ctx)
	require.ErrorIs(t, thief.left(), context.Canceled)
	require.False(t, thief.leads())
	require.NoError(t, holder.term.Err())
	require.NoError(t, holder.resigned(nil))
}

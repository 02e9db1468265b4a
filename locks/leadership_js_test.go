package locks

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall/js"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/outboxtest"
	"github.com/stdsync/outbox/outbox/outboxtest/pagetest"
)

func TestMain(m *testing.M) { pagetest.Main(m) }

func manager() js.Value { return js.Global().Get("navigator").Get("locks") }

// evaluate returns what a JavaScript expression gives.
func evaluate(expression string) js.Value {
	return js.Global().Get("Function").New("return (" + expression + ")").Invoke()
}

func TestLeadership(t *testing.T) {
	names := 0
	outboxtest.TestLeadership(t, func(t *testing.T) func() outbox.Leadership {
		names++
		name := fmt.Sprint(t.Name(), " ", names)
		// Checked when the test is over: nothing may be left of it.
		t.Cleanup(func() { require.Zero(t, liveFuncs) })
		return func() outbox.Leadership { return New(manager(), name) }
	})
}

// leads runs a term that returns at once.
func leads(context.Context) error { return nil }

func TestNothingIsLeftOfACall(t *testing.T) {
	l := New(manager(), t.Name())
	ended, end := context.WithCancel(t.Context())
	end()
	for _, row := range []struct {
		name string
		call func() error
	}{
		{"a term", func() error { return l.Lead(t.Context(), leads) }},
		{"a theft", func() error { return l.Steal(t.Context(), leads) }},
		{"a term that fails", func() error {
			if err := l.Lead(t.Context(), func(context.Context) error { return errors.New("failed") }); err == nil {
				return errors.New("the error was lost")
			}
			return nil
		}},
		{"an ended context", func() error {
			if err := l.Lead(ended, leads); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("got %w", err)
			}
			return nil
		}},
		{"a wait that is cut short", func() error {
			return l.Lead(t.Context(), func(ctx context.Context) error {
				ctx, cancel := context.WithCancel(ctx)
				go cancel()
				if err := l.Lead(ctx, leads); !errors.Is(err, context.Canceled) {
					return fmt.Errorf("got %w", err)
				}
				return nil
			})
		}},
		{"a term that is stolen", func() error {
			return l.Lead(t.Context(), func(ctx context.Context) error {
				if err := l.Steal(context.WithoutCancel(ctx), leads); err != nil {
					return err
				}
				<-ctx.Done()
				if context.Cause(ctx) != ErrStolen {
					return fmt.Errorf("the cause is %w", context.Cause(ctx))
				}
				return nil
			})
		}},
		{"a lock that is refused", func() error {
			if err := New(manager(), "-reserved").Lead(t.Context(), leads); err == nil {
				return errors.New("the lock was granted")
			}
			return nil
		}},
		{"a manager that throws", func() error {
			if err := New(js.ValueOf(map[string]any{}), "none").Lead(t.Context(), leads); err == nil {
				return errors.New("the lock was granted")
			}
			return nil
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			const rounds = 1000
			require.NoError(t, row.call())
			runtime.Gosched()
			before := runtime.NumGoroutine()
			for range rounds {
				require.NoError(t, row.call())
			}
			require.Zero(t, liveFuncs)
			runtime.Gosched()
			require.LessOrEqual(t, runtime.NumGoroutine(), before)
		})
	}
}

// TestWhatTheBrowserKeepsIsReleased keeps what was handed to the browser, and
// calls it when Lead has returned.
func TestWhatTheBrowserKeepsIsReleased(t *testing.T) {
	host := evaluate(`{
		kept: [],
		request(name, options, granted) {
			const asked = navigator.locks.request(name, options, granted)
			asked.then = (settled, failed) => { this.kept.push(granted, settled, failed); return Promise.prototype.then.call(asked, settled, failed) }
			return asked
		},
	}`)
	require.NoError(t, New(host, t.Name()).Lead(t.Context(), leads))
	uncaught := pagetest.Listen()
	defer uncaught.Stop()
	host.Get("kept").Call("forEach", js.Global().Get("setTimeout"), js.Global())
	pagetest.Settle()
	const call = "on console.error: call to released function"
	require.Equal(t, []string{call, call, call}, uncaught.All())
}

// TestTheWaitIsCutAtAnyMoment ends the context of Lead and Steal, with others
// about, at every moment from before the request to after the term.
func TestTheWaitIsCutAtAnyMoment(t *testing.T) {
	l := New(manager(), t.Name())
	for _, call := range []func(context.Context, func(context.Context) error) error{l.Lead, l.Steal} {
		ran, cut := 0, 0
		for round := range 300 {
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for range round % 50 {
					turn()
				}
				cancel()
			}()
			other := make(chan error, 1)
			go func() { other <- l.Lead(t.Context(), leads) }()
			called := false
			err := call(ctx, func(ctx context.Context) error {
				called = true
				for range 10 {
					turn()
				}
				return nil
			})
			cancel()
			require.Equal(t, called, err == nil)
			if called {
				ran++
			} else {
				require.ErrorIs(t, err, context.Canceled)
				cut++
			}
			// The other's lock may have been stolen before its term had begun.
			if err := <-other; err != nil {
				require.ErrorIs(t, err, ErrStolen)
			}
			require.Zero(t, liveFuncs)
		}
		require.NotZero(t, ran)
		require.NotZero(t, cut)
	}
	require.NoError(t, l.Lead(t.Context(), leads))
}

// turn returns in a later task of the event loop.
func turn() {
	done := make(chan struct{})
	resolved := js.FuncOf(func(js.Value, []js.Value) any {
		close(done)
		return nil
	})
	defer resolved.Release()
	later.Invoke(resolved)
	<-done
}

var later = evaluate(`(done) => {
	const { port1, port2 } = new MessageChannel()
	port1.onmessage = () => { port1.close(); done() }
	port2.postMessage(null)
}`)

func TestWhatTheBrowserRefusesIsSaid(t *testing.T) {
	for _, row := range []struct {
		name    string
		manager js.Value
		lock    string
		want    string
	}{
		{"a reserved name", manager(), "-reserved", `request the lock "-reserved": NotSupportedError: `},
		{"a manager without a request", js.ValueOf(map[string]any{}), "x", `request the lock "x": `},
		{"no manager", js.Undefined(), "x", `request the lock "x": `},
		{"a manager that throws an Error", evaluate(`{ request() { throw new TypeError('no') } }`), "x", `request the lock "x": TypeError: no`},
		{"a manager that throws something else", evaluate(`{ request() { throw 'no' } }`), "x", `request the lock "x": no`},
		{"a manager that rejects with nothing", evaluate(`{ request() { return Promise.reject() } }`), "x", `request the lock "x": it was not granted`},
		{"a manager that rejects with what has no text", evaluate(`{ request() { return Promise.reject(Object.create(null)) } }`), "x", `request the lock "x": a value without a text was thrown`},
		{"a manager that never calls back", evaluate(`{ request() {} }`), "x", `request the lock "x": it was not granted`},
	} {
		t.Run(row.name, func(t *testing.T) {
			called := false
			err := New(row.manager, row.lock).Lead(t.Context(), func(context.Context) error {
				called = true
				return nil
			})
			require.ErrorContains(t, err, row.want)
			require.False(t, called)
			require.Zero(t, liveFuncs)
		})
	}
}

func TestAnObjectOfTheHostMayStandInForNavigatorLocks(t *testing.T) {
	host := evaluate(`{
		asked: [],
		request(name, options, callback) {
			this.asked.push([name, Object.keys(options).join()].join(' '))
			return navigator.locks.request(name, options, callback)
		},
	}`)
	l := New(host, t.Name())
	require.NoError(t, l.Lead(t.Context(), leads))
	require.NoError(t, l.Steal(t.Context(), leads))
	require.Equal(t, t.Name()+" signal,"+t.Name()+" steal", host.Get("asked").Call("join").String())
}

// TestTheLockIsTheBrowsers reads from the browser who holds the lock and who
// waits for it.
func TestTheLockIsTheBrowsers(t *testing.T) {
	l := New(manager(), t.Name())
	require.NoError(t, l.Lead(t.Context(), func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		waiting := make(chan error, 1)
		go func() { waiting <- l.Lead(ctx, leads) }()
		for query(t, t.Name()) != "held 1, pending 1" { // asked for by and by
			require.NoError(t, ctx.Err())
		}
		cancel()
		require.ErrorIs(t, <-waiting, context.Canceled)
		require.Equal(t, "held 1, pending 0", query(t, t.Name()))
		return nil
	}))
	require.Equal(t, "held 0, pending 0", query(t, t.Name()))
}

// query returns how often a lock is held and waited for.
func query(t *testing.T, name string) string {
	told := make(chan string, 1)
	tell := js.FuncOf(func(_ js.Value, args []js.Value) any {
		told <- args[0].String()
		return nil
	})
	defer tell.Release()
	evaluate(`(name, tell) => navigator.locks.query().then(({ held, pending }) => {
		const count = (locks) => locks.filter((lock) => lock.name === name).length
		tell('held ' + count(held) + ', pending ' + count(pending))
	})`).Invoke(name, tell)
	select {
	case got := <-told:
		return got
	case <-time.After(20 * time.Second):
		require.FailNow(t, "the browser did not answer")
		return ""
	}
}

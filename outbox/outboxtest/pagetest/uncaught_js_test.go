package pagetest_test

import (
	"syscall/js"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox/outboxtest/pagetest"
)

// run has the page run a piece of JavaScript.
func run(source string) { js.Global().Get("Function").New(source).Invoke() }

func TestWhatNobodyCaughtIsRecorded(t *testing.T) {
	for _, row := range []struct{ name, source, want string }{
		{"a rejection", "Promise.reject(new Error('late'))", "an unhandled rejection: Error: late"},
		{"a rejection with something that is no Error", "Promise.reject('text')", "an unhandled rejection: text"},
		{"a rejection with something that has no text", "Promise.reject(Object.create(null))", "an unhandled rejection: a value without a text"},
		{"an error in a task of its own", "setTimeout(() => { throw new TypeError('late') })", "an uncaught error: TypeError: late"},
		{"a rejection with a BigInt", "Promise.reject(1n)", "an unhandled rejection: 1"},
		{"a word on console.error", "console.error('oh', 1)", "on console.error: oh 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			uncaught := pagetest.Listen()
			defer uncaught.Stop()
			run(row.source)
			pagetest.Settle()
			require.Len(t, uncaught.All(), 1)
			require.Contains(t, uncaught.All()[0], row.want)
		})
	}
}

func TestACallOfAReleasedFuncIsRecorded(t *testing.T) {
	uncaught := pagetest.Listen()
	defer uncaught.Stop()
	released := js.FuncOf(func(js.Value, []js.Value) any { return nil })
	released.Release()
	js.Global().Call("setTimeout", released)
	pagetest.Settle()
	require.Equal(t, []string{"on console.error: call to released function"}, uncaught.All())
}

func TestWhatSomebodyCaughtIsNot(t *testing.T) {
	uncaught := pagetest.Listen()
	defer uncaught.Stop()
	run("Promise.reject(new Error('caught')).catch(() => {})")
	run("try { throw new Error('caught') } catch {}")
	pagetest.Settle()
	require.Empty(t, uncaught.All())
}

package broadcast

import (
	"fmt"
	"runtime"
	"strings"
	"syscall/js"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/outboxtest"
	"github.com/stdsync/outbox/outbox/outboxtest/pagetest"
)

const acme = outboxtest.DoorbellSync

func TestMain(m *testing.M) { pagetest.Main(m) }

// open returns a Doorbell that is closed when the test is over.
func open(t *testing.T, name string) *Doorbell {
	d, err := New(name, acme)
	require.NoError(t, err)
	t.Cleanup(d.Close)
	return d
}

// evaluate returns what a JavaScript expression gives.
func evaluate(expression string) js.Value {
	return js.Global().Get("Function").New("return (" + expression + ")").Invoke()
}

// wire is a channel without a Doorbell. It keeps what it hears as JSON.
type wire struct {
	t       *testing.T
	channel js.Value
	heard   chan string
}

func openWire(t *testing.T, name string) *wire {
	w := &wire{t, js.Global().Get("BroadcastChannel").New(name), make(chan string, 100)}
	onMessage := js.FuncOf(func(_ js.Value, args []js.Value) any {
		w.heard <- js.Global().Get("JSON").Call("stringify", args[0].Get("data")).String()
		return nil
	})
	w.channel.Set("onmessage", onMessage)
	t.Cleanup(func() {
		w.channel.Call("close")
		onMessage.Release()
	})
	return w
}

func (w *wire) post(expression string) { w.channel.Call("postMessage", evaluate(expression)) }

func (w *wire) hear() string { return receive(w.t, w.heard) }

// listen returns a channel of what a Doorbell hears.
func listen(d *Doorbell) (rings <-chan outbox.Ring, stop func()) {
	heard := make(chan outbox.Ring, 10_000)
	return heard, d.Listen(func(r outbox.Ring) { heard <- r })
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(20 * time.Second):
		require.FailNow(t, "waited in vain for a message")
		panic("unreachable")
	}
}

func mark(id string) outbox.Ring { return outbox.Ring{Entries: []outbox.Mark{{ID: id, Queue: "q"}}} }

func TestDoorbell(t *testing.T) {
	outboxtest.TestDoorbell(t, func(t *testing.T) func() outbox.Doorbell {
		return func() outbox.Doorbell { return open(t, t.Name()) }
	})
}

// TestMessage pins what tabs of different versions of the app say to each other.
func TestMessage(t *testing.T) {
	bell, wire := open(t, t.Name()), openWire(t, t.Name())
	for _, row := range []struct {
		name string
		ring outbox.Ring
		want string
	}{
		{"entries", mark("a"), `{"entries":[["a","q"]],"v":1}`},
		{"claims", outbox.Ring{Claimed: []outbox.Mark{{ID: "a", Queue: "q"}, {ID: "b", Queue: "q"}}}, `{"claimed":[["a","q"],["b","q"]],"v":1}`},
		{"rows", outbox.Ring{Rows: []outbox.RowKey{{Sync: acme, Collection: "todos", Key: "n:1"}}}, `{"rows":[["todos","n:1"]],"v":1}`},
		{"a look at everything", outbox.Ring{All: true}, `{"all":true,"v":1}`},
		{"a try now", outbox.Ring{Drain: true}, `{"drain":true,"v":1}`},
		{"a question", outbox.Ring{Ask: true}, `{"ask":true,"v":1}`},
		{"an answer", outbox.Ring{Lives: true, Why: "backoff"}, `{"lives":true,"v":1,"why":"backoff"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			bell.Ring(row.ring)
			require.JSONEq(t, row.want, wire.hear())
		})
	}
}

func TestWhatDoesNotFitIsDropped(t *testing.T) {
	bell, wire := open(t, t.Name()), openWire(t, t.Name())
	rings, stop := listen(bell)
	defer stop()
	for _, message := range []string{
		`undefined`, `null`, `0`, `1n`, `NaN`, `true`, `''`, `'{"v":1,"all":true}'`, `[]`, `{}`,
		`new Date()`, `new Map([['v', 1], ['all', true]])`, `new Error('v')`, `new ArrayBuffer(8)`, `new Blob(['v'])`, `/v/`,
		`{ v: 1 }`, `{ v: 1, entries: [], claimed: [], rows: [], all: false, drain: false }`,
		`{ all: true }`, `{ v: 0, all: true }`, `{ v: 2, all: true }`, `{ v: '1', all: true }`, `{ v: 1n, all: true }`, `{ v: new Number(1), all: true }`, `{ v: [1], all: true }`,
		`{ v: 1, all: 1 }`, `{ v: 1, all: 'true' }`, `{ v: 1, all: null }`, `{ v: 1, all: 1n }`, `{ v: 1, all: true, rows: 1n }`, `{ v: 1, entries: [['a', 1n]] }`, `{ v: 1, all: true, drain: {} }`, `{ v: 1, ask: 1 }`, `{ v: 1, lives: true, why: 5 }`, `{ v: 1, lives: true, why: 5n }`, `{ v: 1, all: true, lives: 'yes' }`, `{ v: 1, all: new Boolean(true) }`,
		`{ v: 1, all: true, entries: null }`, `{ v: 1, all: true, entries: 'ab' }`, `{ v: 1, all: true, claimed: { length: 0 } }`, `{ v: 1, all: true, rows: new Uint8Array(0) }`, `{ v: 1, all: true, rows: new Set() }`,
		`{ v: 1, entries: ['ab'] }`, `{ v: 1, entries: [null] }`, `{ v: 1, entries: [,] }`, `{ v: 1, entries: [[]] }`, `{ v: 1, entries: [['a']] }`, `{ v: 1, entries: [['a', 'q', 'z']] }`,
		`{ v: 1, entries: [['a', 1]] }`, `{ v: 1, entries: [['a', null]] }`, `{ v: 1, entries: [[,'q']] }`, `{ v: 1, entries: [['a', new Array(4294967295)]] }`, `{ v: 1, entries: [['a', new Date()]] }`, `{ v: 1, entries: [['a', { toString: 'q' }]] }`, `{ v: 1, all: true, entries: [undefined] }`, `{ v: 1, entries: [[['a'], 'q']] }`, `{ v: 1, entries: [{ 0: 'a', 1: 'q', length: 2 }] }`,
		`{ v: 1, entries: [['a', 'q'], ['b', 2]] }`, `{ v: 1, entries: [['a', 'q']], rows: [['todos', 1]] }`, `{ v: 1, entries: [['a', 'q']], claimed: [[]] }`,
		`{ v: 1, entries: [new Array(4294967295)] }`, `{ v: 1, all: 0, entries: new Array(4294967295) }`,
		`(() => { const m = { v: 1 }; m.all = m; return m })()`, `(() => { const l = []; l.push(l, l); return { v: 1, entries: [l] } })()`,
		`(() => { return { v: 1, entries: [['x'.repeat(1 << 24), 1]] } })()`,
	} {
		wire.post(message)
		wire.post(`{ v: 1, entries: [['fence', 'q']] }`)
		require.Equal(t, mark("fence"), receive(t, rings), message)
	}
}

func TestWhatNamesTooMuchBecomesALookAtEverything(t *testing.T) {
	bell, wire := open(t, t.Name()), openWire(t, t.Name())
	rings, stop := listen(bell)
	defer stop()
	for _, row := range []struct {
		name, message string
		drain         bool
	}{
		{"too many entries", `{ v: 1, entries: Array(1025).fill(['a', 'q']) }`, false},
		{"too many in total", `{ v: 1, entries: Array(500).fill(['a', 'q']), claimed: Array(500).fill(['a', 'q']), rows: Array(25).fill(['todos', 'n:1']), drain: true }`, true},
		{"the longest of arrays", `{ v: 1, entries: new Array(4294967295), claimed: new Array(4294967295), rows: new Array(4294967295), drain: true }`, true},
		{"a very long name", `{ v: 1, entries: [['x'.repeat(1 << 24), 'q']] }`, false},
		{"many long names", `{ v: 1, entries: Array(1024).fill(['a', 'q'.repeat(1024)]), drain: true }`, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			wire.post(row.message)
			require.Equal(t, outbox.Ring{All: true, Drain: row.drain}, receive(t, rings))
		})
	}
}

func TestRingsOfOneTurnAreOneMessage(t *testing.T) {
	bell, wire := open(t, t.Name()), openWire(t, t.Name())
	bell.Ring(mark("1"))
	bell.Ring(outbox.Ring{})
	bell.Ring(outbox.Ring{Claimed: []outbox.Mark{{ID: "1", Queue: "q"}}})
	go func() {
		bell.Ring(mark("2"))
		woken := make(chan struct{})
		go func() {
			bell.Ring(outbox.Ring{Drain: true})
			close(woken)
		}()
		<-woken
		bell.Ring(mark("3"))
	}()
	require.JSONEq(t, `{"v":1,"entries":[["1","q"],["2","q"],["3","q"]],"claimed":[["1","q"]],"drain":true}`, wire.hear())
	bell.Ring(mark("4"))
	require.JSONEq(t, `{"v":1,"entries":[["4","q"]]}`, wire.hear())
	require.Empty(t, wire.heard)
}

func TestOneMessageNamesNoMoreThanItMay(t *testing.T) {
	bell, wire := open(t, t.Name()), openWire(t, t.Name())
	for range 3*outbox.MaxHints + 1 {
		bell.Ring(mark("x"))
	}
	posted := wire.hear()
	require.Contains(t, posted, `"all":true`)
	require.LessOrEqual(t, strings.Count(posted, `"x"`), outbox.MaxHints)
}

func TestARingIsNotChangedByItsRinger(t *testing.T) {
	bell, wire := open(t, t.Name()), openWire(t, t.Name())
	ring := mark("rung")
	bell.Ring(ring)
	ring.Entries[0].ID = "changed"
	require.Contains(t, wire.hear(), "rung")
}

func TestListenersMayBlockNobodyButThemselves(t *testing.T) {
	bell, wire := open(t, t.Name()), openWire(t, t.Name())
	held, heard := make(chan struct{}), make(chan outbox.Ring, 2)
	defer bell.Listen(func(r outbox.Ring) {
		<-held
		heard <- r
	})()
	wire.post(`{ v: 1, entries: [['a', 'q']] }`)
	wire.post(`{ v: 1, entries: [['b', 'q']] }`)
	bell.Ring(mark("c"))
	require.Contains(t, wire.hear(), `"c"`)
	close(held)
	require.Equal(t, mark("a"), receive(t, heard))
	require.Equal(t, mark("b"), receive(t, heard))
}

func TestClose(t *testing.T) {
	bell, wire := open(t, t.Name()), openWire(t, t.Name())
	rings, stop := listen(bell)
	other, stopOther := listen(open(t, t.Name()))
	defer stopOther()
	wire.post(`{ v: 1, entries: [['on its way', 'q']] }`)
	bell.Ring(mark("before"))
	bell.Close()
	bell.Close()
	bell.Ring(mark("after"))
	stop()
	late, stopLate := listen(bell)
	stopLate()
	require.Contains(t, wire.hear(), "before", "what was rung before is still told")
	wire.post(`{ v: 1, entries: [['end', 'q']] }`)
	require.Equal(t, mark("on its way"), receive(t, other))
	require.Equal(t, mark("before"), receive(t, other))
	require.Equal(t, mark("end"), receive(t, other))
	require.Empty(t, rings)
	require.Empty(t, late)
	require.Empty(t, wire.heard)
	require.Panics(t, func() { bell.channel.Call("postMessage", "closed") })
}

func TestAListenerMayClose(t *testing.T) {
	bell, wire := open(t, t.Name()), openWire(t, t.Name())
	closed := make(chan struct{}, 2)
	bell.Listen(func(outbox.Ring) {
		bell.Close()
		closed <- struct{}{}
	})
	second, _ := listen(bell)
	wire.post(`{ v: 1, all: true }`)
	receive(t, closed)
	wire.post(`{ v: 1, all: true }`)
	bell = open(t, t.Name())
	rings, stop := listen(bell)
	defer stop()
	wire.post(`{ v: 1, drain: true }`)
	require.Equal(t, outbox.Ring{Drain: true}, receive(t, rings))
	require.Empty(t, closed)
	require.Empty(t, second)
}

func TestAnErrorOfPostingIsSwallowed(t *testing.T) {
	bell, wire := open(t, t.Name()), openWire(t, t.Name())
	bell.channel.Set("postMessage", evaluate(`() => { throw 'no' }`))
	rings, stop := listen(bell)
	defer stop()
	bell.Ring(mark("lost"))
	wire.post(`{ v: 1, all: true }`)
	receive(t, rings) // so that the turn of the ring is over
	bell.channel.Delete("postMessage")
	bell.Ring(mark("told"))
	require.JSONEq(t, `{"v":1,"entries":[["told","q"]]}`, wire.hear())
}

func TestABrowserWithoutChannelsIsAnError(t *testing.T) {
	channel := js.Global().Get("BroadcastChannel")
	defer js.Global().Set("BroadcastChannel", channel)
	for _, stub := range []string{`undefined`, `{}`, `function () { throw new TypeError('no') }`, `function () { throw 'no' }`} {
		js.Global().Set("BroadcastChannel", evaluate(stub))
		d, err := New(t.Name(), acme)
		require.Nil(t, d)
		require.ErrorContains(t, err, "open the channel", stub)
	}
}

func TestNothingIsLeftOfAClosedDoorbell(t *testing.T) {
	require.Zero(t, liveFuncs)
	before := runtime.NumGoroutine()
	for range 1000 {
		bell, err := New(t.Name(), acme)
		require.NoError(t, err)
		bell.Listen(func(outbox.Ring) {})
		bell.Ring(mark("x"))
		bell.Close()
	}
	pagetest.Settle()
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
	require.Zero(t, liveFuncs)
}

func TestAClosedDoorbellIsDeaf(t *testing.T) {
	uncaught := pagetest.Listen()
	defer uncaught.Stop()
	bell, err := New(t.Name(), acme)
	require.NoError(t, err)
	js.Global().Call("setTimeout", bell.onTurn)
	js.Global().Call("setTimeout", bell.onMessage)
	bell.Close()
	pagetest.Settle()
	const call = "on console.error: call to released function"
	require.Equal(t, []string{call, call}, uncaught.All())
}

func BenchmarkRing(b *testing.B) {
	for _, size := range []int{1, 10, outbox.MaxHints} {
		b.Run(fmt.Sprint(size, " names"), func(b *testing.B) {
			codec := newCodec(acme)
			var ring outbox.Ring
			for range size {
				ring.Entries = append(ring.Entries, outbox.Mark{ID: "01890000-0000-7000-8000-000000000000:1", Queue: "collection:todos/s:01890000-0000"})
			}
			message := codec.encode(ring)
			b.Run("encode", func(b *testing.B) {
				for b.Loop() {
					codec.encode(ring)
				}
			})
			b.Run("decode", func(b *testing.B) {
				for b.Loop() {
					codec.decode(message)
				}
			})
		})
	}
}

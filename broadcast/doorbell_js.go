package broadcast

import (
	"errors"
	"sync"
	"sync/atomic"
	"syscall/js"

	"github.com/stdsync/outbox/outbox"
)

// Doorbell is an outbox.Doorbell on a BroadcastChannel. Two Doorbells of one
// name hear each other even within a page.
type Doorbell struct {
	codec   codec
	channel js.Value
	// onMessage is the channel's event handler, and onTurn what runs when a turn
	// of the event loop in which there were rings is over.
	onMessage, onTurn js.Func

	mu        sync.Mutex
	closed    bool
	listeners []*listener
	// rung is what is still to be posted, by an onTurn on its way if posting;
	// heard is what is still to be told, by a goroutine on its way if telling.
	rung             outbox.Ring
	posting, telling bool
	heard            []js.Value
}

type listener struct {
	hear    func(outbox.Ring)
	stopped atomic.Bool
}

var _ outbox.Doorbell = (*Doorbell)(nil)

// New opens the channel of that name, for the rows of the Std Sync sync. It
// fails where the browser has no BroadcastChannel.
func New(name, sync string) (d *Doorbell, err error) {
	d = &Doorbell{codec: newCodec(sync)}
	defer func() {
		if cause := recover(); cause != nil {
			release(d.onMessage)
			release(d.onTurn)
			d, err = nil, errors.New("open the channel "+name+": this browser has no BroadcastChannel here")
		}
	}()
	d.onMessage, d.onTurn = newFunc(d.message), newFunc(d.turn)
	d.channel = js.Global().Get("BroadcastChannel").New(name)
	d.channel.Call("addEventListener", "message", d.onMessage)
	return d, nil
}

// Ring tells all other tabs, in one message with whatever else is rung before
// this turn of the event loop is over. After Close it does nothing.
func (d *Doorbell) Ring(ring outbox.Ring) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || ring.IsZero() {
		return
	}
	d.rung = merge(d.rung, ring)
	if !d.posting {
		d.posting = true
		js.Global().Call("queueMicrotask", d.onTurn)
	}
}

// turn runs when every goroutine has come to rest. Like message, it must not
// block, and does not: nobody else runs meanwhile.
func (d *Doorbell) turn(js.Value, []js.Value) any {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.posting = false
	if d.closed {
		release(d.onTurn)
		return nil
	}
	d.post()
	return nil
}

// post sends what was rung. The caller holds mu.
func (d *Doorbell) post() {
	ring := d.rung
	d.rung = outbox.Ring{}
	if ring.IsZero() {
		return
	}
	// What cannot be posted is found by the slow poll of whoever needed it.
	defer func() { _ = recover() }()
	d.channel.Call("postMessage", d.codec.encode(ring))
}

// Listen calls hear for every Ring of another tab, one at a time and in order,
// until stop is called or the Doorbell is closed.
func (d *Doorbell) Listen(hear func(outbox.Ring)) (stop func()) {
	l := &listener{hear: hear}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return func() {}
	}
	d.listeners = append(d.listeners, l)
	return func() { d.stop(l) }
}

func (d *Doorbell) stop(l *listener) {
	l.stopped.Store(true)
	d.mu.Lock()
	defer d.mu.Unlock()
	// A new slice: tell may be walking the old one.
	var rest []*listener
	for _, other := range d.listeners {
		if other != l {
			rest = append(rest, other)
		}
	}
	d.listeners = rest
}

// Close posts what is still to be posted, stops every listener and gives the
// channel back. It may be called again.
func (d *Doorbell) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	d.closed = true
	d.post()
	d.channel.Call("removeEventListener", "message", d.onMessage)
	d.channel.Call("close")
	release(d.onMessage)
	if !d.posting { // else it is still to be called, and releases itself
		release(d.onTurn)
	}
	for _, l := range d.listeners {
		l.stopped.Store(true)
	}
	d.listeners, d.heard = nil, nil
}

// message is the channel's event handler. It only keeps the message for a
// goroutine.
func (d *Doorbell) message(_ js.Value, args []js.Value) any {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || len(d.listeners) == 0 {
		return nil
	}
	d.heard = append(d.heard, args[0].Get("data"))
	if !d.telling {
		d.telling = true
		go d.tell()
	}
	return nil
}

// tell calls the listeners for everything heard until there is no more.
func (d *Doorbell) tell() {
	for {
		d.mu.Lock()
		if len(d.heard) == 0 {
			d.telling = false
			d.mu.Unlock()
			return
		}
		data, listeners := d.heard[0], d.listeners
		d.heard = d.heard[1:]
		d.mu.Unlock()
		ring, ok := d.codec.decode(data)
		if !ok {
			continue
		}
		for _, l := range listeners {
			if !l.stopped.Load() {
				l.hear(ring)
			}
		}
	}
}

// merge returns one Ring that says what both say. It shares no memory with next.
func merge(so, next outbox.Ring) outbox.Ring {
	why := so.Why
	if next.Lives {
		why = next.Why
	}
	return outbox.Ring{
		Entries: append(so.Entries, next.Entries...),
		Claimed: append(so.Claimed, next.Claimed...),
		Rows:    append(so.Rows, next.Rows...),
		Steps:   so.Steps + next.Steps,
		All:     so.All || next.All,
		Drain:   so.Drain || next.Drain,
		Ask:     so.Ask || next.Ask,
		Lives:   so.Lives || next.Lives,
		Why:     why,
	}.Bounded()
}

// liveFuncs counts the js.Funcs that are not released yet.
var liveFuncs int

func newFunc(f func(js.Value, []js.Value) any) js.Func {
	liveFuncs++
	return js.FuncOf(f)
}

func release(f js.Func) {
	liveFuncs--
	f.Release()
}

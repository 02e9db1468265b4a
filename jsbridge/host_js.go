package jsbridge

import (
	"syscall/js"

	"github.com/stdsync/outbox/outbox"
)

// host are the functions of web/src/host.ts that Go calls. None of them throws.
type host struct {
	spread, covers, settle js.Value
}

var theHost host

// useHost takes the host's functions from the object it hands over.
func useHost(v js.Value) {
	theHost = host{spread: v.Get("spread"), covers: v.Get("covers"), settle: v.Get("settle")}
}

// Value is an outbox.Value that is a JavaScript value.
type Value struct{ js js.Value }

// Wrap returns a JavaScript value as an outbox.Value.
func Wrap(v js.Value) outbox.Value { return Value{v} }

// JSValue returns the JavaScript value.
func (v Value) JSValue() js.Value { return v.js }

// Spread returns a new object with the properties of both.
func (v Value) Spread(changes outbox.Value) outbox.Value {
	return Value{theHost.spread.Invoke(v.js, unwrap(changes))}
}

// Covers reports whether this object has every property that other has.
func (v Value) Covers(other outbox.Value) bool {
	return theHost.covers.Invoke(v.js, unwrap(other)).Bool()
}

// unwrap returns the JavaScript value behind v, or undefined.
func unwrap(v outbox.Value) js.Value {
	if v == nil {
		return js.Undefined()
	}
	return v.(Value).js
}

// optional returns a Value for what is not undefined.
func optional(v js.Value) outbox.Value {
	if v.IsUndefined() {
		return nil
	}
	return Value{v}
}

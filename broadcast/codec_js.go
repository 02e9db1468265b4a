package broadcast

import (
	"encoding/json"
	"syscall/js"

	"github.com/stdsync/outbox/outbox"
)

const (
	// version is a message's v. Another one is not understood.
	version = 1
	// maxText bounds the names of each list of a message, in bytes of JSON: past
	// it, a Ring asks to look at everything.
	maxText = 1 << 20
)

// message is what is posted.
type message struct {
	Version int    `json:"v"`
	Entries []pair `json:"entries,omitempty"`
	Claimed []pair `json:"claimed,omitempty"`
	Rows    []pair `json:"rows,omitempty"`
	All     bool   `json:"all,omitempty"`
	Drain   bool   `json:"drain,omitempty"`
}

type pair = [2]string

// codec turns Rings into messages and back. Names cross the boundary as JSON, all
// at once: one by one, they take ten times as long.
type codec struct {
	sync string

	json, object, isArray js.Value
	// call and valueOf are Function.prototype.call and String.prototype.valueOf.
	call, valueOf js.Value
}

func newCodec(sync string) codec {
	global := js.Global()
	return codec{
		sync:    sync,
		json:    global.Get("JSON"),
		object:  global.Get("Object"),
		isArray: global.Get("Array").Get("isArray"),
		call:    global.Get("Function").Get("prototype").Get("call"),
		valueOf: global.Get("String").Get("prototype").Get("valueOf"),
	}
}

// encode returns the message of a Ring that says something.
func (c codec) encode(ring outbox.Ring) js.Value {
	text, err := json.Marshal(message{
		Version: version,
		Entries: pairs(ring.Entries, func(m outbox.Mark) pair { return pair{m.ID, m.Queue} }),
		Claimed: pairs(ring.Claimed, func(m outbox.Mark) pair { return pair{m.ID, m.Queue} }),
		Rows:    pairs(ring.Rows, func(r outbox.RowKey) pair { return pair{r.Collection, string(r.Key)} }),
		All:     ring.All,
		Drain:   ring.Drain,
	})
	if err != nil {
		panic(err) // strings always have a JSON
	}
	return c.json.Call("parse", string(text))
}

func pairs[T any](list []T, of func(T) pair) (all []pair) {
	for _, one := range list {
		all = append(all, of(one))
	}
	return all
}

// decode returns the Ring of a message, and false for anything else. What it
// reads was structured-cloned: it has no getters, proxies and functions of its
// own, but may be of any type and any size.
func (c codec) decode(data js.Value) (ring outbox.Ring, ok bool) {
	// A built-in throws for what it is not made for, and Type panics for a BigInt.
	defer func() {
		if recover() != nil {
			ring, ok = outbox.Ring{}, false
		}
	}()
	if data.Type() != js.TypeObject {
		return outbox.Ring{}, false
	}
	if v := data.Get("v"); v.Type() != js.TypeNumber || v.Float() != version {
		return outbox.Ring{}, false
	}
	ring.All, ring.Drain = flag(data.Get("all")), flag(data.Get("drain"))
	entries, claimed, rows := c.list(data.Get("entries")), c.list(data.Get("claimed")), c.list(data.Get("rows"))
	tooMuch := entries.length+claimed.length+rows.length > outbox.MaxHints
	if !tooMuch {
		mark := func(id, queue string) outbox.Mark { return outbox.Mark{ID: id, Queue: queue} }
		row := func(collection, key string) outbox.RowKey {
			return outbox.RowKey{Sync: c.sync, Collection: collection, Key: outbox.Key(key)}
		}
		var long [3]bool
		ring.Entries, long[0] = read(c, entries, mark)
		ring.Claimed, long[1] = read(c, claimed, mark)
		ring.Rows, long[2] = read(c, rows, row)
		tooMuch = long != [3]bool{}
	}
	if tooMuch {
		ring = outbox.Ring{All: true, Drain: ring.Drain}
	}
	return ring, !ring.IsZero()
}

// flag reads a boolean that may be absent, and panics for anything else.
func flag(v js.Value) bool { return !v.IsUndefined() && v.Bool() }

// list is an array with its length, or one that is absent and has 0.
type list struct {
	array  js.Value
	length int
}

// list panics for what is no array.
func (c codec) list(v js.Value) list {
	if v.IsUndefined() {
		return list{}
	}
	if !c.isArray.Invoke(v).Bool() {
		panic("not an array")
	}
	return list{v, v.Length()}
}

// read reads a list of pairs of strings, or says that they are too long to be
// copied. It panics for anything else.
func read[T any](c codec, l list, of func(first, second string) T) (all []T, long bool) {
	if l.length == 0 {
		return nil, false
	}
	for i := range l.length {
		if c.list(l.array.Index(i)).length != 2 {
			panic("not a pair")
		}
	}
	flat := l.array.Call("flat")
	if flat.Length() != 2*l.length {
		panic("a hole in a pair")
	}
	// Calls valueOf on each name, which throws for what is no string.
	flat.Call("forEach", c.call, c.valueOf)
	text := c.json.Call("stringify", flat)
	if c.object.Invoke(text).Length() > maxText {
		return nil, true
	}
	var names []string
	if err := json.Unmarshal([]byte(text.String()), &names); err != nil {
		panic(err)
	}
	for i := range l.length {
		all = append(all, of(names[2*i], names[2*i+1]))
	}
	return all, false
}

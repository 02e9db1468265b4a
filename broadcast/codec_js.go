package broadcast

import (
	"syscall/js"

	"github.com/stdsync/outbox/outbox"
)

const (
	// version is a message's v. Another one is not understood.
	version = 1
	// maxText bounds the names of a message together, in UTF-16 units: past it, a
	// Ring asks to look at everything.
	maxText = 1 << 20
)

// codec turns Rings into messages and back.
type codec struct {
	sync            string
	isArray, object js.Value
}

func newCodec(sync string) codec {
	global := js.Global()
	return codec{sync: sync, isArray: global.Get("Array").Get("isArray"), object: global.Get("Object")}
}

// encode returns the message of a Ring that says something.
func (c codec) encode(ring outbox.Ring) js.Value {
	message := map[string]any{"v": version}
	put(message, "entries", ring.Entries, func(m outbox.Mark) []any { return []any{m.ID, m.Queue} })
	put(message, "claimed", ring.Claimed, func(m outbox.Mark) []any { return []any{m.ID, m.Queue} })
	put(message, "rows", ring.Rows, func(r outbox.RowKey) []any { return []any{r.Collection, string(r.Key)} })
	if ring.Steps > 0 {
		message["steps"] = ring.Steps
	}
	for name, set := range map[string]bool{"all": ring.All, "drain": ring.Drain, "ask": ring.Ask, "lives": ring.Lives} {
		if set {
			message[name] = true
		}
	}
	if ring.Why != "" {
		message["why"] = ring.Why
	}
	return js.ValueOf(message)
}

func put[T any](message map[string]any, name string, list []T, pair func(T) []any) {
	if len(list) == 0 {
		return
	}
	pairs := make([]any, len(list))
	for i, one := range list {
		pairs[i] = pair(one)
	}
	message[name] = pairs
}

// decode returns the Ring of a message, and false for anything else. What it
// reads was structured-cloned: it has no getters, proxies and functions of its
// own, but may be of any type and any size.
func (c codec) decode(data js.Value) (ring outbox.Ring, ok bool) {
	// Reading panics where something is not what it has to be.
	defer func() {
		switch recover() {
		case nil:
		case tooLong:
			ring, ok = ring.Unnamed(), true
		default:
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
	ring.Ask, ring.Lives = flag(data.Get("ask")), flag(data.Get("lives"))
	if steps := data.Get("steps"); !steps.IsUndefined() {
		ring.Steps = max(0, min(steps.Int(), outbox.MaxHints))
	}
	entries, claimed, rows := c.list(data.Get("entries")), c.list(data.Get("claimed")), c.list(data.Get("rows"))
	if entries.length+claimed.length+rows.length > outbox.MaxHints {
		return ring.Unnamed(), true
	}
	room := maxText
	if why := data.Get("why"); !why.IsUndefined() {
		if why.Type() != js.TypeString {
			panic("not a text")
		}
		ring.Why = c.name(&room, why)
	}
	mark := func(id, queue string) outbox.Mark { return outbox.Mark{ID: id, Queue: queue} }
	ring.Entries, ring.Claimed = read(c, &room, entries, mark), read(c, &room, claimed, mark)
	ring.Rows = read(c, &room, rows, func(collection, key string) outbox.RowKey {
		return outbox.RowKey{Sync: c.sync, Collection: collection, Key: outbox.Key(key)}
	})
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

// read reads a list of pairs of names, and panics for anything else.
func read[T any](c codec, room *int, l list, of func(first, second string) T) []T {
	if l.length == 0 {
		return nil
	}
	all := make([]T, l.length)
	for i := range all {
		pair := c.list(l.array.Index(i))
		if pair.length != 2 {
			panic("not a pair")
		}
		first, second := pair.array.Index(0), pair.array.Index(1)
		if first.Type() != js.TypeString || second.Type() != js.TypeString {
			panic("not names")
		}
		all[i] = of(c.name(room, first), c.name(room, second))
	}
	return all
}

// tooLong is what name panics with when there is no room for it.
const tooLong = "names too long to be copied"

func (c codec) name(room *int, v js.Value) string {
	if *room -= c.object.Invoke(v).Length(); *room < 0 {
		panic(tooLong)
	}
	return v.String()
}

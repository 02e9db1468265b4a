package broadcast

import (
	"syscall/js"

	"github.com/stdsync/outbox/outbox"
)

const (
	// version is a message's v. Another one is not understood.
	version = 1
	// maxText bounds the names of one message, in UTF-16 code units: past it, a
	// Ring asks to look at everything.
	maxText = 1 << 20
)

// codec turns Rings into messages and back.
type codec struct {
	sync            string
	isArray, object js.Value
}

func newCodec(sync string) codec {
	return codec{
		sync:    sync,
		isArray: js.Global().Get("Array").Get("isArray"),
		object:  js.Global().Get("Object"),
	}
}

// encode returns the message of a Ring that says something.
func (c codec) encode(ring outbox.Ring) map[string]any {
	message := map[string]any{"v": version}
	addPairs(message, "entries", ring.Entries, func(m outbox.Mark) []any { return []any{m.ID, m.Queue} })
	addPairs(message, "claimed", ring.Claimed, func(m outbox.Mark) []any { return []any{m.ID, m.Queue} })
	addPairs(message, "rows", ring.Rows, func(r outbox.RowKey) []any { return []any{r.Collection, string(r.Key)} })
	if ring.All {
		message["all"] = true
	}
	if ring.Drain {
		message["drain"] = true
	}
	return message
}

func addPairs[T any](message map[string]any, field string, list []T, pair func(T) []any) {
	if len(list) == 0 {
		return
	}
	pairs := make([]any, len(list))
	for i, one := range list {
		pairs[i] = pair(one)
	}
	message[field] = pairs
}

// decode returns the Ring of a message, and false for anything else. What it
// reads was structured-cloned, so that no getter or proxy can throw. But Type
// panics for a BigInt.
func (c codec) decode(data js.Value) (ring outbox.Ring, ok bool) {
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
	r := reader{codec: c, ok: true}
	ring = outbox.Ring{All: r.flag(data.Get("all")), Drain: r.flag(data.Get("drain"))}
	entries, claimed, rows := r.list(data.Get("entries")), r.list(data.Get("claimed")), r.list(data.Get("rows"))
	if r.pairs <= outbox.MaxHints {
		ring.Entries = readPairs(&r, entries, func(id, queue string) outbox.Mark { return outbox.Mark{ID: id, Queue: queue} })
		ring.Claimed = readPairs(&r, claimed, func(id, queue string) outbox.Mark { return outbox.Mark{ID: id, Queue: queue} })
		ring.Rows = readPairs(&r, rows, func(collection, key string) outbox.RowKey {
			return outbox.RowKey{Sync: c.sync, Collection: collection, Key: outbox.Key(key)}
		})
	}
	if r.pairs > outbox.MaxHints || r.text > maxText {
		ring = outbox.Ring{All: true, Drain: ring.Drain}
	}
	return ring, r.ok && !ring.IsZero()
}

// reader reads the parts of one message, and remembers whether all of them fit.
type reader struct {
	codec
	ok    bool
	pairs int // in the lists so far
	text  int // length of the names so far
}

// flag reads a boolean that may be absent.
func (r *reader) flag(v js.Value) bool {
	switch v.Type() {
	case js.TypeBoolean:
		return v.Bool()
	case js.TypeUndefined:
		return false
	}
	r.ok = false
	return false
}

// list returns an array's elements' number along with it; an absent one has 0.
func (r *reader) list(v js.Value) (l list) {
	if v.IsUndefined() {
		return list{}
	}
	if !r.isArray.Invoke(v).Bool() {
		r.ok = false
		return list{}
	}
	l = list{v, v.Length()}
	r.pairs += l.length
	return l
}

type list struct {
	array  js.Value
	length int
}

// readPairs reads a list of pairs of strings, until one does not fit or the
// names are too long.
func readPairs[T any](r *reader, l list, make func(first, second string) T) (all []T) {
	for i := range l.length {
		pair := l.array.Index(i)
		if !r.isArray.Invoke(pair).Bool() || pair.Length() != 2 {
			r.ok = false
			return nil
		}
		first, second := r.name(pair.Index(0)), r.name(pair.Index(1))
		if !r.ok || r.text > maxText {
			return nil
		}
		all = append(all, make(first, second))
	}
	return all
}

// name reads a string that is not too long to be copied.
func (r *reader) name(v js.Value) string {
	if v.Type() != js.TypeString {
		r.ok = false
		return ""
	}
	r.text += r.object.Invoke(v).Length()
	if r.text > maxText {
		return ""
	}
	return v.String()
}

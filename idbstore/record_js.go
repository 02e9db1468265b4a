package idbstore

import (
	"strconv"
	"strings"
	"syscall/js"
	"time"

	"github.com/stdsync/outbox/outbox"
)

// unwrap returns the JavaScript value behind a Value.
func unwrap(v outbox.Value) js.Value { return v.(interface{ JSValue() js.Value }).JSValue() }

// keyValue returns a Key as the number or string it stands for.
func keyValue(key outbox.Key) any {
	if text, ok := strings.CutPrefix(string(key), "n:"); ok {
		if n, err := strconv.ParseFloat(text, 64); err == nil {
			return n
		}
	}
	return strings.TrimPrefix(string(key), "s:")
}

// keyOf is the inverse of keyValue.
func keyOf(v js.Value) outbox.Key {
	if v.Type() == js.TypeNumber {
		return outbox.Key("n:" + js.Global().Call("String", v).String())
	}
	return outbox.Key("s:" + v.String())
}

// setter fills a record, leaving out what is absent.
type setter struct{ js.Value }

func newRecord() setter { return setter{object.New()} }

var object = js.Global().Get("Object")

func (s setter) text(name, v string) {
	if v != "" {
		s.Set(name, v)
	}
}

// optional sets a text, or takes it away.
func (s setter) optional(name, v string) {
	if v != "" {
		s.Set(name, v)
	} else {
		s.Delete(name)
	}
}

func (s setter) value(name string, v outbox.Value) {
	if v != nil {
		s.Set(name, unwrap(v))
	}
}

// encodeEntry returns an Entry as it is stored: the record it was read from, with
// what can have changed, or a new one.
func encodeEntry(e outbox.Entry) js.Value {
	record, read := e.Record.(js.Value)
	if !read {
		record = encodeWhole(e)
	}
	r := setter{record}
	r.Set("status", string(e.Status))
	r.Set("attempt", e.Attempt)
	r.optional("dependsOn", e.DependsOn)
	r.optional("requestId", e.RequestID)
	r.Delete("claim")
	if e.Claim != nil {
		claim := newRecord()
		claim.Set("epoch", e.Claim.Epoch)
		claim.Set("requestId", e.RequestID)
		claim.Set("at", e.Claim.At.UnixMilli())
		r.Set("claim", claim.Value)
	}
	r.Delete("error")
	if e.Error != nil {
		failure := newRecord()
		failure.Set("name", e.Error.Name)
		failure.Set("message", e.Error.Message)
		failure.text("code", e.Error.Code)
		r.Set("error", failure.Value)
	}
	return record
}

// encodeWhole returns what never changes of an Entry.
func encodeWhole(e outbox.Entry) js.Value {
	r := newRecord()
	r.Set("id", e.ID)
	r.Set("sync", e.Sync)
	r.Set("queue", e.Queue)
	r.Set("name", e.Name)
	r.Set("seq", e.Seq)
	r.Set("enqueuedAt", e.EnqueuedAt.UnixMilli())
	r.Set("transaction", e.Transaction)
	r.Set("op", string(e.Op))
	if e.Key != "" {
		r.Set("key", keyValue(e.Key))
	}
	r.value("base", e.Base)
	r.value("changes", e.Changes)
	r.value("payload", e.Payload)
	if len(e.After) > 0 {
		after := make([]any, len(e.After))
		for i, id := range e.After {
			after[i] = id
		}
		r.Set("after", after)
	}
	return r.Value
}

// getter reads a record, whatever it turned out to hold. A bigint, which Go cannot
// tell the type of, is met with care only.
type getter struct {
	js.Value
	careful bool
}

func (g getter) field(name string) (v js.Value, kind js.Type) {
	v = g.Get(name)
	if g.careful {
		defer func() {
			if recover() != nil {
				kind = js.TypeUndefined
			}
		}()
	}
	return v, v.Type()
}

func (g getter) text(name string) string {
	if v, kind := g.field(name); kind == js.TypeString {
		return v.String()
	}
	return ""
}

func (g getter) number(name string) int64 {
	if v, kind := g.field(name); kind == js.TypeNumber {
		return int64(v.Float())
	}
	return 0
}

func (g getter) flag(name string) bool {
	v, kind := g.field(name)
	return kind == js.TypeBoolean && v.Bool()
}

func (g getter) object(name string) (getter, bool) {
	v, kind := g.field(name)
	return getter{v, g.careful}, kind == js.TypeObject
}

func (t *tx) get(g getter, name string) outbox.Value {
	if v := g.Get(name); !v.IsUndefined() {
		return t.value(v)
	}
	return nil
}

// mostAfter bounds what is read of a list that somebody else may have written.
const mostAfter = 1 << 16

var isArray = js.Global().Get("Array").Get("isArray")

// decodeEntry is the inverse of encodeEntry.
func (t *tx) decodeEntry(g getter) outbox.Entry {
	e := outbox.Entry{
		ID: g.text("id"), Sync: g.text("sync"), Queue: g.text("queue"), Name: g.text("name"),
		Status: outbox.EntryStatus(g.text("status")), Seq: g.number("seq"),
		EnqueuedAt: time.UnixMilli(g.number("enqueuedAt")), Transaction: g.text("transaction"),
		Op: outbox.Op(g.text("op")), Attempt: int(g.number("attempt")),
		Base: t.get(g, "base"), Changes: t.get(g, "changes"), Payload: t.get(g, "payload"),
		DependsOn: g.text("dependsOn"), RequestID: g.text("requestId"),
		Record: g.Value,
	}
	e.Key = outbox.KeyOf(e.Queue)
	if after, ok := g.object("after"); ok && isArray.Invoke(after.Value).Bool() {
		for i := range min(after.Length(), mostAfter) {
			e.After = append(e.After, after.text(strconv.Itoa(i)))
		}
	}
	if claim, ok := g.object("claim"); ok {
		e.Claim = &outbox.Claim{Epoch: claim.number("epoch"), At: time.UnixMilli(claim.number("at"))}
	}
	if failure, ok := g.object("error"); ok {
		e.Error = &outbox.Failure{Name: failure.text("name"), Message: failure.text("message"), Code: failure.text("code")}
	}
	return e
}

func encodeMeta(m outbox.Meta) js.Value {
	meta := js.ValueOf(map[string]any{
		"sync": m.Sync, "format": m.Format, "version": m.Version, "epoch": m.Epoch, "seq": m.Seq,
		"generation": m.Generation, "clock": m.Clock, "paused": m.Paused,
		"pending": m.Counts.Pending, "inRequest": m.Counts.InRequest, "failed": m.Counts.Failed,
	})
	if m.Lease.By != "" {
		meta.Set("lease", map[string]any{"by": m.Lease.By, "until": m.Lease.Until})
	}
	return meta
}

func decodeMeta(sync string, g getter) outbox.Meta {
	if g.Type() != js.TypeObject {
		return outbox.Meta{Sync: sync}
	}
	var lease outbox.Held
	if held, ok := g.object("lease"); ok {
		lease = outbox.Held{By: held.text("by"), Until: held.number("until")}
	}
	return outbox.Meta{
		Sync: sync, Lease: lease, Format: int(g.number("format")), Version: int(g.number("version")), Epoch: g.number("epoch"),
		Seq: g.number("seq"), Generation: g.text("generation"), Clock: g.number("clock"), Paused: g.flag("paused"),
		Counts: outbox.Counts{Pending: int(g.number("pending")), InRequest: int(g.number("inRequest")), Failed: int(g.number("failed"))},
	}
}

func rowKeyValue(k outbox.RowKey) []any { return []any{k.Sync, k.Collection, keyValue(k.Key)} }

func encodeRow(row outbox.Row) js.Value {
	r := newRecord()
	r.Set("sync", row.Sync)
	r.Set("collection", row.Collection)
	r.Set("key", keyValue(row.Key))
	r.Set("confirmed", row.Confirmed)
	r.value("row", row.Value)
	return r.Value
}

func (t *tx) decodeRow(g getter) outbox.Row {
	return outbox.Row{
		RowKey: outbox.RowKey{Sync: g.text("sync"), Collection: g.text("collection"), Key: keyOf(g.Get("key"))},
		Value:  t.get(g, "row"), Confirmed: g.number("confirmed"),
	}
}

func encodeOutcome(o outbox.Outcome) js.Value {
	return js.ValueOf(map[string]any{"id": o.ID, "sync": o.Sync, "reason": string(o.Reason), "at": o.At})
}

func decodeOutcome(g getter) outbox.Outcome {
	return outbox.Outcome{ID: g.text("id"), Sync: g.text("sync"), Reason: outbox.Code(g.text("reason")), At: g.number("at")}
}

func stateKeyValue(k outbox.StateKey) []any { return []any{k.Sync, k.Collection, k.Scope} }

func encodeState(s outbox.State) js.Value {
	r := newRecord()
	r.Set("sync", s.Sync)
	r.Set("collection", s.Collection)
	r.Set("scope", s.Scope)
	r.Set("revision", s.Revision)
	r.value("cursor", s.Cursor)
	return r.Value
}

package jsbridge

import (
	"syscall/js"

	"github.com/stdsync/outbox/outbox"
)

// newsObject returns News as { rows: [collection, key, row?][], settled:
// [transaction, failure?, restTransaction?, rest?][], delivered: id[], entries: row[], gone: id[], all, stale, reset }.
func newsObject(n outbox.News) js.Value {
	settled := make([]any, len(n.Settled))
	for i, s := range n.Settled {
		if s.Err == nil {
			settled[i] = []any{s.Transaction}
		} else {
			settled[i] = []any{s.Transaction, failure(s.Err), s.RestTransaction, texts(s.Rest)}
		}
	}
	entries := make([]any, len(n.Entries))
	for i, e := range n.Entries {
		entries[i] = entryRow(e)
	}
	return js.ValueOf(map[string]any{
		"rows": rowsArray(n.Rows), "settled": settled, "delivered": texts(n.Delivered), "entries": entries, "gone": texts(n.Gone), "all": n.All, "stale": n.Stale, "reset": n.Reset,
	})
}

// rowsArray returns rows as [collection, key, row?][].
func rowsArray(rows []outbox.Row) []any {
	out := make([]any, len(rows))
	for i, r := range rows {
		out[i] = []any{r.Collection, string(r.Key), unwrap(r.Value)}
	}
	return out
}

// entryRow returns an Entry as a row of std.outbox.entity.
func entryRow(e outbox.Entry) js.Value {
	row := js.Global().Get("Object").New()
	row.Set("id", e.ID)
	row.Set("queue", e.Queue)
	row.Set("name", e.Name)
	row.Set("status", string(e.Status))
	row.Set("seq", e.Seq)
	row.Set("enqueuedAt", e.EnqueuedAt.UnixMilli())
	row.Set("op", string(e.Op))
	row.Set("attempt", e.Attempt)
	if e.Key != "" {
		row.Set("key", string(e.Key))
	}
	for name, v := range map[string]outbox.Value{"base": e.Base, "changes": e.Changes, "payload": e.Payload} {
		if v != nil {
			row.Set(name, unwrap(v))
		}
	}
	if len(e.After) > 0 {
		row.Set("after", texts(e.After))
	}
	if e.RequestID != "" {
		row.Set("requestId", e.RequestID)
	}
	if e.Error != nil {
		row.Set("error", stored(e.Error))
	}
	return row
}

// eventObject returns an Event as onEvent sees it, its error as a failure.
func eventObject(e outbox.Event) js.Value {
	out := map[string]any{"type": string(e.Type), "at": e.At.UnixMilli(), "sync": e.Sync}
	if len(e.EntryIDs) > 0 {
		out["entryIds"] = texts(e.EntryIDs)
	}
	for name, text := range map[string]string{"queue": e.Queue, "name": e.Name} {
		if text != "" {
			out[name] = text
		}
	}
	if e.Attempt > 0 {
		out["attempt"] = e.Attempt
	}
	if e.Count > 0 {
		out["count"] = e.Count
	}
	if e.Error != nil {
		out["error"] = failure(e.Error)
	}
	return js.ValueOf(out)
}

// statusObject returns a Status as std.outbox.status() does.
func statusObject(s outbox.Status) js.Value {
	out := map[string]any{
		"pending": s.Pending, "inRequest": s.InRequest, "failed": s.Failed,
		"oldestAt": nil, "leader": s.Leader, "online": s.Online, "waitingFor": nil,
	}
	if !s.OldestAt.IsZero() {
		out["oldestAt"] = s.OldestAt.UnixMilli()
	}
	if s.WaitingFor != "" {
		out["waitingFor"] = s.WaitingFor
	}
	return js.ValueOf(out)
}

package idbstore

import (
	"slices"
	"syscall/js"

	"github.com/stdsync/outbox/outbox"
)

// tx is an outbox.Tx. Reads issue all their requests and await them once;
// writes are not awaited before the commit.
type tx struct {
	*transaction
	value func(js.Value) outbox.Value
}

var _ outbox.Tx = (*tx)(nil)

// read issues a request for each argument and returns the results.
func read[T any](doing string, args []T, request func(T) js.Value) (results []js.Value, err error) {
	defer recovered(doing, &err)
	requests := make([]js.Value, len(args))
	for i, arg := range args {
		requests[i] = request(arg)
	}
	return await(doing, requests...)
}

// write issues a request for each argument.
func write[T any](doing string, args []T, request func(T)) (err error) {
	defer recovered(doing, &err)
	for _, arg := range args {
		request(arg)
	}
	return nil
}

// decoded decodes the results that are there.
func decoded[T any](results []js.Value, decode func(getter) T) []T {
	out := make([]T, 0, len(results))
	for _, r := range results {
		if r.Type() == js.TypeObject {
			out = append(out, carefully(r, decode))
		}
	}
	return out
}

// carefully decodes a record, once more with care if it holds what no record of
// ours does.
func carefully[T any](r js.Value, decode func(getter) T) (one T) {
	defer func() {
		if recover() != nil {
			one = decode(getter{r, true})
		}
	}()
	return decode(getter{r, false})
}

// entries decodes Entries. One whose id is no text is nobody's, and left alone.
func (t *tx) entries(results []js.Value) []outbox.Entry {
	return slices.DeleteFunc(decoded(results, t.decodeEntry), func(e outbox.Entry) bool { return e.ID == "" })
}

// items returns the elements of a getAll's result.
func items(result js.Value) []js.Value {
	out := make([]js.Value, result.Length())
	for i := range out {
		out[i] = result.Index(i)
	}
	return out
}

func (t *tx) Meta(sync string) (outbox.Meta, error) {
	results, err := read("read the meta record", []string{sync}, func(sync string) js.Value { return t.store("meta").Call("get", sync) })
	if err != nil {
		return outbox.Meta{}, err
	}
	return decodeMeta(sync, getter{results[0], true}), nil
}

func (t *tx) PutMeta(m outbox.Meta) error {
	return write("write the meta record", []outbox.Meta{m}, func(m outbox.Meta) { t.store("meta").Call("put", encodeMeta(m)) })
}

func (t *tx) Entries(ids ...string) ([]outbox.Entry, error) {
	store := t.store("entries")
	results, err := read("read entries", ids, func(id string) js.Value { return store.Call("get", id) })
	return t.entries(results), err
}

func (t *tx) Select(selections ...outbox.Selection) ([][]outbox.Entry, error) {
	results, err := read("select entries", selections, t.selectOne)
	out := make([][]outbox.Entry, len(results))
	for i, r := range results {
		for _, e := range t.entries(items(r)) {
			if selections[i].Matches(e) {
				out[i] = append(out[i], e)
			}
		}
		if selections[i].Queue == "" {
			outbox.SortBySeq(out[i])
		}
	}
	return out, err
}

func (t *tx) selectOne(s outbox.Selection) js.Value {
	index, lower := "queue", []any{s.Sync}
	if s.Status != "" {
		index, lower = "status", append(lower, string(s.Status))
	}
	upper := slices.Clone(lower)
	if from, to := s.QueueRange(); to != "" {
		lower, upper = append(lower, from), append(upper, to)
	}
	args := []any{keyRange(lower, append(upper, last))}
	if s.Limit > 0 {
		args = append(args, s.Limit)
	}
	return t.store("entries").Call("index", index).Call("getAll", args...)
}

func (t *tx) Heads(sync string) (heads []outbox.Head, err error) {
	defer recovered("list the queues", &err)
	pending := string(outbox.Pending)
	index := t.store("entries").Call("index", "status")
	err = eachKey(index, keyRange([]any{sync, pending}, []any{sync, pending, last}), func(key js.Value) {
		queue := key.Index(2).String()
		if n := len(heads); n == 0 || heads[n-1].Queue != queue {
			heads = append(heads, outbox.Head{Queue: queue, Seq: getter{Value: key}.number("3")})
		}
	})
	return heads, err
}

func (t *tx) Waiting(ids ...string) ([]outbox.Entry, error) {
	index := t.store("entries").Call("index", "after")
	results, err := read("read waiting entries", ids, func(id string) js.Value { return index.Call("getAll", id) })
	seen := map[string]bool{}
	var out []outbox.Entry
	for _, r := range results {
		for _, e := range t.entries(items(r)) {
			if !seen[e.ID] {
				seen[e.ID] = true
				out = append(out, e)
			}
		}
	}
	outbox.SortBySeq(out)
	return out, err
}

func (t *tx) ofStatus(sync string, status outbox.EntryStatus) js.Value {
	return keyRange([]any{sync, string(status)}, []any{sync, string(status), last})
}

func (t *tx) Count(sync string, status outbox.EntryStatus) (int, error) {
	results, err := read("count entries", []js.Value{t.ofStatus(sync, status)}, func(keys js.Value) js.Value {
		return t.store("entries").Call("index", "seq").Call("count", keys)
	})
	if err != nil {
		return 0, err
	}
	return results[0].Int(), nil
}

func (t *tx) IDs(sync string, status outbox.EntryStatus) ([]string, error) {
	index, keys := "queue", keyRange([]any{sync}, []any{sync, last})
	if status != "" {
		index, keys = "seq", t.ofStatus(sync, status)
	}
	results, err := read("list ids", []js.Value{keys}, func(keys js.Value) js.Value {
		return t.store("entries").Call("index", index).Call("getAllKeys", keys)
	})
	if err != nil {
		return nil, err
	}
	ids := make([]string, results[0].Length())
	for i := range ids {
		ids[i] = results[0].Index(i).String()
	}
	return ids, nil
}

func (t *tx) Oldest(sync string, status outbox.EntryStatus) ([]outbox.Entry, error) {
	results, err := read("read the oldest entry", []js.Value{t.ofStatus(sync, status)}, func(keys js.Value) js.Value {
		return t.store("entries").Call("index", "seq").Call("get", keys)
	})
	return t.entries(results), err
}

func (t *tx) AddEntries(entries ...outbox.Entry) (map[int]error, error) {
	store := t.store("entries")
	refused := map[int]error{}
	for i, e := range entries {
		if err := write("store an entry", entries[i:i+1], func(outbox.Entry) { store.Call("add", encodeEntry(e)) }); err != nil {
			refused[i] = err
		}
	}
	return refused, nil
}

func (t *tx) PutEntries(entries ...outbox.Entry) error {
	store := t.store("entries")
	return write("write entries", entries, func(e outbox.Entry) { store.Call("put", encodeEntry(e)) })
}

func (t *tx) DeleteEntries(ids ...string) error {
	store := t.store("entries")
	return write("delete entries", ids, func(id string) { store.Call("delete", id) })
}

func (t *tx) Outcomes(ids ...string) ([]outbox.Outcome, error) {
	store := t.store("outcomes")
	results, err := read("read outcomes", ids, func(id string) js.Value { return store.Call("get", id) })
	return decoded(results, decodeOutcome), err
}

func (t *tx) PutOutcomes(outcomes ...outbox.Outcome) error {
	store := t.store("outcomes")
	return write("write outcomes", outcomes, func(o outbox.Outcome) { store.Call("put", encodeOutcome(o)) })
}

func (t *tx) PruneOutcomes(sync string, keep int) error {
	store := t.store("outcomes")
	all := keyRange([]any{sync}, []any{sync, last})
	results, err := read("list outcomes", []js.Value{all}, func(keys js.Value) js.Value { return store.Call("index", "at").Call("getAllKeys", keys) })
	if err != nil {
		return err
	}
	ids := items(results[0])
	return write("prune outcomes", ids[:max(0, len(ids)-keep)], func(id js.Value) { store.Call("delete", id) })
}

func (t *tx) Rows(keys ...outbox.RowKey) ([]outbox.Row, error) {
	store := t.store("replica")
	results, err := read("read rows", keys, func(k outbox.RowKey) js.Value { return store.Call("get", rowKeyValue(k)) })
	return decoded(results, t.decodeRow), err
}

func (t *tx) Replica(sync, collection string) ([]outbox.Row, error) {
	all := keyRange([]any{sync, collection}, []any{sync, collection, last})
	results, err := read("read the replica", []js.Value{all}, func(keys js.Value) js.Value { return t.store("replica").Call("getAll", keys) })
	if err != nil {
		return nil, err
	}
	return decoded(items(results[0]), t.decodeRow), nil
}

func (t *tx) PutRows(rows ...outbox.Row) error {
	store := t.store("replica")
	return write("write rows", rows, func(row outbox.Row) { store.Call("put", encodeRow(row)) })
}

func (t *tx) DeleteRows(keys ...outbox.RowKey) error {
	store := t.store("replica")
	return write("delete rows", keys, func(k outbox.RowKey) { store.Call("delete", rowKeyValue(k)) })
}

func (t *tx) State(key outbox.StateKey) (outbox.State, error) {
	results, err := read("read a cursor", []outbox.StateKey{key}, func(k outbox.StateKey) js.Value {
		return t.store("state").Call("get", stateKeyValue(k))
	})
	state := outbox.State{StateKey: key}
	if err == nil && results[0].Type() == js.TypeObject {
		g := getter{results[0], true}
		state.Cursor, state.Revision = t.get(g, "cursor"), g.number("revision")
	}
	return state, err
}

func (t *tx) Clear(sync string) error {
	all := keyRange([]any{sync}, []any{sync, last})
	for store, index := range map[string]string{"entries": "queue", "outcomes": "at"} {
		results, err := read("list what is to be deleted", []js.Value{all}, func(keys js.Value) js.Value {
			return t.store(store).Call("index", index).Call("getAllKeys", keys)
		})
		if err != nil {
			return err
		}
		if err := write("delete everything", items(results[0]), func(id js.Value) { t.store(store).Call("delete", id) }); err != nil {
			return err
		}
	}
	return write("delete everything", []string{"replica", "state"}, func(store string) { t.store(store).Call("delete", all) })
}

func (t *tx) PutState(s outbox.State) error {
	return write("write a cursor", []outbox.State{s}, func(s outbox.State) { t.store("state").Call("put", encodeState(s)) })
}

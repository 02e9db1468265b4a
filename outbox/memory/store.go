package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"
	"sync"

	"github.com/stdsync/outbox/outbox"
)

// Store is an outbox.Store in memory. Its zero value is empty and ready.
type Store struct {
	mu   sync.RWMutex
	data data
}

var _ outbox.Store = (*Store)(nil)

// data is what a Store holds. Maps are made when first written.
type data struct {
	metas    map[string]outbox.Meta
	entries  map[string]outbox.Entry
	queues   map[queueKey][]string // Entry ids in Seq order
	waiting  map[string]map[string]bool
	outcomes map[string]outbox.Outcome
	rows     map[outbox.RowKey]outbox.Row
	states   map[outbox.StateKey]outbox.State
}

type queueKey struct{ sync, queue string }

// View runs fn beside other Views.
func (s *Store) View(ctx context.Context, fn func(outbox.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return fn(&tx{data: &s.data, readOnly: true})
}

// Update runs fn alone, and undoes what it wrote if it fails.
func (s *Store) Update(ctx context.Context, _ outbox.Durability, fn func(outbox.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := &tx{data: &s.data}
	done := false
	defer func() {
		if !done {
			tx.rollback()
		}
	}()
	err := fn(tx)
	done = err == nil
	return err
}

// Close does nothing.
func (s *Store) Close() error { return nil }

// tx is one transaction on the data, with what it takes to undo it.
type tx struct {
	data     *data
	readOnly bool
	undo     []func()
}

func (t *tx) rollback() {
	for _, undo := range slices.Backward(t.undo) {
		undo()
	}
}

// set writes m[k] = v, or deletes m[k] when v is nil, and notes how to undo it.
func set[K comparable, V any](t *tx, m *map[K]V, k K, v *V) {
	if t.readOnly {
		panic("memory: a write in a read-only transaction")
	}
	if *m == nil {
		*m = map[K]V{}
	}
	old, had := (*m)[k]
	t.undo = append(t.undo, func() {
		if had {
			(*m)[k] = old
		} else {
			delete(*m, k)
		}
	})
	if v == nil {
		delete(*m, k)
	} else {
		(*m)[k] = *v
	}
}

// found returns the values of those keys that are in m, in order.
func found[K comparable, V any](m map[K]V, keys []K) []V {
	var out []V
	for _, k := range keys {
		if v, ok := m[k]; ok {
			out = append(out, v)
		}
	}
	return out
}

func (t *tx) Meta(sync string) (outbox.Meta, error) {
	meta := t.data.metas[sync]
	meta.Sync = sync
	return meta, nil
}

func (t *tx) PutMeta(m outbox.Meta) error {
	set(t, &t.data.metas, m.Sync, &m)
	return nil
}

func (t *tx) Entries(ids ...string) ([]outbox.Entry, error) {
	return found(t.data.entries, ids), nil
}

func (t *tx) Select(selections ...outbox.Selection) ([][]outbox.Entry, error) {
	out := make([][]outbox.Entry, len(selections))
	for i, s := range selections {
		out[i] = t.selectOne(s)
	}
	return out, nil
}

func (t *tx) selectOne(s outbox.Selection) []outbox.Entry {
	var out []outbox.Entry
	take := func(ids []string) {
		for _, id := range ids {
			if e := t.data.entries[id]; (s.Status == "" || e.Status == s.Status) && s.Matches(e) {
				out = append(out, e)
			}
			if s.Queue != "" && s.Limit > 0 && len(out) == s.Limit {
				return
			}
		}
	}
	if s.Queue != "" {
		take(t.data.queues[queueKey{s.Sync, s.Queue}])
		return out
	}
	from, to := s.QueueRange()
	for key, ids := range t.data.queues {
		if key.sync == s.Sync && (to == "" || key.queue >= from && key.queue <= to) {
			take(ids)
		}
	}
	outbox.SortBySeq(out)
	if s.Limit > 0 && len(out) > s.Limit {
		out = out[:s.Limit]
	}
	return out
}

func (t *tx) Heads(sync string) ([]outbox.Head, error) {
	var heads []outbox.Head
	for key := range t.data.queues {
		if key.sync != sync {
			continue
		}
		if pending := t.selectOne(outbox.Selection{Sync: sync, Queue: key.queue, Status: outbox.Pending, Limit: 1}); len(pending) > 0 {
			heads = append(heads, outbox.Head{Queue: key.queue, Seq: pending[0].Seq})
		}
	}
	return heads, nil
}

func (t *tx) Waiting(ids ...string) ([]outbox.Entry, error) {
	waiting := map[string]bool{}
	for _, id := range ids {
		maps.Copy(waiting, t.data.waiting[id])
	}
	out := found(t.data.entries, slices.Collect(maps.Keys(waiting)))
	outbox.SortBySeq(out)
	return out, nil
}

func (t *tx) Count(sync string, status outbox.EntryStatus) (int, error) {
	n := 0
	for _, e := range t.data.entries {
		if e.Sync == sync && e.Status == status {
			n++
		}
	}
	return n, nil
}

func (t *tx) IDs(sync string, status outbox.EntryStatus) ([]string, error) {
	var ids []string
	for id, e := range t.data.entries {
		if e.Sync == sync && (status == "" || e.Status == status) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (t *tx) Oldest(sync string, status outbox.EntryStatus) ([]outbox.Entry, error) {
	var oldest []outbox.Entry
	for _, e := range t.data.entries {
		if e.Sync == sync && e.Status == status && (oldest == nil || e.Seq < oldest[0].Seq) {
			oldest = []outbox.Entry{e}
		}
	}
	return oldest, nil
}

func (t *tx) AddEntries(entries ...outbox.Entry) (map[int]error, error) {
	for _, e := range entries {
		if _, exists := t.data.entries[e.ID]; exists {
			return nil, &outbox.Error{Code: outbox.CodeInvalid, EntryID: e.ID, Message: "add an entry", Err: outbox.ErrExists}
		}
		t.putEntry(e)
	}
	return nil, nil
}

func (t *tx) PutEntries(entries ...outbox.Entry) error {
	for _, e := range entries {
		t.putEntry(e)
	}
	return nil
}

// putEntry stores a copy that shares nothing with the caller but its Values.
func (t *tx) putEntry(e outbox.Entry) {
	e.After = slices.Clone(e.After)
	if e.Claim != nil {
		claim := *e.Claim
		e.Claim = &claim
	}
	if e.Error != nil {
		failure := *e.Error
		e.Error = &failure
	}
	_, exists := t.data.entries[e.ID]
	set(t, &t.data.entries, e.ID, &e)
	if exists {
		return
	}
	key := queueKey{e.Sync, e.Queue}
	queue := t.data.queues[key]
	at, _ := slices.BinarySearchFunc(queue, e.Seq, func(id string, seq int64) int { return cmp.Compare(t.data.entries[id].Seq, seq) })
	queue = slices.Insert(slices.Clip(queue), at, e.ID)
	set(t, &t.data.queues, key, &queue)
	for _, id := range e.After {
		t.markWaiting(id, e.ID, true)
	}
}

func (t *tx) DeleteEntries(ids ...string) error {
	for _, e := range found(t.data.entries, ids) {
		set(t, &t.data.entries, e.ID, nil)
		key := queueKey{e.Sync, e.Queue}
		queue := slices.DeleteFunc(slices.Clone(t.data.queues[key]), func(id string) bool { return id == e.ID })
		if len(queue) == 0 {
			set(t, &t.data.queues, key, nil)
		} else {
			set(t, &t.data.queues, key, &queue)
		}
		for _, id := range e.After {
			t.markWaiting(id, e.ID, false)
		}
	}
	return nil
}

func (t *tx) markWaiting(on, id string, waits bool) {
	marks := maps.Clone(t.data.waiting[on])
	if marks == nil {
		marks = map[string]bool{}
	}
	if waits {
		marks[id] = true
	} else {
		delete(marks, id)
	}
	if len(marks) == 0 {
		set(t, &t.data.waiting, on, nil)
		return
	}
	set(t, &t.data.waiting, on, &marks)
}

func (t *tx) Outcomes(ids ...string) ([]outbox.Outcome, error) {
	return found(t.data.outcomes, ids), nil
}

func (t *tx) PutOutcomes(outcomes ...outbox.Outcome) error {
	for _, o := range outcomes {
		set(t, &t.data.outcomes, o.ID, &o)
	}
	return nil
}

func (t *tx) PruneOutcomes(sync string, keep int) error {
	var all []outbox.Outcome
	for _, o := range t.data.outcomes {
		if o.Sync == sync {
			all = append(all, o)
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].At > all[j].At || all[i].At == all[j].At && all[i].ID > all[j].ID })
	for _, o := range all[min(keep, len(all)):] {
		set(t, &t.data.outcomes, o.ID, nil)
	}
	return nil
}

func (t *tx) Rows(keys ...outbox.RowKey) ([]outbox.Row, error) {
	return found(t.data.rows, keys), nil
}

func (t *tx) Replica(sync, collection string) ([]outbox.Row, error) {
	var rows []outbox.Row
	for _, row := range t.data.rows {
		if row.Sync == sync && row.Collection == collection {
			rows = append(rows, row)
		}
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Key < rows[j].Key })
	return rows, nil
}

func (t *tx) PutRows(rows ...outbox.Row) error {
	for _, row := range rows {
		set(t, &t.data.rows, row.RowKey, &row)
	}
	return nil
}

func (t *tx) DeleteRows(keys ...outbox.RowKey) error {
	for _, key := range keys {
		set(t, &t.data.rows, key, nil)
	}
	return nil
}

func (t *tx) State(key outbox.StateKey) (outbox.State, error) {
	state := t.data.states[key]
	state.StateKey = key
	return state, nil
}

func (t *tx) Clear(sync string) error {
	var ids []string
	for id, e := range t.data.entries {
		if e.Sync == sync {
			ids = append(ids, id)
		}
	}
	for id, o := range t.data.outcomes {
		if o.Sync == sync {
			set(t, &t.data.outcomes, id, nil)
		}
	}
	for key := range t.data.rows {
		if key.Sync == sync {
			set(t, &t.data.rows, key, nil)
		}
	}
	for key := range t.data.states {
		if key.Sync == sync {
			set(t, &t.data.states, key, nil)
		}
	}
	return t.DeleteEntries(ids...)
}

func (t *tx) PutState(s outbox.State) error {
	set(t, &t.data.states, s.StateKey, &s)
	return nil
}

package outboxtest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
)

// StoreUnderTest is what TestStore needs of an implementation.
type StoreUnderTest struct {
	// Open opens the store; a second call opens the same data again.
	Open func() outbox.Store
	// Value and Fields convert between the suite's rows and the store's.
	Value  func(Fields) outbox.Value
	Fields func(outbox.Value) Fields
	// Unstorable returns a Value that the store refuses, or nil if it takes all.
	Unstorable func() outbox.Value
}

// TestStore is the suite every outbox.Store passes. open makes a new, empty one.
func TestStore(t *testing.T, open func(t *testing.T) StoreUnderTest) {
	for _, test := range []struct {
		name string
		run  func(*storeTest)
	}{
		{"an entry comes back as it went in", (*storeTest).roundTrip},
		{"an entry that is read, changed and written back is what it was changed to", (*storeTest).writtenBack},
		{"an entry of a status or a queue is found in the order of seq", (*storeTest).selects},
		{"names that look alike keep their queues apart", (*storeTest).alike},
		{"the heads are the oldest pending entry of each queue", (*storeTest).heads},
		{"entries that wait for another are found by it", (*storeTest).waiting},
		{"entries are counted by status, and the oldest is found", (*storeTest).counts},
		{"an update that fails leaves nothing behind", (*storeTest).rollback},
		{"a transaction reads what it wrote", (*storeTest).readsOwnWrites},
		{"an id that exists fails the update", (*storeTest).exists},
		{"an entry that cannot be stored hurts no other", (*storeTest).unstorable},
		{"updates run one after another", (*storeTest).serial},
		{"two stores on the same data see each other's writes", (*storeTest).shared},
		{"meta, rows, cursors and outcomes come back", (*storeTest).others},
		{"a clear leaves other std syncs and the meta record alone", (*storeTest).clears},
		{"outcomes are pruned, oldest first", (*storeTest).prunes},
		{"ten thousand entries are stored and found", (*storeTest).bulk},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &storeTest{T: t, StoreUnderTest: open(t)}
			s.store = s.Open()
			defer func() { require.NoError(t, s.store.Close()) }()
			test.run(s)
		})
	}
}

type storeTest struct {
	*testing.T
	StoreUnderTest
	store outbox.Store
}

func (s *storeTest) update(fn func(outbox.Tx) error) {
	s.Helper()
	require.NoError(s, s.store.Update(context.Background(), outbox.Strict, fn))
}

func (s *storeTest) view(fn func(outbox.Tx) error) {
	s.Helper()
	require.NoError(s, s.store.View(context.Background(), fn))
}

func (s *storeTest) add(entries ...outbox.Entry) {
	s.Helper()
	s.update(func(tx outbox.Tx) error {
		refused, err := tx.AddEntries(entries...)
		require.Empty(s, refused)
		return err
	})
}

func storeEntry(id, queue string, seq int64, status outbox.EntryStatus) outbox.Entry {
	return outbox.Entry{
		ID: id, Sync: Sync, Queue: queue, Name: outbox.HandlerOf(queue), Status: status, Seq: seq,
		EnqueuedAt: time.UnixMilli(1_700_000_000_000 + seq), Transaction: id, Op: outbox.OpUpdate, Key: outbox.KeyOf(queue),
	}
}

func entryIDs(entries []outbox.Entry) string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	return strings.Join(ids, " ")
}

func (s *storeTest) roundTrip() {
	for _, key := range []outbox.Key{"n:1", "s:1", "s:", "s:n:1", "n:-2.5", "s:😀/ñ"} {
		full := storeEntry("id "+string(key), outbox.QueueOf("todos", key), 7, outbox.Failed)
		full.After = []string{"x", "y"}
		full.DependsOn, full.RequestID, full.Attempt = "x", "request", 3
		full.Claim = &outbox.Claim{Epoch: 4, At: time.UnixMilli(1_700_000_000_999)}
		full.Error = &outbox.Failure{Name: "Error", Message: "no", Code: "failed"}
		full.Base, full.Changes = s.Value(Fields{"a": "1"}), s.Value(Fields{"__proto__": "2", "constructor": "3"})
		s.add(full)
		s.view(func(tx outbox.Tx) error {
			got, err := tx.Entries("nobody", full.ID)
			require.NoError(s, err)
			require.Len(s, got, 1)
			require.Equal(s, Fields{"a": "1"}, s.Fields(got[0].Base))
			require.Equal(s, Fields{"__proto__": "2", "constructor": "3"}, s.Fields(got[0].Changes))
			got[0].Base, got[0].Changes, got[0].Record, full.Base, full.Changes = nil, nil, nil, nil, nil
			require.Equal(s, full, got[0])
			return nil
		})
	}
}

// writtenBack reads an Entry, changes all that may change, and writes it back.
func (s *storeTest) writtenBack() {
	q := outbox.QueueOf("todos", "s:1")
	first := storeEntry("a", q, 1, outbox.Pending)
	first.Changes = s.Value(Fields{"a": "1"})
	s.add(first)
	change := func(change func(*outbox.Entry)) outbox.Entry {
		s.update(func(tx outbox.Tx) error {
			got, err := tx.Entries("a")
			require.NoError(s, err)
			change(&got[0])
			return tx.PutEntries(got...)
		})
		var after outbox.Entry
		s.view(func(tx outbox.Tx) error {
			got, err := tx.Entries("a")
			require.Equal(s, Fields{"a": "1"}, s.Fields(got[0].Changes))
			after = got[0]
			after.Changes, after.Record = nil, nil
			return err
		})
		return after
	}
	want := first
	want.Changes = nil
	want.Status, want.Attempt, want.RequestID, want.DependsOn = outbox.InRequest, 1, "r", "b"
	want.Claim = &outbox.Claim{Epoch: 2, At: time.UnixMilli(9)}
	want.Error = &outbox.Failure{Name: "Error", Message: "no"}
	require.Equal(s, want, change(func(e *outbox.Entry) {
		e.Status, e.Attempt, e.RequestID, e.DependsOn, e.Claim, e.Error = want.Status, 1, "r", "b", want.Claim, want.Error
	}))
	want.Status, want.RequestID, want.DependsOn, want.Claim, want.Error = outbox.Pending, "", "", nil, nil
	require.Equal(s, want, change(func(e *outbox.Entry) {
		e.Status, e.RequestID, e.DependsOn, e.Claim, e.Error = want.Status, "", "", nil, nil
	}))
}

func (s *storeTest) selects() {
	q1, q2, other := outbox.QueueOf("todos", "s:1"), outbox.QueueOf("todos", "s:2"), outbox.QueueOf("lists", "s:1")
	s.add(
		storeEntry("e", q1, 5, outbox.Pending), storeEntry("a", q1, 1, outbox.Pending), storeEntry("b", q2, 2, outbox.InRequest),
		storeEntry("c", q1, 3, outbox.Failed), storeEntry("d", other, 4, outbox.Pending),
	)
	foreign := storeEntry("f", q1, 1, outbox.Pending)
	foreign.Sync = "acme2"
	s.add(foreign)
	s.view(func(tx outbox.Tx) error {
		found, err := tx.Select(
			outbox.Selection{Sync: Sync},
			outbox.Selection{Sync: Sync, Queue: q1},
			outbox.Selection{Sync: Sync, Queue: q1, Status: outbox.Pending},
			outbox.Selection{Sync: Sync, Queue: q1, Status: outbox.Pending, Limit: 1},
			outbox.Selection{Sync: Sync, Handler: "collection:todos"},
			outbox.Selection{Sync: Sync, Status: outbox.InRequest},
			outbox.Selection{Sync: Sync, Queue: "nothing"},
		)
		require.NoError(s, err)
		var got []string
		for _, f := range found {
			got = append(got, entryIDs(f))
		}
		require.Equal(s, []string{"a b c d e", "a c e", "a e", "a", "a b c e", "b", ""}, got)
		return nil
	})
}

func (s *storeTest) alike() {
	names := []string{"a", "a/s:b", "a%2Fs:b", "a-b", "á"}
	for i, name := range names {
		s.add(storeEntry(name, outbox.QueueOf(name, "s:b"), int64(i+1), outbox.Pending))
	}
	for i, action := range []string{"a", "a-b", "a/b"} {
		s.add(storeEntry("action "+action, outbox.ActionQueue(action, ""), int64(20+i), outbox.Pending), storeEntry("queued "+action, outbox.ActionQueue(action, "q"), int64(30+i), outbox.Pending))
	}
	s.add(storeEntry("number", outbox.QueueOf("a", "n:1"), 10, outbox.Pending), storeEntry("text", outbox.QueueOf("a", "s:1"), 11, outbox.Pending))
	s.view(func(tx outbox.Tx) error {
		for _, name := range names[1:] {
			found, err := tx.Select(outbox.Selection{Sync: Sync, Handler: outbox.CollectionHandler(name)})
			require.NoError(s, err)
			require.Equal(s, name, entryIDs(found[0]))
		}
		found, err := tx.Select(outbox.Selection{Sync: Sync, Handler: "collection:a"}, outbox.Selection{Sync: Sync, Queue: outbox.QueueOf("a", "n:1")})
		require.NoError(s, err)
		require.Equal(s, "a number text", entryIDs(found[0]))
		require.Equal(s, "number", entryIDs(found[1]))
		for _, action := range []string{"a", "a-b", "a/b"} {
			found, err := tx.Select(outbox.Selection{Sync: Sync, Handler: outbox.ActionHandler(action)})
			require.NoError(s, err)
			require.Equal(s, "action "+action+" queued "+action, entryIDs(found[0]))
		}
		return nil
	})
}

func (s *storeTest) heads() {
	q1, q2, q3 := outbox.QueueOf("todos", "s:1"), outbox.QueueOf("todos", "s:2"), outbox.QueueOf("todos", "s:3")
	s.add(
		storeEntry("a", q1, 4, outbox.Pending), storeEntry("b", q1, 2, outbox.Failed), storeEntry("c", q1, 6, outbox.Pending),
		storeEntry("d", q2, 3, outbox.InRequest), storeEntry("e", q3, 5, outbox.Pending),
	)
	s.view(func(tx outbox.Tx) error {
		heads, err := tx.Heads(Sync)
		require.NoError(s, err)
		require.ElementsMatch(s, []outbox.Head{{Queue: q1, Seq: 4}, {Queue: q3, Seq: 5}}, heads)
		none, err := tx.Heads("acm")
		require.Empty(s, none)
		return err
	})
}

func (s *storeTest) waiting() {
	q := outbox.QueueOf("todos", "s:1")
	one, two := storeEntry("one", q, 1, outbox.Pending), storeEntry("two", q, 2, outbox.Pending)
	one.After, two.After = []string{"x"}, []string{"x", "y"}
	s.add(two, one, storeEntry("three", q, 3, outbox.Pending))
	s.view(func(tx outbox.Tx) error {
		for want, ids := range map[string][]string{"one two": {"x", "y"}, "two": {"y"}, "": {"z"}} {
			found, err := tx.Waiting(ids...)
			require.NoError(s, err)
			require.Equal(s, want, entryIDs(found))
		}
		return nil
	})
	s.update(func(tx outbox.Tx) error { return tx.DeleteEntries("two") })
	s.view(func(tx outbox.Tx) error {
		found, err := tx.Waiting("x", "y")
		require.Equal(s, "one", entryIDs(found))
		return err
	})
}

func (s *storeTest) counts() {
	s.view(func(tx outbox.Tx) error {
		oldest, err := tx.Oldest(Sync, outbox.Pending)
		require.Empty(s, oldest)
		return err
	})
	s.add(
		storeEntry("a", outbox.QueueOf("todos", "s:9"), 1, outbox.Failed), storeEntry("b", outbox.QueueOf("todos", "s:8"), 2, outbox.Pending),
		storeEntry("c", outbox.QueueOf("todos", "s:1"), 3, outbox.Pending),
	)
	s.view(func(tx outbox.Tx) error {
		for status, want := range map[outbox.EntryStatus]int{outbox.Pending: 2, outbox.Failed: 1, outbox.InRequest: 0} {
			n, err := tx.Count(Sync, status)
			require.NoError(s, err)
			require.Equal(s, want, n)
		}
		for status, want := range map[outbox.EntryStatus][]string{outbox.Pending: {"b", "c"}, outbox.Failed: {"a"}, outbox.InRequest: {}, "": {"a", "b", "c"}} {
			ids, err := tx.IDs(Sync, status)
			require.NoError(s, err)
			require.ElementsMatch(s, want, ids)
		}
		oldest, err := tx.Oldest(Sync, outbox.Pending)
		require.Equal(s, "b", entryIDs(oldest))
		return err
	})
}

func (s *storeTest) rollback() {
	q := outbox.QueueOf("todos", "s:1")
	s.add(storeEntry("a", q, 1, outbox.Pending))
	why := errors.New("changed my mind")
	err := s.store.Update(context.Background(), outbox.Relaxed, func(tx outbox.Tx) error {
		changed := storeEntry("a", q, 1, outbox.Failed)
		require.NoError(s, tx.PutEntries(changed))
		_, err := tx.AddEntries(storeEntry("b", q, 2, outbox.Pending))
		require.NoError(s, err)
		require.NoError(s, tx.PutMeta(outbox.Meta{Sync: Sync, Seq: 9}))
		return why
	})
	require.ErrorIs(s, err, why)
	s.view(func(tx outbox.Tx) error {
		found, err := tx.Select(outbox.Selection{Sync: Sync}, outbox.Selection{Sync: Sync, Queue: q, Status: outbox.Pending})
		require.NoError(s, err)
		require.Equal(s, "a", entryIDs(found[0]))
		require.Equal(s, "a", entryIDs(found[1]))
		meta, err := tx.Meta(Sync)
		require.Zero(s, meta.Seq)
		return err
	})
}

func (s *storeTest) readsOwnWrites() {
	q := outbox.QueueOf("todos", "s:1")
	s.update(func(tx outbox.Tx) error {
		_, err := tx.AddEntries(storeEntry("a", q, 1, outbox.Pending), storeEntry("b", q, 2, outbox.Pending))
		require.NoError(s, err)
		require.NoError(s, tx.PutEntries(storeEntry("a", q, 1, outbox.InRequest)))
		require.NoError(s, tx.DeleteEntries("b"))
		found, err := tx.Select(outbox.Selection{Sync: Sync, Queue: q, Status: outbox.Pending}, outbox.Selection{Sync: Sync, Queue: q, Status: outbox.InRequest})
		require.NoError(s, err)
		require.Empty(s, found[0])
		require.Equal(s, "a", entryIDs(found[1]))
		return nil
	})
}

func (s *storeTest) exists() {
	q := outbox.QueueOf("todos", "s:1")
	s.add(storeEntry("a", q, 1, outbox.Pending))
	err := s.store.Update(context.Background(), outbox.Strict, func(tx outbox.Tx) error {
		_, err := tx.AddEntries(storeEntry("b", q, 2, outbox.Pending), storeEntry("a", q, 3, outbox.Pending))
		return err
	})
	require.ErrorIs(s, err, outbox.ErrExists)
	s.view(func(tx outbox.Tx) error {
		found, err := tx.Entries("a", "b")
		require.Equal(s, "a", entryIDs(found))
		require.EqualValues(s, 1, found[0].Seq)
		return err
	})
}

func (s *storeTest) unstorable() {
	if s.Unstorable == nil {
		s.Skip("this store takes every value")
	}
	q := outbox.QueueOf("todos", "s:1")
	bad := storeEntry("bad", q, 2, outbox.Pending)
	bad.Changes = s.Unstorable()
	s.update(func(tx outbox.Tx) error {
		refused, err := tx.AddEntries(storeEntry("a", q, 1, outbox.Pending), bad, storeEntry("c", q, 3, outbox.Pending))
		require.Len(s, refused, 1)
		require.Equal(s, outbox.CodeNotStorable, outbox.CodeOf(refused[1]))
		return err
	})
	s.view(func(tx outbox.Tx) error {
		found, err := tx.Entries("a", "bad", "c")
		require.Equal(s, "a c", entryIDs(found))
		return err
	})
}

func (s *storeTest) serial() {
	const n = 20
	errs := make(chan error, n)
	for range n {
		go func() {
			errs <- s.store.Update(context.Background(), outbox.Relaxed, func(tx outbox.Tx) error {
				meta, err := tx.Meta(Sync)
				if err != nil {
					return err
				}
				meta.Seq++
				return tx.PutMeta(meta)
			})
		}()
	}
	for range n {
		require.NoError(s, <-errs)
	}
	s.view(func(tx outbox.Tx) error {
		meta, err := tx.Meta(Sync)
		require.EqualValues(s, n, meta.Seq)
		return err
	})
}

func (s *storeTest) shared() {
	other := s.Open()
	defer func() { require.NoError(s, other.Close()) }()
	s.add(storeEntry("a", outbox.QueueOf("todos", "s:1"), 1, outbox.Pending))
	require.NoError(s, other.View(context.Background(), func(tx outbox.Tx) error {
		found, err := tx.Entries("a")
		require.Equal(s, "a", entryIDs(found))
		return err
	}))
}

func (s *storeTest) others() {
	meta := outbox.Meta{Sync: Sync, Format: 1, Version: 3, Epoch: 5, Seq: 6, Generation: "g", Clock: 7, Paused: true, Counts: outbox.Counts{Pending: 1, InRequest: 2, Failed: 3}, Lease: outbox.Held{By: "me", Until: 1 << 40}}
	one := outbox.RowKey{Sync: Sync, Collection: "todos", Key: "n:1"}
	two := outbox.RowKey{Sync: Sync, Collection: "todos", Key: "s:1"}
	other := outbox.RowKey{Sync: Sync, Collection: "todos2", Key: "s:1"}
	cursor := outbox.StateKey{Sync: Sync, Collection: "todos", Scope: "all"}
	s.update(func(tx outbox.Tx) error {
		require.NoError(s, tx.PutMeta(meta))
		require.NoError(s, tx.PutRows(outbox.Row{RowKey: one, Value: s.Value(Fields{"a": "1"}), Confirmed: 3}, outbox.Row{RowKey: two}, outbox.Row{RowKey: other}))
		require.NoError(s, tx.PutState(outbox.State{StateKey: cursor, Cursor: s.Value(Fields{"at": "9"}), Revision: 2}))
		return tx.PutOutcomes(outbox.Outcome{ID: "gone", Sync: Sync, Reason: outbox.CodeDiscarded, At: 4})
	})
	s.view(func(tx outbox.Tx) error {
		got, err := tx.Meta(Sync)
		require.NoError(s, err)
		require.Equal(s, meta, got)
		none, err := tx.Meta("else")
		require.NoError(s, err)
		require.Equal(s, outbox.Meta{Sync: "else"}, none)
		rows, err := tx.Replica(Sync, "todos")
		require.NoError(s, err)
		require.Len(s, rows, 2)
		rows, err = tx.Rows(two, outbox.RowKey{Sync: Sync, Collection: "todos", Key: "s:none"}, one)
		require.NoError(s, err)
		require.Len(s, rows, 2)
		require.Nil(s, rows[0].Value)
		require.Equal(s, one, rows[1].RowKey)
		require.EqualValues(s, 3, rows[1].Confirmed)
		require.Equal(s, Fields{"a": "1"}, s.Fields(rows[1].Value))
		state, err := tx.State(cursor)
		require.NoError(s, err)
		require.EqualValues(s, 2, state.Revision)
		require.Equal(s, Fields{"at": "9"}, s.Fields(state.Cursor))
		outcomes, err := tx.Outcomes("gone", "there")
		require.Equal(s, []outbox.Outcome{{ID: "gone", Sync: Sync, Reason: outbox.CodeDiscarded, At: 4}}, outcomes)
		return err
	})
	s.update(func(tx outbox.Tx) error { return tx.DeleteRows(one) })
	s.view(func(tx outbox.Tx) error {
		rows, err := tx.Rows(one)
		require.Empty(s, rows)
		state, err2 := tx.State(outbox.StateKey{Sync: Sync, Collection: "todos", Scope: "none"})
		require.NoError(s, err2)
		require.Nil(s, state.Cursor)
		return err
	})
}

func (s *storeTest) clears() {
	fill := func(sync, id string) {
		e := storeEntry(id, outbox.QueueOf("todos", "s:1"), 1, outbox.Failed)
		e.Sync, e.After = sync, []string{"x"}
		s.add(e)
		s.update(func(tx outbox.Tx) error {
			require.NoError(s, tx.PutMeta(outbox.Meta{Sync: sync, Seq: 7}))
			require.NoError(s, tx.PutRows(outbox.Row{RowKey: outbox.RowKey{Sync: sync, Collection: "todos", Key: "n:1"}, Value: s.Value(Fields{"a": "1"})}))
			require.NoError(s, tx.PutState(outbox.State{StateKey: outbox.StateKey{Sync: sync, Collection: "todos", Scope: "all"}, Revision: 2}))
			return tx.PutOutcomes(outbox.Outcome{ID: "gone " + id, Sync: sync, Reason: outbox.CodeDiscarded, At: 4})
		})
	}
	fill(Sync, "a")
	fill(Sync+"2", "b")
	s.update(func(tx outbox.Tx) error { return tx.Clear(Sync) })
	left := func(sync, id string) (left []int) {
		s.view(func(tx outbox.Tx) error {
			meta, err := tx.Meta(sync)
			require.NoError(s, err)
			entries, err := tx.Select(outbox.Selection{Sync: sync})
			require.NoError(s, err)
			rows, err := tx.Replica(sync, "todos")
			require.NoError(s, err)
			state, err := tx.State(outbox.StateKey{Sync: sync, Collection: "todos", Scope: "all"})
			require.NoError(s, err)
			outcomes, err := tx.Outcomes("gone " + id)
			require.NoError(s, err)
			left = []int{int(meta.Seq), len(entries[0]), len(rows), int(state.Revision), len(outcomes)}
			return nil
		})
		return left
	}
	require.Equal(s, []int{7, 0, 0, 0, 0}, left(Sync, "a"))
	require.Equal(s, []int{7, 1, 1, 2, 1}, left(Sync+"2", "b"))
}

func (s *storeTest) prunes() {
	s.update(func(tx outbox.Tx) error {
		for at, id := range []string{"a", "b", "c", "d"} {
			require.NoError(s, tx.PutOutcomes(outbox.Outcome{ID: id, Sync: Sync, Reason: outbox.CodeDiscarded, At: int64(at)}))
		}
		return tx.PruneOutcomes(Sync, 2)
	})
	s.view(func(tx outbox.Tx) error {
		left, err := tx.Outcomes("a", "b", "c", "d")
		require.Len(s, left, 2)
		require.Equal(s, "c", left[0].ID)
		return err
	})
}

func (s *storeTest) bulk() {
	entries := make([]outbox.Entry, 10_000)
	for i := range entries {
		id := "e" + time.UnixMilli(int64(i)).UTC().Format("05.000")
		entries[i] = storeEntry(id, outbox.QueueOf("todos", outbox.Key("s:"+id)), int64(i+1), outbox.Pending)
		entries[i].Changes = s.Value(Fields{"a": id})
	}
	s.add(entries...)
	s.view(func(tx outbox.Tx) error {
		found, err := tx.Select(outbox.Selection{Sync: Sync, Handler: "collection:todos"})
		require.NoError(s, err)
		require.Len(s, found[0], len(entries))
		require.Equal(s, entries[9_999].ID, found[0][9_999].ID)
		heads, err := tx.Heads(Sync)
		require.Len(s, heads, len(entries))
		return err
	})
}

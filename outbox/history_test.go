package outbox_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

// A step is one thing that happens to the World.
type step struct {
	what   string
	tab    int
	key    string
	op     outbox.Op
	answer outboxtest.Answer
	wait   time.Duration
}

func (s step) String() string {
	switch s.what {
	case "write":
		return fmt.Sprintf("tab %d: %s %s", s.tab, s.op, s.key)
	case "answer":
		return fmt.Sprintf("the backend meets %s with %d", s.key, s.answer)
	case "wait":
		return "wait " + s.wait.String()
	}
	return fmt.Sprintf("%s %d", s.what, s.tab)
}

func drawStep(t *rapid.T) step {
	return step{
		what: rapid.SampledFrom([]string{
			"write", "write", "write", "write", "write", "write", "answer", "answer", "wait", "wait",
			"open", "close", "steal", "offline", "online", "discard", "retry", "drain", "pause", "resume", "reset",
		}).Draw(t, "what"),
		tab:    rapid.IntRange(0, 3).Draw(t, "tab"),
		key:    rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "key"),
		op:     rapid.SampledFrom([]outbox.Op{outbox.OpInsert, outbox.OpUpdate, outbox.OpDelete, outbox.OpAction}).Draw(t, "op"),
		answer: outboxtest.Answer(rapid.IntRange(0, int(outboxtest.HangAway)).Draw(t, "answer")),
		wait:   rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute}).Draw(t, "wait"),
	}
}

// Whatever happens, no Entry is lost, none is applied twice, and none overtakes
// another of its Queue.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.Custom(drawStep), 1, 60).Draw(rt, "steps")
		failed := ""
		synctest.Test(t, func(*testing.T) { failed = play(steps) })
		if failed != "" {
			rt.Fatal(failed)
		}
	})
}

// recorder turns a failed assertion into a panic that play recovers.
type recorder struct{ text string }

func (r *recorder) Errorf(format string, args ...any) { r.text = fmt.Sprintf(format, args...) }
func (r *recorder) FailNow()                          { panic(r) }

func play(steps []step) (failed string) {
	r := &recorder{}
	h := &history{World: outboxtest.NewWorld(r), answers: map[string]outboxtest.Answer{}, retried: map[string]bool{}, fate: map[string]string{}}
	defer func() {
		if p := recover(); p != nil {
			if p != r {
				panic(p)
			}
			failed = r.text
		}
		for _, tab := range h.tabs {
			tab.Close()
		}
	}()
	for _, s := range steps {
		h.do(s)
		synctest.Wait()
		h.checkCounts(r)
	}
	h.settle()
	h.check(r)
	return ""
}

// history is a World under test, with what a user did to it.
type history struct {
	*outboxtest.World
	tabs    []*outboxtest.Tab
	closed  []*outboxtest.Tab
	answers map[string]outboxtest.Answer
	written []string
	retried map[string]bool
	fate    map[string]string
}

func (h *history) do(s step) {
	if s.what == "open" && len(h.tabs) < 3 || len(h.tabs) == 0 {
		h.tabs = append(h.tabs, h.OpenTab(todos, "action:act"))
		return
	}
	tab := h.tabs[s.tab%len(h.tabs)]
	switch s.what {
	case "write":
		h.write(tab, s)
	case "answer":
		h.meet(queue(s.key), s.answer)
		h.meet("action:act", s.answer)
	case "wait":
		time.Sleep(s.wait)
	case "close":
		tab.Close()
		h.tabs = slices.DeleteFunc(h.tabs, func(t *outboxtest.Tab) bool { return t == tab })
		h.closed = append(h.closed, tab)
	case "steal":
		h.Lock.Break()
	case "offline", "online":
		h.Network.Set(s.what == "online")
	case "discard":
		h.discard(tab, s)
	case "retry":
		h.retry(tab, s)
	case "drain":
		tab.Drain()
	case "reset":
		for _, e := range h.Stored() {
			h.fate[e.ID] = "reset"
		}
		_, err := tab.Reset(context.Background(), false)
		require.NoError(h.TB, err)
	case "pause":
		require.NoError(h.TB, tab.Pause(context.Background()))
	case "resume":
		require.NoError(h.TB, tab.Resume(context.Background()))
	}
}

// meet sets how the Backend meets a Queue's Requests.
func (h *history) meet(queue string, answer outboxtest.Answer) {
	h.answers = maps.Clone(h.answers)
	h.answers[queue] = answer
	answers := h.answers
	h.Backend.Answer(func(s outboxtest.Sent) outboxtest.Answer { return answers[s.Queue] })
}

func (h *history) write(tab *outboxtest.Tab, s step) {
	n := len(h.written)
	var id string
	switch s.op {
	case outbox.OpAction:
		id = tab.Call("act", "", fmt.Sprintf("n:%d", n))
	case outbox.OpInsert:
		id = tab.Write("todos", s.key, fmt.Sprintf("insert a:%d b:%d", n, n))[0]
	case outbox.OpUpdate:
		id = tab.Write("todos", s.key, fmt.Sprintf("update a:%d < a:0 b:0", n))[0]
	case outbox.OpDelete:
		id = tab.Write("todos", s.key, "delete a:0 b:0")[0]
	}
	h.written = append(h.written, id)
}

// pick returns a stored Entry by the step's number, if there is any.
func (h *history) pick(s step, status ...outbox.EntryStatus) *outbox.Entry {
	var stored []outbox.Entry
	for _, e := range h.Stored() {
		if slices.Contains(status, e.Status) {
			stored = append(stored, e)
		}
	}
	if len(stored) == 0 {
		return nil
	}
	return &stored[s.tab%len(stored)]
}

func (h *history) discard(tab *outboxtest.Tab, s step) {
	if e := h.pick(s, outbox.Pending, outbox.Failed); e != nil {
		if err := tab.Discard(context.Background(), e.ID); err == nil {
			h.fate[e.ID] = "discarded"
		}
		// Its companions may fly under a new key.
		for _, other := range h.Stored() {
			if other.Queue == e.Queue {
				h.retried[other.ID] = true
			}
		}
	}
}

func (h *history) retry(tab *outboxtest.Tab, s step) {
	if e := h.pick(s, outbox.Failed); e != nil {
		revived, err := tab.Retry(context.Background(), e.ID)
		require.NoError(h.TB, err)
		for _, r := range revived {
			h.retried[r.ID] = true
		}
	}
}

// settle lets everything that is left be delivered by a new tab.
func (h *history) settle() {
	h.Network.Set(true)
	h.Backend.Answer(nil)
	for _, tab := range h.tabs {
		tab.Close()
		h.closed = append(h.closed, tab)
	}
	h.tabs = []*outboxtest.Tab{h.OpenTab(todos, "action:act")}
	require.NoError(h.TB, h.tabs[0].Resume(context.Background()))
	time.Sleep(5 * time.Minute)
	synctest.Wait()
}

// checkCounts wants the kept counts to be what a count finds.
func (h *history) checkCounts(r *recorder) {
	require.NoError(r, h.Store.View(context.Background(), func(tx outbox.Tx) error {
		meta, err := tx.Meta(outboxtest.Sync)
		require.NoError(r, err)
		found := outbox.Counts{}
		for status, into := range map[outbox.EntryStatus]*int{outbox.Pending: &found.Pending, outbox.InRequest: &found.InRequest, outbox.Failed: &found.Failed} {
			*into, err = tx.Count(outboxtest.Sync, status)
			require.NoError(r, err)
		}
		require.Equal(r, found, meta.Counts)
		return nil
	}))
}

func (h *history) check(r *recorder) {
	h.checkNothingIsLost(r)
	h.checkRepeatsAreEqual(r)
	h.checkOrder(r)
	require.Empty(r, h.Backend.Doubled(), "a queue had two requests in the air")
	status := h.tabs[0].Status()
	require.Equal(r, len(h.Stored()), status.Failed, "the failed are counted")
	require.Zero(r, status.Pending+status.InRequest)
}

// checkNothingIsLost wants every Entry delivered, folded away, discarded by the
// user, or kept as failed; and every promise settled as its Entry was.
func (h *history) checkNothingIsLost(r *recorder) {
	applied := map[string]bool{}
	for _, s := range h.Backend.Sent() {
		for _, id := range s.Entries {
			applied[id] = applied[id] || s.Applied
		}
	}
	for _, e := range h.Stored() {
		require.Equal(r, outbox.Failed, e.Status, "entry %s is stuck", e.ID)
		h.fate[e.ID] = "failed"
	}
	folded := map[string]bool{}
	for _, tab := range append(h.tabs, h.closed...) {
		for _, e := range tab.All() {
			if e.Type == outbox.EventFoldedAway {
				for _, id := range e.EntryIDs {
					folded[id] = true
				}
			}
		}
	}
	for _, id := range h.written {
		require.True(r, applied[id] || folded[id] || h.fate[id] != "", "entry %s left without a trace", id)
		for _, tab := range append(h.tabs, h.closed...) {
			err, settled := tab.Settled(id)
			if !settled || err != nil {
				continue
			}
			require.True(r, applied[id] || folded[id], "the promise of %s resolved, but it was %s", id, h.fate[id])
		}
	}
}

// checkRepeatsAreEqual wants a repeated key to carry the same Request, and an
// Entry to fly under one key, unless the user had it sent anew.
func (h *history) checkRepeatsAreEqual(r *recorder) {
	byKey := map[string]outboxtest.Sent{}
	keyOf := map[string]string{}
	for _, s := range h.Backend.Sent() {
		if first, ok := byKey[s.Key]; ok {
			require.Equal(r, first.Text, s.Text)
			require.Equal(r, first.Entries, s.Entries)
		}
		byKey[s.Key] = s
		for _, id := range s.Entries {
			if key, ok := keyOf[id]; ok && !h.retried[id] {
				require.Equal(r, key, s.Key, "entry %s flew under two keys", id)
			}
			keyOf[id] = s.Key
		}
	}
}

// checkOrder wants the Requests of a Queue to begin in the order of their
// Entries, retried ones aside.
func (h *history) checkOrder(r *recorder) {
	last := map[string]string{}
	seen := map[string]bool{}
	for _, s := range h.Backend.Sent() {
		for _, id := range s.Entries {
			if seen[id] || h.retried[id] {
				continue
			}
			seen[id] = true
			require.Greater(r, id, last[s.Queue], "entry %s overtook another of %s", last[s.Queue], s.Queue)
			last[s.Queue] = id
		}
	}
}

package outboxtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/outbox"
)

// DoorbellSync is the Std Sync that the rows of TestDoorbell belong to.
const DoorbellSync = "acme-u42"

// doorbellTimeout is how long the suite waits for what must be heard. It only
// ever fails a test.
const doorbellTimeout = 20 * time.Second

// TestDoorbell is the conformance suite of outbox.Doorbell. open makes a channel
// of the Std Sync DoorbellSync that nobody is on, and returns what gives one more
// tab's Doorbell on it.
func TestDoorbell(t *testing.T, open func(t *testing.T) (tabs func() outbox.Doorbell)) {
	for _, row := range []struct {
		name string
		test func(doorbellTest)
	}{
		{"a ring reaches all other tabs, and not its own", doorbellTest.reachesOtherTabs},
		{"a ring reaches every listener of a tab", doorbellTest.reachesEveryListener},
		{"everything a ring says arrives", doorbellTest.saysEverything},
		{"rings are heard in order, and nothing they name is lost", doorbellTest.keepsOrder},
		{"rings from several goroutines lose nothing", doorbellTest.losesNothing},
		{"a ring may be answered from a listener", doorbellTest.answers},
		{"a ring names as much as it may", doorbellTest.namesTheMost},
		{"a ring that names too much asks to look at everything", doorbellTest.namesTooMuch},
		{"rings that name too much together lose nothing", doorbellTest.namesTooMuchTogether},
		{"nothing is heard after stop", doorbellTest.stops},
		{"a listener may stop itself", doorbellTest.stopsItself},
		{"a tab that stopped listening can ring, and listen again", doorbellTest.survivesStop},
		{"a ring that nobody hears harms nothing", doorbellTest.nobodyHears},
	} {
		t.Run(row.name, func(t *testing.T) { row.test(doorbellTest{t, open(t)}) })
	}
}

// doorbellTest is one test with a channel of its own.
type doorbellTest struct {
	*testing.T
	tab func() outbox.Doorbell
}

// doorbellEar is a listener.
type doorbellEar struct {
	t     *testing.T
	rings chan outbox.Ring
	stop  func()
}

func (t doorbellTest) listen(bell outbox.Doorbell) *doorbellEar {
	e := &doorbellEar{t: t.T, rings: make(chan outbox.Ring, 16*outbox.MaxHints)}
	e.stop = bell.Listen(func(r outbox.Ring) { e.rings <- r })
	t.Cleanup(e.stop)
	return e
}

// hear returns the next Ring.
func (e *doorbellEar) hear() outbox.Ring {
	e.t.Helper()
	select {
	case r := <-e.rings:
		return r
	case <-time.After(doorbellTimeout):
		require.FailNow(e.t, "waited in vain for a ring")
		panic("unreachable")
	}
}

// until returns everything heard up to the one Entry of that id.
func (e *doorbellEar) until(id string) (all outbox.Ring) {
	e.t.Helper()
	for {
		r := e.hear()
		all.Entries = append(all.Entries, r.Entries...)
		all.Claimed = append(all.Claimed, r.Claimed...)
		all.Rows = append(all.Rows, r.Rows...)
		all.All = all.All || r.All
		all.Drain = all.Drain || r.Drain
		if n := len(all.Entries); n > 0 && all.Entries[n-1].ID == id {
			return all
		}
	}
}

// silent fails if anything was heard that was not taken.
func (e *doorbellEar) silent() {
	e.t.Helper()
	require.Empty(e.t, e.rings)
}

// doorbellMarks returns n Marks that differ.
func doorbellMarks(prefix string, n int) (marks []outbox.Mark) {
	for i := range n {
		marks = append(marks, doorbellMark(fmt.Sprintf("%s-%d", prefix, i)))
	}
	return marks
}

func doorbellMark(id string) outbox.Mark {
	return outbox.Mark{ID: id, Queue: "collection:todos/s:" + id}
}

func doorbellRing(ids ...string) (r outbox.Ring) {
	for _, id := range ids {
		r.Entries = append(r.Entries, doorbellMark(id))
	}
	return r
}

func (t doorbellTest) reachesOtherTabs() {
	first, second, third := t.tab(), t.tab(), t.tab()
	own, near, far := t.listen(first), t.listen(second), t.listen(third)
	first.Ring(doorbellRing("first"))
	require.Equal(t, doorbellRing("first"), near.hear())
	require.Equal(t, doorbellRing("first"), far.hear())
	second.Ring(doorbellRing("second"))
	require.Equal(t, doorbellRing("second"), own.hear(), "its own ring would have come before")
	require.Equal(t, doorbellRing("second"), far.hear())
	near.silent()
}

func (t doorbellTest) reachesEveryListener() {
	first, second := t.tab(), t.tab()
	one, other := t.listen(second), t.listen(second)
	first.Ring(doorbellRing("x"))
	require.Equal(t, doorbellRing("x"), one.hear())
	require.Equal(t, doorbellRing("x"), other.hear())
}

func (t doorbellTest) saysEverything() {
	bell, ear := t.tab(), t.listen(t.tab())
	for _, ring := range []outbox.Ring{
		{Drain: true},
		{All: true},
		{All: true, Drain: true},
		{Claimed: doorbellMarks("claimed", 2)},
		{Rows: []outbox.RowKey{{Sync: DoorbellSync, Collection: "todos", Key: "n:1"}, {Sync: DoorbellSync, Collection: "todos", Key: "s:1"}}},
		{Entries: []outbox.Mark{{ID: "", Queue: ""}, {ID: "ä\x00\"'\\\n", Queue: "collection:%2F/s:日本 👩‍💻"}}},
		{
			Entries: doorbellMarks("entry", 3), Claimed: doorbellMarks("claimed", 2),
			Rows: []outbox.RowKey{{Sync: DoorbellSync, Collection: "", Key: "s:"}}, All: true, Drain: true,
		},
	} {
		bell.Ring(ring)
		require.Equal(t, ring, ear.hear())
	}
}

func (t doorbellTest) keepsOrder() {
	bell, ear := t.tab(), t.listen(t.tab())
	marks := doorbellMarks("entry", outbox.MaxHints)
	for _, m := range marks {
		bell.Ring(outbox.Ring{Entries: []outbox.Mark{m}})
	}
	require.Equal(t, outbox.Ring{Entries: marks}, ear.until(marks[len(marks)-1].ID))
	ear.silent()
}

func (t doorbellTest) losesNothing() {
	const ringers, each = 10, 50
	bell, ear := t.tab(), t.listen(t.tab())
	var ringing sync.WaitGroup
	var all []outbox.Mark
	for i := range ringers {
		marks := doorbellMarks(fmt.Sprint("ringer-", i), each)
		all = append(all, marks...)
		ringing.Go(func() {
			for _, m := range marks {
				bell.Ring(outbox.Ring{Entries: []outbox.Mark{m}, Rows: []outbox.RowKey{{Sync: DoorbellSync, Collection: "todos", Key: outbox.Key(m.ID)}}})
			}
		})
	}
	ringing.Wait()
	bell.Ring(doorbellRing("end"))
	heard := ear.until("end")
	require.False(t, heard.All)
	require.ElementsMatch(t, append(all, doorbellMark("end")), heard.Entries)
	require.Len(t, heard.Rows, len(all))
	ear.silent()
}

func (t doorbellTest) answers() {
	asking, answering := t.tab(), t.tab()
	ear := t.listen(asking)
	defer answering.Listen(func(r outbox.Ring) {
		if r.Drain {
			answering.Ring(doorbellRing("here"))
		}
	})()
	for range 10 {
		asking.Ring(outbox.Ring{Drain: true})
		require.Equal(t, doorbellRing("here"), ear.hear())
	}
}

func (t doorbellTest) namesTheMost() {
	bell, ear := t.tab(), t.listen(t.tab())
	ring := outbox.Ring{Entries: doorbellMarks("entry", outbox.MaxHints-2), Claimed: doorbellMarks("claimed", 2), Drain: true}
	bell.Ring(ring)
	require.Equal(t, ring, ear.hear())
}

func (t doorbellTest) namesTooMuch() {
	bell, ear := t.tab(), t.listen(t.tab())
	bell.Ring(outbox.Ring{Entries: doorbellMarks("entry", outbox.MaxHints-1), Claimed: doorbellMarks("claimed", 2), Drain: true})
	require.Equal(t, outbox.Ring{All: true, Drain: true}, ear.hear())
}

func (t doorbellTest) namesTooMuchTogether() {
	bell, ear := t.tab(), t.listen(t.tab())
	marks := doorbellMarks("entry", 3*outbox.MaxHints)
	for _, m := range marks {
		bell.Ring(outbox.Ring{Entries: []outbox.Mark{m}})
	}
	heard := map[string]bool{}
	for len(heard) < len(marks) {
		r := ear.hear()
		if r.All {
			return
		}
		for _, m := range r.Entries {
			heard[m.ID] = true
		}
	}
}

func (t doorbellTest) stops() {
	bell, listening := t.tab(), t.tab()
	stopped, other := t.listen(listening), t.listen(listening)
	bell.Ring(doorbellRing("before"))
	require.Equal(t, doorbellRing("before"), stopped.hear())
	require.Equal(t, doorbellRing("before"), other.hear())
	bell.Ring(doorbellRing("after"))
	if len(stopped.rings) > 0 { // heard as it was rung
		stopped.hear()
	}
	stopped.stop()
	stopped.stop()
	bell.Ring(doorbellRing("end"))
	other.until("end")
	stopped.silent()
}

func (t doorbellTest) stopsItself() {
	bell, listening := t.tab(), t.tab()
	var heard atomic.Int32
	var stop func()
	stop = listening.Listen(func(outbox.Ring) {
		heard.Add(1)
		stop()
	})
	ear := t.listen(listening)
	bell.Ring(doorbellRing("first"))
	ear.until("first")
	bell.Ring(doorbellRing("second"))
	ear.until("second")
	require.EqualValues(t, 1, heard.Load())
}

func (t doorbellTest) survivesStop() {
	first, second := t.tab(), t.tab()
	ear := t.listen(first)
	t.listen(second).stop()
	second.Ring(doorbellRing("x"))
	require.Equal(t, doorbellRing("x"), ear.hear())
	again := t.listen(second)
	first.Ring(doorbellRing("y"))
	require.Equal(t, doorbellRing("y"), again.hear())
	ear.silent()
}

func (t doorbellTest) nobodyHears() {
	t.tab().Ring(doorbellRing("nobody"))
	bell := t.tab()
	ear := t.listen(t.tab())
	bell.Ring(doorbellRing("somebody"))
	ear.until("somebody") // and maybe the other, if it was still on its way
}

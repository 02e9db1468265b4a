package outbox

import (
	"container/heap"
	"sort"
	"time"
)

// schedule remembers which Queues are worth a look, so that a round costs what
// it does and not what is stored. It is a guess: the claim reads the Store, and
// the slow poll lists the Queues anew.
type schedule struct {
	// ready are looked at next, in this order.
	ready  []string
	queues map[string]*queueState
	// waiting holds the Queues that wait for an Entry or a Handler, by its name.
	waiting map[string][]string
	resting rests
	counts  [standings]int
}

// queueState is what the Drainer knows of a Queue that has, or may have,
// something pending.
type queueState struct {
	standing standing
	// more: something was enqueued while the Queue could not be looked at.
	more bool
	// misses counts flights in a row that did not arrive.
	misses int
	// on is the Entry or Handler the Queue waits for.
	on string
}

// standing says why a Queue is not being looked at.
type standing int

const (
	isReady standing = iota
	isFlying
	isResting
	isGated
	isParked
	standings
)

// rest is a Queue's backoff, and rests a heap of them, the first to end on top.
type (
	rest struct {
		queue string
		until time.Time
	}
	rests []rest
)

func (r rests) Len() int           { return len(r) }
func (r rests) Less(i, j int) bool { return r[i].until.Before(r[j].until) }
func (r rests) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *rests) Push(x any)        { *r = append(*r, x.(rest)) }
func (r *rests) Pop() any {
	last := (*r)[len(*r)-1]
	*r = (*r)[:len(*r)-1]
	return last
}

func newSchedule(heads []Head) *schedule {
	s := &schedule{queues: map[string]*queueState{}, waiting: map[string][]string{}}
	s.list(heads)
	return s
}

// list takes a fresh list of Queues with pending Entries. What waits for an
// Entry or a Handler is looked at again.
func (s *schedule) list(heads []Head) {
	for on := range s.waiting {
		s.wake(on)
	}
	sort.Slice(heads, func(i, j int) bool { return heads[i].Seq < heads[j].Seq })
	for _, h := range heads {
		s.hint(h.Queue)
	}
}

// hint says that a Queue may have something new.
func (s *schedule) hint(queue string) {
	if q := s.queues[queue]; q != nil {
		if q.standing == isGated {
			s.move(queue, isReady)
		}
		q.more = true
		return
	}
	s.queues[queue] = &queueState{standing: isReady}
	s.counts[isReady]++
	s.ready = append(s.ready, queue)
}

func (s *schedule) move(queue string, to standing) *queueState {
	q := s.queues[queue]
	s.counts[q.standing]--
	s.counts[to]++
	q.standing, q.on = to, ""
	if to == isReady {
		q.more = false
		s.ready = append(s.ready, queue)
	}
	return q
}

// take removes up to n Queues from the ready ones, and has those wait whose
// Handler is missing.
func (s *schedule) take(n int, handled func(name string) bool) []string {
	var taken []string
	for len(taken) < n && len(s.ready) > 0 {
		queue := s.ready[0]
		s.ready = s.ready[1:]
		if name := HandlerOf(queue); !handled(name) {
			s.wait(queue, isParked, name)
			continue
		}
		s.move(queue, isFlying)
		taken = append(taken, queue)
	}
	return taken
}

// untake puts back Queues whose look could not be made.
func (s *schedule) untake(queues []string) {
	for _, queue := range queues {
		s.move(queue, isReady)
	}
}

// clear says that what was seen of a Queue is dealt with: nothing was pending,
// or its flight has ended and is settled.
func (s *schedule) clear(queue string) {
	q := s.queues[queue]
	if q.more {
		q.misses = 0
		s.move(queue, isReady)
		return
	}
	s.counts[q.standing]--
	delete(s.queues, queue)
}

// rest says that a Queue's flight did not arrive, and how long it waits, given
// how often that happened in a row.
func (s *schedule) rest(queue string, until func(misses int) time.Time) {
	q := s.move(queue, isResting)
	q.misses++
	heap.Push(&s.resting, rest{queue, until(q.misses)})
}

// wait says which Entry or Handler a looked-at Queue waits for.
func (s *schedule) wait(queue string, standing standing, on string) {
	s.move(queue, standing).on = on
	s.waiting[on] = append(s.waiting[on], queue)
}

// wake makes ready whatever waits for this Entry or Handler.
func (s *schedule) wake(on string) {
	for _, queue := range s.waiting[on] {
		if q := s.queues[queue]; q != nil && q.on == on {
			s.move(queue, isReady)
		}
	}
	delete(s.waiting, on)
}

// due makes ready the Queues whose backoff has ended, or all of them with their
// misses forgotten, and returns when the next backoff ends, or the zero Time.
func (s *schedule) due(now time.Time, all bool) (next time.Time) {
	for len(s.resting) > 0 {
		if first := s.resting[0]; !all && first.until.After(now) {
			return first.until
		}
		q := s.move(heap.Pop(&s.resting).(rest).queue, isReady)
		if all {
			q.misses = 0
		}
	}
	return time.Time{}
}

// waitingFor says what keeps the Queues from moving: "handler:<name>",
// "backoff", or "" when something moves or nothing is pending.
func (s *schedule) waitingFor() string {
	switch {
	case s.counts[isReady]+s.counts[isFlying] > 0:
	case s.counts[isParked] > 0:
		return "handler:" + s.parkedOn()
	case s.counts[isResting] > 0:
		return "backoff"
	}
	return ""
}

// parkedOn returns the first, by name, of the Handlers that are missing.
func (s *schedule) parkedOn() string {
	first := ""
	for on, queues := range s.waiting {
		q := s.queues[queues[0]]
		if q != nil && q.standing == isParked && (first == "" || on < first) {
			first = on
		}
	}
	return first
}

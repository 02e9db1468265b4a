package outbox

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// drainer is the leader's loop that flies Requests. Between terms it keeps only
// its inbox.
type drainer struct {
	records     *records
	handlers    *handlers
	connect     Connectivity
	concurrency int
	chance      func() float64
	// tell passes on what a turn did.
	tell func(turn)

	inbox inbox
	// why is Status.WaitingFor, as of the last round, and said tells of a new one.
	why  atomic.Pointer[string]
	said func(why string)
}

// inbox gathers signals until the loop takes them.
type inbox struct {
	mu      sync.Mutex
	signals signals
	wake    chan struct{}
}

// signals are reasons to look.
type signals struct {
	queues   []string
	handlers []string
	// list: look at everything. rush: whatever the backoff. asked: somebody wants
	// to know whether this loop lives.
	list, rush, asked bool
}

func (i *inbox) add(change func(*signals)) {
	i.mu.Lock()
	change(&i.signals)
	i.mu.Unlock()
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

func (i *inbox) take() signals {
	i.mu.Lock()
	defer i.mu.Unlock()
	s := i.signals
	i.signals = signals{}
	return s
}

// look tells the Drainer what a Ring named.
func (d *drainer) look(ring Ring) {
	d.inbox.add(func(s *signals) {
		for _, m := range ring.Entries {
			s.queues = append(s.queues, m.Queue)
		}
		s.list = s.list || ring.All
		s.rush = s.rush || ring.Drain
		s.asked = s.asked || ring.Ask
	})
}

// registered tells the Drainer that a Handler exists.
func (d *drainer) registered(name string) {
	d.inbox.add(func(s *signals) { s.handlers = append(s.handlers, name) })
}

// rush asks for a try now, whatever the backoff.
func (d *drainer) rush() { d.inbox.add(func(s *signals) { s.rush = true }) }

// term is one tab's time as the Drainer.
type term struct {
	*drainer
	epoch    int64
	schedule *schedule
	// air receives the end of every flight, and landed holds those that are not
	// settled yet.
	air    chan flight
	landed []flight
	flying int
	paused bool
}

// drain flies Requests until ctx ends, or until a newer Drainer has started, or
// the Store fails. Flights still in the air are then aborted: nothing of them
// is written, and the next Drainer repeats them under the same key.
func (d *drainer) drain(ctx context.Context) error {
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	d.inbox.take()
	epoch, heads, err := d.records.begin(ctx)
	if err != nil {
		return err
	}
	d.why.Store(new(string))
	d.tell(turn{ring: Ring{All: true, Lives: true}})
	t := &term{drainer: d, epoch: epoch, schedule: newSchedule(heads), air: make(chan flight, d.concurrency)}
	defer d.say("")
	return t.run(ctx)
}

func (t *term) run(ctx context.Context) error {
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		if err := t.heed(ctx, t.inbox.take()); err != nil {
			return err
		}
		if err := t.round(ctx); err != nil {
			return err
		}
		next := t.schedule.due(t.records.now(), false)
		t.explain()
		if t.busy() {
			continue
		}
		if !next.IsZero() {
			rest.Reset(next.Sub(t.records.now()))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f := <-t.air:
			t.land(f)
		case <-t.inbox.wake:
		case <-rest.C:
		}
	}
}

// busy reports whether another round has something to do now.
func (t *term) busy() bool {
	return len(t.landed) > 0 || t.free() > 0 && len(t.schedule.ready) > 0
}

// free returns how many more Requests may fly now.
func (t *term) free() int {
	if t.paused || !t.connect.IsOnline() {
		return 0
	}
	return t.concurrency - t.flying
}

// heed acts on signals.
func (t *term) heed(ctx context.Context, s signals) error {
	if s.asked {
		t.said(*t.why.Load())
	}
	if s.list {
		heads, err := t.records.heads(ctx, t.epoch)
		if err != nil {
			return err
		}
		t.schedule.list(heads)
		t.paused = false // asked again by the next turn
	}
	for _, queue := range s.queues {
		t.schedule.hint(queue)
	}
	for _, name := range s.handlers {
		t.schedule.wake(name)
	}
	if s.rush {
		t.schedule.due(time.Time{}, true)
	}
	return nil
}

// round settles what has landed, claims for the free places, and flies it.
func (t *term) round(ctx context.Context) error {
	for len(t.air) > 0 {
		t.land(<-t.air)
	}
	queues := t.schedule.take(t.free(), t.handled)
	if len(queues) == 0 && len(t.landed) == 0 {
		return nil
	}
	began := t.records.now()
	turn, err := t.records.turn(ctx, t.epoch, t.landed, queues)
	if CodeOf(err) == CodeNotStorable {
		t.schedule.untake(queues)
		return t.settleAlone(ctx)
	}
	if err != nil {
		return err
	}
	t.settled()
	t.paused = turn.paused
	t.place(turn, queues)
	t.tell(turn)
	if t.records.now().Sub(began) > stall {
		// The tab may have hung since the claim was stored, and been robbed of it.
		if err := t.records.holds(ctx, t.epoch); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err // the term has ended while the claim was stored
	}
	for _, request := range turn.claimed {
		t.fly(ctx, request)
	}
	return nil
}

// stall is how long a turn may take before its claims are in doubt: less than what
// a thief waits for an answer.
const stall = answerWithin / 2

// settleAlone settles what has landed one by one, because the Store refuses to
// keep something of it: a row that it refuses fails its own Request.
func (t *term) settleAlone(ctx context.Context) error {
	landed := t.landed
	for _, f := range landed {
		turn, err := t.records.turn(ctx, t.epoch, []flight{f}, nil)
		if CodeOf(err) == CodeNotStorable {
			f.err, f.result = err, Result{}
			turn, err = t.records.turn(ctx, t.epoch, []flight{f}, nil)
		}
		if err != nil {
			return err
		}
		t.landed = []flight{f}
		t.settled()
		t.tell(turn)
	}
	return nil
}

func (t *term) land(f flight) {
	t.flying--
	t.landed = append(t.landed, f)
}

func (t *term) handled(name string) bool {
	_, ok := t.handlers.lookup(name)
	return ok
}

// settled updates the schedule for the landed flights, whose ends are stored.
func (t *term) settled() {
	for _, f := range t.landed {
		if _, ok := errors.AsType[*unreachable](f.err); ok {
			t.schedule.rest(f.Queue, func(misses int) time.Time {
				return t.records.now().Add(backoff(misses, t.chance()))
			})
			continue
		}
		t.schedule.clear(f.Queue)
		for _, e := range f.Entries {
			t.schedule.wake(e.ID)
		}
	}
	t.landed = nil
}

// place updates the schedule for the Queues a turn looked at.
func (t *term) place(turn turn, queues []string) {
	if turn.paused {
		t.schedule.untake(queues)
		return
	}
	for _, queue := range turn.empty {
		t.schedule.clear(queue)
	}
	for queue, id := range turn.gated {
		t.schedule.wait(queue, isGated, id)
	}
	for queue, more := range turn.more {
		if more {
			t.schedule.hint(queue)
		}
	}
}

// slowAfter is how long a flight may take before that is told.
const slowAfter = 30 * time.Second

// fly runs one Request beside the loop.
func (t *term) fly(ctx context.Context, request Request) {
	t.flying++
	say := func(what EventType) {
		t.tell(turn{events: []Event{{
			Type: what, EntryIDs: ids(request.Entries), Queue: request.Queue, Name: request.Name, Attempt: request.Attempt,
		}}})
	}
	say(EventFlown)
	handler, _ := t.handlers.lookup(request.Name)
	go func() {
		slow := time.AfterFunc(slowAfter, func() { say(EventRequestSlow) })
		defer slow.Stop()
		result, err := handler.Fly(ctx, request)
		if ctx.Err() != nil {
			return
		}
		t.air <- flight{Request: request, result: result, err: err, traits: handler.Traits}
	}()
}

// explain says why nothing moves; a pause is in the Store for all to see.
func (t *term) explain() {
	if !t.connect.IsOnline() {
		t.say("online")
		return
	}
	t.say(t.schedule.waitingFor())
}

func (d *drainer) say(why string) {
	if before := d.why.Swap(&why); before == nil || *before != why {
		d.said(why)
	}
}

// backoff returns how long a Queue waits after its nth flight in a row that did
// not arrive: 1 s doubling to 60 s, less up to a half by chance in [0, 1).
func backoff(n int, chance float64) time.Duration {
	d := time.Minute
	if n < 7 {
		d = min(d, time.Second<<(n-1))
	}
	return d - time.Duration(chance*float64(d)/2)
}

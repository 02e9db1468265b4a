package outbox

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what an Outbox is made of. Sync, Store, Leadership and NewID
// are required.
type Config struct {
	// Sync is the Std Sync's name.
	Sync string
	// Version is the app's own version of what it stores; 0 takes any.
	Version int
	// Migrate, if set, keeps Entries of a store of another version: it returns the
	// Entry as it is to be, or false to drop it. It must not wait.
	Migrate func(e Entry, from int) (Entry, bool)

	Store        Store
	Doorbell     Doorbell // the tab is alone, for all it can tell, when nil
	Leadership   Leadership
	Connectivity Connectivity // AlwaysOnline when nil
	Visibility   Visibility   // AlwaysVisible when nil

	// Concurrency bounds how many Requests fly at once; 6 when 0.
	Concurrency int
	// Poll is how often everything is looked at without being asked; 30 s when 0.
	Poll time.Duration

	// OnEvent and OnNews are called one at a time and must not block.
	OnEvent func(Event)
	OnNews  func(News)

	// NewID returns a new unique id that sorts by time.
	NewID func() string
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Outbox is one tab's part of the Outbox of a Std Sync. Its methods may be
// called from any goroutine.
type Outbox struct {
	cfg      Config
	records  *records
	handlers *handlers
	waiters  *waiters
	observer *observer
	enqueuer *enqueuer
	drainer  *drainer
	status   *statusBoard
	leading  atomic.Bool
	vigil    vigil
	// term ends this tab's time as Drainer, while it has one.
	term atomic.Pointer[context.CancelCauseFunc]
	// ended is why this tab's part has ended for good, and stop ends it.
	ended atomic.Pointer[Error]
	stop  context.CancelFunc

	telling sync.Mutex
	opened  chan struct{}
	openErr error
	gate    chan struct{}
	gating  sync.Once
}

// New returns an Outbox that does nothing before Run.
func New(cfg Config) (*Outbox, error) {
	if cfg.Sync == "" {
		return nil, Fail(CodeInvalid, "name is missing: give the Std Sync a name, scoped to the user")
	}
	if cfg.Connectivity == nil {
		cfg.Connectivity = AlwaysOnline{}
	}
	if cfg.Visibility == nil {
		cfg.Visibility = AlwaysVisible{}
	}
	deaf := cfg.Doorbell == nil
	if deaf {
		cfg.Doorbell = mute{}
	}
	if cfg.Concurrency == 0 {
		cfg.Concurrency = 6
	}
	if cfg.Concurrency < 0 {
		return nil, Fail(CodeInvalid, "concurrency is "+strconv.Itoa(cfg.Concurrency)+": give a positive number of requests, or leave it out for 6")
	}
	if cfg.Poll == 0 {
		cfg.Poll = 30 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	o := &Outbox{cfg: cfg, handlers: &handlers{}, opened: make(chan struct{}), gate: make(chan struct{})}
	o.vigil = newVigil(deaf)
	o.records = &records{store: cfg.Store, sync: cfg.Sync, newID: cfg.NewID, now: cfg.Now}
	o.waiters = newWaiters()
	o.enqueuer = newEnqueuer()
	o.observer = &observer{records: o.records, waiters: o.waiters, tell: o.news, failed: o.storageFailed, changed: o.changedSession, paced: cfg.Visibility.IsVisible, wake: make(chan struct{}, 1)}
	o.drainer = &drainer{
		records: o.records, handlers: o.handlers, connect: cfg.Connectivity,
		concurrency: cfg.Concurrency, chance: rand.Float64,
		tell:  o.drained,
		said:  o.said,
		inbox: inbox{wake: make(chan struct{}, 1)},
	}
	o.status = newStatusBoard(o)
	o.records.known = o.status.know
	return o, nil
}

// Run opens the store, settles Waiters and, while this tab leads, drains. It
// blocks until ctx ends or the store cannot be opened. Waiters that are left are
// then settled as disposed, or with what kept the store shut.
func (o *Outbox) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	o.stop = stop
	meta, gate, err := o.records.open(ctx, o.cfg.Version, o.cfg.Migrate)
	o.observer.clock, o.openErr = meta.Clock, err
	if err == nil {
		o.status.refresh(ctx)
	}
	close(o.opened)
	if o.openErr != nil {
		o.enqueuer.close(o.openErr)
		for _, b := range o.enqueuer.take() {
			o.refuse(b, o.openErr)
		}
		return o.openErr
	}
	if gate.passed {
		o.changed(Ring{All: true}, []Event{{Type: EventVersionDropped, Count: gate.dropped}})
	}
	defer o.cfg.Doorbell.Listen(o.heard)()
	defer o.cfg.Connectivity.Subscribe(o.connectivityChanged)()
	defer o.cfg.Visibility.Subscribe(o.visibilityChanged)()

	var tasks sync.WaitGroup
	tasks.Go(func() { o.enqueuer.run(ctx, o.why, o.store) })
	tasks.Go(func() { o.observer.run(ctx) })
	tasks.Go(func() { o.status.run(ctx) })
	tasks.Go(func() { o.pollSlowly(ctx) })
	tasks.Go(func() { o.lead(ctx) })
	tasks.Go(func() { o.keepVigil(ctx) })
	tasks.Wait()
	if left := o.waiters.abandon(o.why()); len(left) > 0 {
		o.news(News{Settled: left})
	}
	return ctx.Err()
}

// why says why this tab's part has ended.
func (o *Outbox) why() error {
	if why := o.ended.Load(); why != nil {
		return why
	}
	return Fail(CodeDisposed, "this Std Sync was disposed in this tab; what is stored will be sent by another")
}

// ready waits until the store is open.
func (o *Outbox) ready(ctx context.Context) error {
	select {
	case <-o.opened:
	case <-ctx.Done():
	}
	if ctx.Err() != nil || o.ended.Load() != nil {
		return o.why()
	}
	return o.openErr
}

// OpenGate lets the Drainer start: every Collection made at boot is hydrated.
func (o *Outbox) OpenGate() {
	o.gating.Do(func() {
		close(o.gate)
		o.emit(Event{Type: EventGateOpen})
	})
}

func (o *Outbox) pollSlowly(ctx context.Context) {
	for pause(ctx, o.cfg.Poll) {
		o.Suspect()
	}
}

// Register adds the Handler of a Collection or an action, and lets the Drainer
// know. A name that is taken is an error.
func (o *Outbox) Register(name string, handler Handler, traits Traits) error {
	if err := o.handlers.register(name, registered{handler, traits}); err != nil {
		return err
	}
	o.drainer.registered(name)
	return nil
}

// heard acts on another tab's Ring.
func (o *Outbox) heard(ring Ring) {
	if ring.Lives {
		o.vigil.answered(ring.Why)
	}
	o.observer.look(ring)
	if o.leading.Load() {
		o.drainer.look(ring)
	}
	o.status.stale()
}

// said tells every tab why nothing moves here.
func (o *Outbox) said(why string) {
	o.cfg.Doorbell.Ring(Ring{Lives: true, Why: why})
	o.status.stale()
}

// drained tells what a turn of this tab's Drainer wrote: it need not be read.
func (o *Outbox) drained(t turn) {
	o.observer.know(t.seen, t.ring.Steps)
	if t.ring.All {
		o.observer.look(t.ring)
	}
	o.others(t.ring, t.events)
}

// changed tells what was written: here it is looked at.
func (o *Outbox) changed(ring Ring, events []Event) {
	if !ring.IsZero() {
		o.observer.look(ring)
	}
	o.others(ring, events)
}

// others tells other tabs, and whoever listens to Events.
func (o *Outbox) others(ring Ring, events []Event) {
	if !ring.IsZero() {
		o.cfg.Doorbell.Ring(ring.Bounded())
		o.status.stale()
	}
	for _, e := range events {
		o.emit(e)
	}
}

// changedHere is changed, for this tab's Drainer too.
func (o *Outbox) changedHere(ring Ring, events []Event) {
	o.changed(ring, events)
	if o.leading.Load() {
		o.drainer.look(ring)
	}
}

func (o *Outbox) connectivityChanged() {
	what := EventOffline
	if o.cfg.Connectivity.IsOnline() {
		what = EventOnline
		o.drainer.rush()
		o.observer.look(Ring{All: true})
	}
	o.drainer.look(Ring{})
	o.status.stale()
	o.emit(Event{Type: what})
}

// visibilityChanged looks at everything when somebody looks at this tab: it may
// have been frozen, or restored from a cache of pages.
func (o *Outbox) visibilityChanged() {
	if o.cfg.Visibility.IsVisible() {
		o.Suspect()
		o.vigil.hurry()
	}
}

// storageFailed tells of a Store that does not work, or ends this tab's part if it
// is for newer code.
func (o *Outbox) storageFailed(err error) {
	if CodeOf(err) == CodeSuperseded {
		o.supersede()
		return
	}
	o.emit(Event{Type: EventStorage, Error: err})
}

func (o *Outbox) emit(e Event) {
	if o.cfg.OnEvent == nil {
		return
	}
	e.Sync, e.At = o.cfg.Sync, o.cfg.Now()
	o.telling.Lock()
	defer o.telling.Unlock()
	o.cfg.OnEvent(e)
}

func (o *Outbox) news(n News) {
	if o.cfg.OnNews == nil {
		return
	}
	o.telling.Lock()
	defer o.telling.Unlock()
	o.cfg.OnNews(n)
}

func isContext(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

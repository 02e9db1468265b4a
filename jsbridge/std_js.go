package jsbridge

import (
	"context"
	"sync"
	"syscall/js"
	"time"

	"github.com/stdsync/outbox/outbox"
)

// Ports are what a platform gives one Std Sync to run on.
type Ports struct {
	Store outbox.Store
	// Doorbell is nil where the browser has none.
	Doorbell outbox.Doorbell
	// Drain decides which tab sends, and Pull which one fetches for a Collection.
	Drain outbox.Leadership
	Pull  func(collection, scope string) outbox.Leadership
	// Close releases what the ports hold, the Store aside.
	Close func()
}

// Platform says which ports a Std Sync asks for.
type Platform struct {
	// Sync is the Std Sync's name.
	Sync string
	// Persistent: in IndexedDB and over all tabs, rather than in memory.
	Persistent bool
	// Database is the IndexedDB database's name, or "" for the usual.
	Database string
	// Lost is told when the store's connection is closed from outside.
	Lost func(error)
}

// Serve hands the module's functions to the host. ports opens a platform.
func Serve(h js.Value, newID func() string, ports func(Platform) (Ports, error)) {
	useHost(h)
	h.Call("serve", object(map[string]func([]js.Value) any{
		// createStdSync(config, hooks) returns a Std Sync's functions.
		"createStdSync": func(args []js.Value) any {
			s, err := newStd(args[0], args[1], newID, ports)
			if err != nil {
				return failure(err)
			}
			return s.object()
		},
	}))
}

// std is a Std Sync as the host sees it.
type std struct {
	name    string
	outbox  *outbox.Outbox
	ports   Ports
	hooks   js.Value
	abort   js.Value
	flights flights
	ctx     context.Context
	dispose context.CancelFunc
	ended   chan struct{}
	// watching: hooks.status is called for changes.
	watching sync.Once
	// pulling are the Collections whose read strategy runs; for calls from
	// JavaScript, which come one at a time.
	pulling map[string]bool
}

// newStd makes a Std Sync of { name, persistent, database?, version,
// concurrency, connectivity?, visibility, listening, migrating } and starts it. hooks are { event,
// news, stored, replayed, replayedAction, restore, fly, fetch, newer, abort, status }; Events are
// told only if somebody listens.
func newStd(config, hooks js.Value, newID func() string, open func(Platform) (Ports, error)) (*std, error) {
	s := &std{name: config.Get("name").String(), hooks: hooks, abort: hooks.Get("abort"), ended: make(chan struct{}), pulling: map[string]bool{}}
	ports, err := open(Platform{
		Sync: s.name, Persistent: config.Get("persistent").Bool(), Database: textOr(config.Get("database")),
		Lost: func(err error) {
			s.outbox.Suspect()
			s.event(outbox.Event{Type: outbox.EventStorage, At: time.Now(), Sync: s.name, Error: &outbox.Error{Code: outbox.CodeStorage, Message: err.Error()}})
		},
	})
	if err != nil {
		return nil, err
	}
	s.ports = ports
	cfg := outbox.Config{
		Sync: s.name, Version: config.Get("version").Int(), Concurrency: config.Get("concurrency").Int(),
		Store: ports.Store, Doorbell: ports.Doorbell, Leadership: ports.Drain, NewID: newID,
		Visibility: visibility{signal{config.Get("visibility")}},
		OnNews:     func(n outbox.News) { hooks.Call("news", newsObject(n)) },
	}
	if c := config.Get("connectivity"); c.Truthy() {
		cfg.Connectivity = connectivity{signal{c}}
	}
	if config.Get("migrating").Bool() {
		cfg.Migrate = s.migrate
	}
	if config.Get("listening").Bool() {
		cfg.OnEvent = s.event
	}
	if s.outbox, err = outbox.New(cfg); err != nil {
		ports.Close()
		return nil, err
	}
	s.ctx, s.dispose = context.WithCancel(context.Background())
	go s.run()
	return s, nil
}

func (s *std) event(e outbox.Event) { s.hooks.Call("event", eventObject(e)) }

func (s *std) run() {
	defer close(s.ended)
	if err := s.outbox.Run(s.ctx); err != nil && s.ctx.Err() == nil {
		what := outbox.EventStorage
		if outbox.CodeOf(err) == outbox.CodeSuperseded {
			what = outbox.EventSuperseded
		}
		s.event(outbox.Event{Type: what, At: time.Now(), Sync: s.name, Error: err})
		<-s.ctx.Done()
	}
	s.ports.Close()
	_ = s.ports.Store.Close()
}

// object returns the Std Sync's functions. Those whose first argument is a
// promise's id settle it.
func (s *std) object() js.Value {
	return object(map[string]func([]js.Value) any{
		// register(name, { fetched?, versioned?, sourced? })
		"register": func(args []js.Value) any {
			name := args[0].String()
			collection, _ := outbox.CollectionOf(name)
			traits := outbox.Traits{Fetched: args[1].Get("fetched").Truthy(), Sourced: args[1].Get("sourced").Truthy()}
			if args[1].Get("versioned").Truthy() {
				traits.Newer = s.newer(collection)
			}
			if err := s.outbox.Register(name, handler{std: s, collection: collection}, traits); err != nil {
				return failure(err)
			}
			return nil
		},
		"enqueue": func(args []js.Value) any {
			s.enqueue(args[0].Int(), s.drafts(args[1]))
			return nil
		},
		"replay": func(args []js.Value) any {
			return later(args[0], func() (any, error) { return nil, s.replay(args[1].String()) })
		},
		"replayAction": func(args []js.Value) any {
			return later(args[0], func() (any, error) { return nil, s.replayAction(args[1].String()) })
		},
		"replica": func(args []js.Value) any {
			return later(args[0], func() (any, error) {
				rows, err := s.outbox.Replica(s.ctx, args[1].String())
				return rowsArray(rows), err
			})
		},
		"confirm": func(args []js.Value) any {
			return later(args[0], func() (any, error) {
				return nil, s.outbox.Confirm(s.ctx, s.rows(args[1].String(), args[2]), outbox.Traits{Fetched: args[3].Truthy()})
			})
		},
		"openGate": func([]js.Value) any { s.outbox.OpenGate(); return nil },
		"land":     func(args []js.Value) any { s.flights.land(args[0]); return nil },
		"discard": func(args []js.Value) any {
			return later(args[0], func() (any, error) { return nil, s.outbox.Discard(s.ctx, args[1].String()) })
		},
		"retry": func(args []js.Value) any {
			return later(args[0], func() (any, error) {
				revived, err := s.outbox.Retry(s.ctx, args[1].String())
				if err == nil {
					s.hooks.Call("restore", replayed(revived))
					s.outbox.Watch(revived)
				}
				return nil, err
			})
		},
		"reset": func(args []js.Value) any {
			return later(args[0], func() (any, error) {
				dropped, err := s.outbox.Reset(s.ctx, args[1].Bool())
				return dropped, err
			})
		},
		"pause": func(args []js.Value) any {
			return later(args[0], func() (any, error) { return nil, s.outbox.Pause(s.ctx) })
		},
		"resume": func(args []js.Value) any {
			return later(args[0], func() (any, error) { return nil, s.outbox.Resume(s.ctx) })
		},
		"drain":  func([]js.Value) any { s.outbox.Drain(); return nil },
		"status": func([]js.Value) any { return statusObject(s.outbox.Status()) },
		"watchStatus": func([]js.Value) any {
			s.watching.Do(func() { s.outbox.Subscribe(func(outbox.Status) { s.hooks.Call("status") }) })
			return nil
		},
		"view": func([]js.Value) any { return s.view() },
		"pull": func(args []js.Value) any { s.startPull(args[0].String(), millis(args[1])); return nil },
		"dispose": func(args []js.Value) any {
			s.dispose()
			return later(args[0], func() (any, error) { <-s.ended; return nil, nil })
		},
	})
}

// drafts reads a batch of { id, transaction, collection, key, op, base?,
// changes?, after? } or { id, transaction, action, queue, payload, after? }.
func (s *std) drafts(batch js.Value) []outbox.Draft {
	drafts := make([]outbox.Draft, batch.Length())
	for i := range drafts {
		w := batch.Index(i)
		d := outbox.Draft{ID: w.Get("id").String(), Transaction: w.Get("transaction").String()}
		if after := w.Get("after"); after.Truthy() {
			for j := range after.Length() {
				d.After = append(d.After, after.Index(j).String())
			}
		}
		if collection := w.Get("collection"); collection.Type() == js.TypeString {
			name := collection.String()
			d.Name, d.Queue = outbox.CollectionHandler(name), outbox.QueueOf(name, outbox.Key(w.Get("key").String()))
			d.Op, d.Base, d.Changes = outbox.Op(w.Get("op").String()), optional(w.Get("base")), optional(w.Get("changes"))
		} else {
			action := w.Get("action").String()
			d.Name, d.Queue = outbox.ActionHandler(action), outbox.ActionQueue(action, textOr(w.Get("queue")))
			d.Op, d.Payload = outbox.OpAction, optional(w.Get("payload"))
		}
		drafts[i] = d
	}
	return drafts
}

// enqueue has a batch stored and the host told how it went: stored(batch,
// [index, failure][]).
func (s *std) enqueue(batch int, drafts []outbox.Draft) {
	s.outbox.Enqueue(drafts, func(errs []error) {
		refused := []any{}
		for i, err := range errs {
			if err != nil {
				refused = append(refused, []any{i, failure(err)})
			}
		}
		s.hooks.Call("stored", batch, refused)
	})
}

// replay puts a Collection's rows and Entries on screen, and only then waits for
// the Entries: whoever is told of their end knows them.
func (s *std) replay(collection string) error {
	rows, entries, err := s.outbox.Replay(s.ctx, collection)
	if err != nil {
		return err
	}
	s.hooks.Call("replayed", collection, rowsArray(rows), replayed(entries))
	s.outbox.Watch(entries)
	if len(entries) > 0 {
		s.event(outbox.Event{Type: outbox.EventReplayed, Sync: s.name, At: time.Now(), Name: outbox.CollectionHandler(collection), Count: len(entries)})
	}
	return nil
}

// replayAction is replay for the calls of an action.
func (s *std) replayAction(action string) error {
	entries, err := s.outbox.Unsent(s.ctx, outbox.ActionHandler(action))
	if err != nil || len(entries) == 0 {
		return err
	}
	s.hooks.Call("replayedAction", action, replayed(entries))
	s.outbox.Watch(entries)
	return nil
}

// replayed returns Entries as the host restores them: { id, transaction, op,
// key, name, base?, changes?, payload? }[].
func replayed(entries []outbox.Entry) []any {
	out := make([]any, len(entries))
	for i, e := range entries {
		out[i] = map[string]any{
			"id": e.ID, "transaction": e.Transaction, "op": string(e.Op), "key": string(e.Key), "name": e.Name,
			"base": unwrap(e.Base), "changes": unwrap(e.Changes), "payload": unwrap(e.Payload),
		}
	}
	return out
}

// migrate has the host turn an Entry of another version into one of this, or drop
// it.
func (s *std) migrate(e outbox.Entry, from int) (outbox.Entry, bool) {
	row := s.hooks.Call("migrate", entryRow(e), from)
	if row.Type() != js.TypeObject {
		return e, false
	}
	e.Base, e.Changes, e.Payload = optional(row.Get("base")), optional(row.Get("changes")), optional(row.Get("payload"))
	if name := textOr(row.Get("name")); name != e.Name && name != "" {
		e.Queue = outbox.MoveQueue(e.Queue, name)
		e.Name = name
	}
	return e, true
}

// view starts telling of Entries, and returns a function that stops it.
func (s *std) view() js.Value {
	stop := s.outbox.View()
	var end js.Func
	end = js.FuncOf(func(js.Value, []js.Value) any {
		stop()
		end.Release()
		return nil
	})
	return end.Value
}

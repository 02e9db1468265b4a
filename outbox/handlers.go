package outbox

import (
	"context"
	"sync"
	"time"
)

// Request is one run of a Mutation Callback or an action's mutationFn.
type Request struct {
	Write
	// ID is the idempotency key: the same over retries and reloads.
	ID string
	// Name is the Handler's.
	Name  string
	Queue string
	// Key is the Entity's, or "" for an action.
	Key Key
	// Entries are those the Request carries, oldest first.
	Entries []Entry
	// Attempt counts flights of this Request, from 1.
	Attempt int
	// EnqueuedAt is the oldest Entry's.
	EnqueuedAt time.Time
	// Latest is the Sync Replica's row at flight time, or nil.
	Latest Value
}

// Result is what the Backend confirmed.
type Result struct {
	// Rows are confirmed rows; a nil Value is a row that is gone. Without any,
	// the optimistic value counts as confirmed.
	Rows []Row
}

// Handler flies Requests.
type Handler interface {
	// Fly sends one Request and returns once the Backend answered. An error
	// wrapped by Unreachable keeps the Entries pending; any other marks them
	// failed. ctx ends when the tab stops leading, and then nothing Fly returns
	// is stored.
	Fly(ctx context.Context, request Request) (Result, error)
}

// HandlerFunc is a Handler made of its Fly.
type HandlerFunc func(ctx context.Context, request Request) (Result, error)

// Fly calls f.
func (f HandlerFunc) Fly(ctx context.Context, request Request) (Result, error) {
	return f(ctx, request)
}

// Traits says how a Handler's rows are kept.
type Traits struct {
	// Newer, if set, reports whether an incoming row is to replace the stored one.
	Newer func(incoming, stored Value) bool
	// Fetched: a strategy fetches rows too, and could bring a deleted one back.
	Fetched bool
	// Sourced: the rows are another source's, and are not kept here.
	Sourced bool
}

// registered is a Handler with its Traits.
type registered struct {
	Handler
	Traits
}

// handlers is what the Drainer looks up by name.
type handlers struct {
	mu     sync.Mutex
	byName map[string]registered
}

// register adds a Handler, and fails if the name is taken.
func (h *handlers) register(name string, handler registered) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, taken := h.byName[name]; taken {
		return Fail(CodeInvalid, name+" is registered already: give every Collection and action of a Std Sync its own name")
	}
	if h.byName == nil {
		h.byName = map[string]registered{}
	}
	h.byName[name] = handler
	return nil
}

// lookup returns the Handler of that name, and whether there is one.
func (h *handlers) lookup(name string) (registered, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	handler, ok := h.byName[name]
	return handler, ok
}

package jsbridge

import (
	"context"
	"errors"
	"sync"
	"syscall/js"

	"github.com/stdsync/outbox/outbox"
)

// flights are the calls of user callbacks that have not answered yet.
type flights struct {
	mu     sync.Mutex
	nextID int
	open   map[int]chan js.Value
}

// start returns the id of a new flight, and where its answer arrives.
func (f *flights) start() (int, <-chan js.Value) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[int]chan js.Value{}
	}
	f.nextID++
	answer := make(chan js.Value, 1)
	f.open[f.nextID] = answer
	return f.nextID, answer
}

// land hands answers, [id, answer][], to the flights that still wait for them.
func (f *flights) land(answers js.Value) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range answers.Length() {
		pair := answers.Index(i)
		id := pair.Index(0).Int()
		if waits, ok := f.open[id]; ok {
			delete(f.open, id)
			waits <- pair.Index(1)
		}
	}
}

// drop forgets a flight: nobody waits for its answer.
func (f *flights) drop(id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, id)
}

// call has the host run a callback and returns its answer. If ctx ends first the
// host is told to abort.
func (f *flights) call(ctx context.Context, run func(id int), abort js.Value) (js.Value, error) {
	if err := ctx.Err(); err != nil {
		return js.Undefined(), err
	}
	id, answer := f.start()
	run(id)
	select {
	case a := <-answer:
		return a, refused(a)
	case <-ctx.Done():
		f.drop(id)
		abort.Invoke(id, reason(ctx))
		return js.Undefined(), ctx.Err()
	}
}

// reason returns why a context has ended, or nil where that is nothing to be told.
func reason(ctx context.Context) any {
	if why, ok := errors.AsType[*outbox.Error](context.Cause(ctx)); ok {
		return failure(why)
	}
	return nil
}

// refused returns the error of an answer { error: { name, message, code? },
// unreachable }, or nil.
func refused(answer js.Value) error {
	e := answer.Get("error")
	if e.IsUndefined() {
		return nil
	}
	err := error(callbackError{outbox.Failure{Name: e.Get("name").String(), Message: e.Get("message").String(), Code: textOr(e.Get("code"))}})
	if answer.Get("unreachable").Truthy() {
		return outbox.Unreachable(err)
	}
	return err
}

func textOr(v js.Value) string {
	if v.Type() == js.TypeString {
		return v.String()
	}
	return ""
}

// callbackError is what a user's callback threw.
type callbackError struct{ failure outbox.Failure }

func (e callbackError) Error() string           { return e.failure.Message }
func (e callbackError) Failure() outbox.Failure { return e.failure }

// handler flies Requests through the callbacks of one Collection or action.
type handler struct {
	std        *std
	collection string
}

// Fly has the host call the callback for the Request.
func (h handler) Fly(ctx context.Context, q outbox.Request) (outbox.Result, error) {
	answer, err := h.std.flights.call(ctx, func(id int) {
		h.std.hooks.Call("fly", id, q.Name, requestObject(q))
	}, h.std.abort)
	if err != nil {
		return outbox.Result{}, err
	}
	return outbox.Result{Rows: h.std.rows(h.collection, answer.Get("rows"))}, nil
}

// requestObject returns a Request as the host reads it.
func requestObject(q outbox.Request) js.Value {
	entryIDs := make([]string, len(q.Entries))
	for i, e := range q.Entries {
		entryIDs[i] = e.ID
	}
	return js.ValueOf(map[string]any{
		"id": q.ID, "op": string(q.Op), "key": string(q.Key), "entryIds": texts(entryIDs),
		"attempt": q.Attempt, "enqueuedAt": q.EnqueuedAt.UnixMilli(),
		"base": unwrap(q.Base), "changes": unwrap(q.Changes), "payload": unwrap(q.Payload), "latest": unwrap(q.Latest),
	})
}

// rows reads [key, row?][] as rows of a Collection.
func (s *std) rows(collection string, v js.Value) []outbox.Row {
	if v.Type() != js.TypeObject {
		return nil
	}
	rows := make([]outbox.Row, v.Length())
	for i := range rows {
		pair := v.Index(i)
		rows[i] = outbox.Row{
			RowKey: outbox.RowKey{Sync: s.name, Collection: collection, Key: outbox.Key(pair.Index(0).String())},
			Value:  optional(pair.Index(1)),
		}
	}
	return rows
}

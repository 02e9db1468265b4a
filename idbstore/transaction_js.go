package idbstore

import (
	"syscall/js"

	"github.com/stdsync/outbox/outbox"
)

// transaction is an IDBTransaction. Requests succeed in the order in which
// they were made, so the last one speaks for all.
type transaction struct {
	js.Value
	stores map[string]js.Value
}

// begin starts a transaction over all stores.
func begin(db js.Value, mode, durability string) (t *transaction, err error) {
	defer recovered("begin a transaction", &err)
	names := make([]any, len(schema))
	for i, s := range schema {
		names[i] = s.store
	}
	t = &transaction{
		Value:  db.Call("transaction", names, mode, map[string]any{"durability": durability}),
		stores: map[string]js.Value{},
	}
	return t, nil
}

// store returns an object store.
func (t *transaction) store(name string) js.Value {
	s, ok := t.stores[name]
	if !ok {
		s = t.Call("objectStore", name)
		t.stores[name] = s
	}
	return s
}

// await waits for the last of some requests of one transaction and returns all
// their results.
func await(doing string, requests ...js.Value) (results []js.Value, err error) {
	if len(requests) == 0 {
		return nil, nil
	}
	done := make(chan struct{}, 1)
	settled := js.FuncOf(func(js.Value, []js.Value) any {
		done <- struct{}{}
		return nil
	})
	defer settled.Release()
	last := requests[len(requests)-1]
	last.Set("onsuccess", settled)
	last.Set("onerror", settled)
	<-done
	results = make([]js.Value, len(requests))
	for i, r := range requests {
		if e := r.Get("error"); e.Truthy() {
			return nil, translate(doing, e)
		}
		results[i] = r.Get("result")
	}
	return results, nil
}

// commit ends the transaction and waits until it is complete.
func (t *transaction) commit() (err error) {
	defer recovered("commit", &err)
	ended := make(chan error, 1)
	complete := js.FuncOf(func(js.Value, []js.Value) any {
		ended <- nil
		return nil
	})
	aborted := js.FuncOf(func(js.Value, []js.Value) any {
		ended <- translate("commit", t.Get("error"))
		return nil
	})
	defer complete.Release()
	defer aborted.Release()
	t.Set("oncomplete", complete)
	t.Set("onabort", aborted)
	t.Call("commit")
	return <-ended
}

// abort undoes the transaction. One that the browser has ended is left alone.
func (t *transaction) abort() {
	var err error
	defer recovered("abort", &err)
	t.Call("abort")
}

// eachKey walks an index by key, calling visit with each. A browser fetches the
// next keys ahead as long as none is skipped.
func eachKey(index, keys js.Value, visit func(key js.Value)) error {
	request := index.Call("openKeyCursor", keys)
	for {
		results, err := await("walk an index", request)
		if err != nil {
			return err
		}
		cursor := results[0]
		if !cursor.Truthy() {
			return nil
		}
		visit(cursor.Get("key"))
		cursor.Call("continue")
	}
}

// keyRange returns the IDBKeyRange from one key to another, both included.
func keyRange(from, to []any) js.Value {
	return js.Global().Get("IDBKeyRange").Call("bound", from, to)
}

// last is an array, and so greater than any number or string in its place.
var last = []any{}

// recovered turns a JavaScript exception, which arrives as a panic, into an
// error. Any other panic goes on.
func recovered(doing string, err *error) {
	switch p := recover().(type) {
	case nil:
	case js.Error:
		*err = translate(doing, p.Value)
	default:
		panic(p)
	}
}

// translate returns a DOMException as an outbox.Error that says what to do.
func translate(doing string, exception js.Value) error {
	name, message := "UnknownError", "the browser did not say why"
	if exception.Type() == js.TypeObject {
		name, message = exception.Get("name").String(), exception.Get("message").String()
	}
	cause := &Exception{Name: name, Message: message}
	switch name {
	case "QuotaExceededError":
		return &outbox.Error{Code: outbox.CodeStorage, Message: "the disk space this site may use is full: free some, then make the write again", Err: cause}
	case "VersionError":
		return &outbox.Error{Code: outbox.CodeSuperseded, Message: "a newer version of this app has upgraded the database: reload the page", Err: cause}
	case "DataCloneError", "DataError":
		return &outbox.Error{Code: outbox.CodeNotStorable, Message: "a value cannot be stored: " + message, Err: cause}
	case "ConstraintError":
		return &outbox.Error{Code: outbox.CodeInvalid, Message: "an entry of this id is stored already", Err: outbox.ErrExists}
	}
	return &outbox.Error{Code: outbox.CodeStorage, Message: doing, Err: cause}
}

// Exception is a DOMException.
type Exception struct{ Name, Message string }

// Error returns the name and the message.
func (e *Exception) Error() string { return e.Name + ": " + e.Message }

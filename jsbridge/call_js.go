package jsbridge

import (
	"errors"
	"syscall/js"
	"time"

	"github.com/stdsync/outbox/outbox"
)

// object returns a JavaScript object of functions that lives as long as the
// module.
func object(functions map[string]func(args []js.Value) any) js.Value {
	o := js.Global().Get("Object").New()
	for name, fn := range functions {
		o.Set(name, js.FuncOf(func(_ js.Value, args []js.Value) (result any) {
			defer recovered(name, func(err error) { result = failure(err) })
			return fn(args)
		}))
	}
	return o
}

// later runs fn beside the caller and settles the host's promise of that id with
// what it returns.
func later(promise js.Value, fn func() (any, error)) any {
	go func() {
		defer recovered("a call", func(err error) { theHost.settle.Invoke(promise, failure(err), nil) })
		value, err := fn()
		if err != nil {
			theHost.settle.Invoke(promise, failure(err), nil)
			return
		}
		theHost.settle.Invoke(promise, nil, value)
	}()
	return nil
}

// recovered hands a panic to tell, as an error.
func recovered(doing string, tell func(error)) {
	if p := recover(); p != nil {
		tell(&outbox.Error{Code: outbox.CodeCrashed, Message: "outbox.wasm failed in " + doing + ": " + describe(p) + " (a bug; what is stored is safe)"})
	}
}

// describe returns a panic's value as text. A JavaScript exception need not be
// an Error, and asking one that is not for its message panics again.
func describe(p any) (text string) {
	defer func() {
		if recover() != nil {
			text = "a value without a text was thrown"
		}
	}()
	switch p := p.(type) {
	case js.Error:
		return js.Global().Get("String").Invoke(p.Value).String()
	case error:
		return p.Error()
	case string:
		return p
	}
	return "a panic"
}

// failure returns an error as the host reads it: { failure: true, code,
// message, entryId?, stored? }.
func failure(err error) any {
	out := map[string]any{"failure": true, "code": string(outbox.CodeStorage), "message": err.Error()}
	if e, ok := errors.AsType[*outbox.Error](err); ok {
		out["code"] = string(e.Code)
		if e.EntryID != "" {
			out["entryId"] = e.EntryID
		}
		if e.Failure != nil {
			out["stored"] = stored(e.Failure)
		}
	}
	return js.ValueOf(out)
}

func stored(f *outbox.Failure) map[string]any {
	out := map[string]any{"name": f.Name, "message": f.Message}
	if f.Code != "" {
		out["code"] = f.Code
	}
	return out
}

func texts(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

func millis(ms js.Value) time.Duration { return time.Duration(ms.Float() * float64(time.Millisecond)) }

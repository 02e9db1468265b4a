package locks

import (
	"context"
	"errors"
	"strconv"
	"syscall/js"

	"github.com/stdsync/outbox/outbox"
)

// ErrStolen is the cause of the context of a term whose lock was stolen, and
// what Lead and Steal return when that happened before the term had begun. It is
// a context.Canceled to errors.Is.
var ErrStolen error = stolen{}

type stolen struct{}

func (stolen) Error() string { return "the lock was stolen" }
func (stolen) Unwrap() error { return context.Canceled }

// Leadership is an outbox.Leadership on one Web Lock. It holds nothing between
// terms, and its methods may be called side by side: each call asks anew.
type Leadership struct {
	manager js.Value
	name    string
}

var _ outbox.Leadership = (*Leadership)(nil)

// New returns a Leadership on the lock of that name. manager is
// navigator.locks, or an object with the same request(name, options, callback)
// whose promise settles once the lock is released, stolen or not to be had.
func New(manager js.Value, name string) *Leadership {
	return &Leadership{manager: manager, name: name}
}

// Lead waits until this tab holds the lock, calls term, and holds the lock until
// term returns. Its context ends with ctx, and with ErrStolen as its cause when
// the lock is stolen. Lead returns term's error, nil included, even when the
// lock was stolen; ctx's error if the wait was cut short; or what the browser
// said if it refused the lock. A panic in term releases the lock and goes on.
func (l *Leadership) Lead(ctx context.Context, term func(context.Context) error) error {
	return l.hold(ctx, term, false)
}

// Steal is Lead without the wait: it takes the lock from whoever holds it, and
// leaves those who wait where they are. The browser cannot take a theft back, so
// a ctx that ends before the lock is granted keeps term from being called, not
// the loser from losing.
func (l *Leadership) Steal(ctx context.Context, term func(context.Context) error) error {
	return l.hold(ctx, term, true)
}

func (l *Leadership) hold(ctx context.Context, term func(context.Context) error, steal bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r, err := l.ask(steal)
	if err != nil {
		return err
	}
	defer r.end()
	select {
	case <-r.granted:
	case <-r.settled:
	case <-ctx.Done():
	}
	// Several of the three may have happened by now.
	if err := ctx.Err(); err != nil {
		r.cut()
		return err
	}
	select {
	case <-r.settled:
		return r.refused()
	default:
	}
	held, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	go func() {
		<-r.settled
		lose(ErrStolen)
	}()
	return term(held)
}

// ask requests the lock. The request that is returned must be ended.
func (l *Leadership) ask(steal bool) (r *request, err error) {
	r = &request{name: l.name, granted: make(chan struct{}), settled: make(chan struct{})}
	defer func() {
		if cause := recover(); cause != nil {
			r.release()
			r, err = nil, refusal(l.name, describe(cause))
		}
	}()
	options := js.Global().Get("Object").New()
	if steal {
		options.Set("steal", true)
	} else {
		r.controller = js.Global().Get("AbortController").New()
		options.Set("signal", r.controller.Get("signal"))
	}
	promise := js.Global().Get("Promise")
	r.held = promise.Call("withResolvers")
	asked := l.manager.Call("request", l.name, options, r.callback(r.grant))
	promise.Call("resolve", asked).Call("then", r.callback(r.settle), r.callback(r.fail))
	return r, nil
}

// request is one ask for the lock, from the call to the settling of its promise.
type request struct {
	name       string
	controller js.Value // undefined when stealing
	held       js.Value // { promise, resolve }: pending while the lock is wanted
	funcs      []js.Func

	// granted is closed when the lock is ours, and settled when it is so no
	// longer, or never will be; reason then says why, if the promise rejected.
	granted, settled chan struct{}
	reason           js.Value
}

// liveFuncs counts the js.Funcs that are not released yet.
var liveFuncs int

func (r *request) callback(do func(args []js.Value) any) js.Func {
	f := js.FuncOf(func(_ js.Value, args []js.Value) any { return do(args) })
	r.funcs = append(r.funcs, f)
	liveFuncs++
	return f
}

func (r *request) release() {
	for _, f := range r.funcs {
		f.Release()
		liveFuncs--
	}
	r.funcs = nil
}

// grant keeps the lock for as long as held is pending: not at all, when the
// request was ended before.
func (r *request) grant([]js.Value) any {
	close(r.granted)
	return r.held.Get("promise")
}

func (r *request) settle([]js.Value) any {
	close(r.settled)
	return nil
}

func (r *request) fail(args []js.Value) any {
	r.reason = args[0]
	close(r.settled)
	return nil
}

// cut takes the request out of the queue. It does nothing to a lock that was
// granted.
func (r *request) cut() {
	if !r.controller.IsUndefined() {
		r.controller.Call("abort")
	}
}

// end gives the lock back and waits until the browser has taken it.
func (r *request) end() {
	r.held.Call("resolve")
	<-r.settled
	r.release()
}

// refused says why the request settled before a term began.
func (r *request) refused() error {
	select {
	case <-r.granted:
		return ErrStolen
	default:
	}
	if r.reason.IsUndefined() {
		return refusal(r.name, "it was not granted")
	}
	return refusal(r.name, describe(js.Error{Value: r.reason}))
}

func refusal(name, why string) error {
	return errors.New("request the lock " + strconv.Quote(name) + ": " + why)
}

// describe returns the text of a recovered panic. A thrown value may be
// anything, and turning it into a text may throw once more.
func describe(cause any) (text string) {
	defer func() {
		if recover() != nil {
			text = "a value without a text was thrown"
		}
	}()
	switch cause := cause.(type) {
	case js.Error:
		return js.Global().Get("String").Invoke(cause.Value).String()
	case error:
		return cause.Error()
	case string:
		return cause
	}
	return "the browser cannot"
}

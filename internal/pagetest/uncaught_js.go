package pagetest

import (
	"fmt"
	"os"
	"slices"
	"syscall/js"
	"testing"
	"time"
)

// Main runs the tests of a package, and fails them, too, if by their end the page
// saw an unhandled rejection or an uncaught error. It is what TestMain calls, and
// does not return.
func Main(m *testing.M) {
	uncaught := Listen()
	code := m.Run()
	Settle()
	uncaught.Stop()
	for _, what := range uncaught.All() {
		fmt.Printf("FAIL: nobody caught: %s\n", what)
		code = max(code, 1)
	}
	os.Exit(code)
}

// Settle lets the event loop turn, so that the page has told of what happened
// before: it reports a rejection once the turn in which it stayed unhandled is
// over.
func Settle() {
	for range 10 {
		time.Sleep(time.Millisecond)
	}
}

// Uncaught records what nobody in the page caught.
type Uncaught struct {
	onRejection, onError js.Func
	all                  []string
}

// Listen starts recording. What it hears is kept from the console.
func Listen() *Uncaught {
	u := &Uncaught{}
	u.onRejection = js.FuncOf(func(_ js.Value, args []js.Value) any {
		return u.record(args[0], "an unhandled rejection", args[0].Get("reason"))
	})
	u.onError = js.FuncOf(func(_ js.Value, args []js.Value) any {
		return u.record(args[0], "an uncaught error", args[0].Get("error"))
	})
	js.Global().Call("addEventListener", "unhandledrejection", u.onRejection)
	js.Global().Call("addEventListener", "error", u.onError)
	return u
}

// All returns a sentence for each thing nobody caught so far.
func (u *Uncaught) All() []string { return slices.Clone(u.all) }

// Stop ends the recording.
func (u *Uncaught) Stop() {
	js.Global().Call("removeEventListener", "unhandledrejection", u.onRejection)
	js.Global().Call("removeEventListener", "error", u.onError)
	u.onRejection.Release()
	u.onError.Release()
}

func (u *Uncaught) record(event js.Value, kind string, thrown js.Value) any {
	event.Call("preventDefault")
	u.all = append(u.all, kind+": "+text(thrown))
	return nil
}

// text describes whatever was thrown; turning it into a text may throw again.
func text(thrown js.Value) (text string) {
	defer func() {
		if recover() != nil {
			text = "a value without a text"
		}
	}()
	if thrown.InstanceOf(js.Global().Get("Error")) {
		return js.Global().Get("String").Invoke(thrown.Get("stack")).String()
	}
	return js.Global().Get("String").Invoke(thrown).String()
}

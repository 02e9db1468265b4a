package pagetest

import (
	"fmt"
	"os"
	"slices"
	"syscall/js"
	"testing"
)

// Main runs the tests of a package, and fails them, too, if by their end the page
// saw an unhandled rejection, an uncaught error, or something on console.error:
// that is where Go says that JavaScript called a js.Func after its release. It is what TestMain calls, and
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
// over. A time.Sleep would not do: a Go timer may run out within a turn.
func Settle() {
	turned := make(chan struct{}, 1)
	turn := js.FuncOf(func(js.Value, []js.Value) any {
		turned <- struct{}{}
		return nil
	})
	defer turn.Release()
	for range 10 {
		js.Global().Call("setTimeout", turn)
		<-turned
	}
}

// Uncaught records what nobody in the page caught.
type Uncaught struct {
	onRejection, onError, onConsole js.Func
	// consoleError is what console.error was before.
	consoleError js.Value
	all          []string
}

// Listen starts recording. What it hears is kept from the console.
func Listen() *Uncaught {
	u := &Uncaught{}
	u.onRejection = js.FuncOf(func(_ js.Value, args []js.Value) any {
		args[0].Call("preventDefault")
		return u.record("an unhandled rejection", args[0].Get("reason"))
	})
	u.onError = js.FuncOf(func(_ js.Value, args []js.Value) any {
		args[0].Call("preventDefault")
		return u.record("an uncaught error", args[0].Get("error"))
	})
	u.onConsole = js.FuncOf(func(_ js.Value, args []js.Value) any {
		return u.record("on console.error", args...)
	})
	console := js.Global().Get("console")
	u.consoleError = console.Get("error")
	console.Set("error", u.onConsole)
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
	js.Global().Get("console").Set("error", u.consoleError)
	u.onRejection.Release()
	u.onError.Release()
	u.onConsole.Release()
}

func (u *Uncaught) record(kind string, thrown ...js.Value) any {
	what := kind + ":"
	for _, one := range thrown {
		what += " " + text(one)
	}
	u.all = append(u.all, what)
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

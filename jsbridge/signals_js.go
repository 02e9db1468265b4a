package jsbridge

import "syscall/js"

// signal is something JavaScript tells of: { is(): boolean, subscribe(listener): stop }.
type signal struct{ js js.Value }

func (s signal) is() bool { return s.js.Call("is").Truthy() }

// Subscribe has JavaScript call listener until stop is called.
func (s signal) Subscribe(listener func()) (stop func()) {
	changed := js.FuncOf(func(js.Value, []js.Value) any {
		go listener()
		return nil
	})
	unsubscribe := s.js.Call("subscribe", changed)
	return func() {
		if unsubscribe.Type() == js.TypeFunction {
			unsubscribe.Invoke()
		}
		changed.Release()
	}
}

// connectivity is an outbox.Connectivity, and visibility an outbox.Visibility.
type (
	connectivity struct{ signal }
	visibility   struct{ signal }
)

// IsOnline asks JavaScript.
func (c connectivity) IsOnline() bool { return c.is() }

// IsVisible asks JavaScript.
func (v visibility) IsVisible() bool { return v.is() }

//go:build crashable

package main

import "syscall/js"

// The build for tests dies when the page fires an outbox-crash event, as any
// panic in a goroutine would have it.
func init() {
	js.Global().Call("addEventListener", "outbox-crash", js.FuncOf(func(js.Value, []js.Value) any {
		go panic("an injected crash")
		return nil
	}))
}

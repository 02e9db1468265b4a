//go:build crashable

package main

import "syscall/js"

// The build for tests dies when the page fires an outbox-crash event, as any
// panic in a goroutine would have it, and runs out of memory at outbox-exhaust.
func init() {
	on("outbox-crash", func() { panic("an injected crash") })
	on("outbox-exhaust", func() {
		for {
			hoard = append(hoard, make([]byte, 256<<20))
		}
	})
}

var hoard [][]byte

func on(event string, do func()) {
	js.Global().Call("addEventListener", event, js.FuncOf(func(js.Value, []js.Value) any {
		go do()
		return nil
	}))
}

//go:build crashable

package main

import (
	"runtime"
	"syscall/js"
	_ "unsafe" // for go:linkname
)

// The build for tests dies when the page fires an outbox-crash event, as any
// panic in a goroutine would have it, runs out of memory at outbox-exhaust, and
// fills in the detail of an outbox-measure with what is live.
func init() {
	on("outbox-crash", func(js.Value) { go panic("an injected crash") })
	on("outbox-exhaust", func(js.Value) {
		go func() {
			for {
				hoard = append(hoard, make([]byte, 256<<20))
			}
		}()
	})
	on("outbox-measure", func(event js.Value) {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		detail := event.Get("detail")
		detail.Set("funcs", len(funcs))
		detail.Set("goroutines", runtime.NumGoroutine())
		detail.Set("heap", stats.HeapAlloc)
		detail.Set("memory", stats.Sys)
	})
}

var hoard [][]byte

// funcs are the js.Funcs that are not released.
//
//go:linkname funcs syscall/js.funcs
var funcs map[uint32]func(js.Value, []js.Value) any

func on(event string, do func(js.Value)) {
	js.Global().Call("addEventListener", event, js.FuncOf(func(_ js.Value, args []js.Value) any {
		do(args[0])
		return nil
	}))
}

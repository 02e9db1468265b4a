package main

import (
	"syscall/js"
	"time"
)

// newID returns a version 7 UUID, which sorts by time. Its random bits are the
// browser's: what crypto/rand and a UUID package bring would be a tenth of the
// module.
func newID() string {
	var id [16]byte
	random := js.Global().Get("Uint8Array").New(len(id))
	js.Global().Get("crypto").Call("getRandomValues", random)
	js.CopyBytesToGo(id[:], random)
	ms := time.Now().UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6] = 0x70 | id[6]&0x0f
	id[8] = 0x80 | id[8]&0x3f

	const digits = "0123456789abcdef"
	text := make([]byte, 0, 36)
	for i, b := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			text = append(text, '-')
		}
		text = append(text, digits[b>>4], digits[b&15])
	}
	return string(text)
}

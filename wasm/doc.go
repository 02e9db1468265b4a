// Command wasm is outbox.wasm: it wires the browser's adapters to the outbox and
// hands the result to the host, then blocks for good.
package main

// Package broadcast tells this app's other tabs to look again, with a
// BroadcastChannel.
//
// It promises:
//
//   - Whatever arrives is harmless. Any page of the origin may post anything on
//     the channel; what is not a message of this package's shape is dropped
//     whole, and one that names too much becomes "look at everything".
//   - One message a turn. Rings of one turn of the event loop are merged and keep
//     their order; nothing they name is lost, though past outbox.MaxHints it is only
//     said that something changed.
//   - In order, and not in the browser's event handler: listeners are called one
//     at a time, on a goroutine of their own.
//   - Close gives everything back.
//
// A message is structured-cloned, and its shape is
//
//	{ v: 1, entries: [[id, queue], …], claimed: [[id, queue], …], rows: [[collection, key], …], all: true, drain: true }
//
// where what is empty is absent. A row's Std Sync is the channel's own.
package broadcast

// Package outbox keeps every write a Backend has not confirmed, and delivers
// each of them in order, once.
//
// It promises:
//
//   - Durable. When Enqueue returns nil for a write, the Store has it on disk.
//     All writes of one call are stored together or not at all.
//   - Ordered. A Queue is first in, first out; Queues run side by side.
//   - Not duplicated. A Request is flown by one Drainer at a time, fenced by an
//     epoch in the Store. One that may have reached the Backend is flown again
//     unchanged, under the same idempotency key.
//   - Never silently dropped. An Entry leaves the Store by delivery, by
//     Discard, by a reset or by the version gate, and each is an Event.
//   - Told truly. A Waiter is settled from what the Store says, in every tab.
//
// The package does no I/O of its own: it runs on four ports, Store, Doorbell,
// Leadership and Connectivity. Package memory has a twin of each in memory, and
// package outboxtest the suites that every implementation passes.
package outbox

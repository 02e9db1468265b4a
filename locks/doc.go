// Package locks elects the one tab that drains, with Web Locks.
//
// It promises:
//
//   - One at a time. Of all Leaderships of one name in an origin, in whichever
//     tab or worker, one runs a term; the others wait, first come, first served.
//   - Held for the term, and no longer. The lock is free once the term has
//     returned, panicked or left by [runtime.Goexit], and by the time Lead
//     returns.
//   - A theft is told. The context of a term whose lock was stolen ends with
//     ErrStolen as its cause. The term itself cannot be stopped: what it goes on
//     writing must be fenced by the Store's epoch.
//   - Nothing is kept. When Lead or Steal has returned, no JavaScript callback
//     of it is left.
//
// A tab that hangs, is frozen, or whose Go module died keeps its Web Lock. Steal
// takes it, and a host that outlives the module hands in a manager that releases
// it.
package locks

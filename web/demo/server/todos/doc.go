// Package todos keeps the demo's todo rows in SQLite, together with what makes
// writes safe to repeat and visible to a test: remembered answers and a
// journal.
//
// It promises that
//
//   - [Store.Do] is one transaction: the answer remembered under the request's
//     key, the change to the row and the journal entry are all stored, or none;
//   - a key is applied once, also when it arrives twice at the same time;
//   - change numbers only grow, also across deletes and [Store.Reset], so a
//     reader that keeps its cursor misses nothing;
//   - a request that arrived before a Reset never touches the data after it.
package todos

// Package api is the demo's HTTP interface: todos, their changes, the journal
// of writes and, if asked for, faults.
//
// It promises that every answer with a body is JSON, that an error says what is
// wrong and what to do, and that every write to a todo is in the journal,
// whatever became of it. A write that has arrived whole is carried out even if
// its client goes away, unless a fault holds it.
package api

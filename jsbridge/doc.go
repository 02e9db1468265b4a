// Package jsbridge is the boundary between the outbox and JavaScript: what a
// Std Sync is to a page, in calls, callbacks, values and errors.
//
// User values stay JavaScript values: they are handed through, never converted.
// Every call into Go recovers, answers with a value or with a failure that the
// host turns into an OutboxError, and never blocks. What takes time answers
// through a promise that the host owns, so that a module that dies rejects it
// and never resolves it.
package jsbridge

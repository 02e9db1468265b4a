// Package memory has an in-memory twin of every port of the outbox.
//
// A Store lasts as long as the session: it backs memory() in the browser, and
// every test that needs no disk. A Channel and a Lock join tabs of one process as
// a browser joins its own.
package memory

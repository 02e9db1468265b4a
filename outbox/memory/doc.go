// Package memory has an in-memory twin of every port of the outbox.
//
// A Store lasts as long as the session: it backs memory() in the browser, and
// every test that needs no disk. A World's Doorbells and Leaderships join tabs
// of one process as a browser joins its own.
package memory

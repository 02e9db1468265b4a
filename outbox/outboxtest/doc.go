// Package outboxtest has what the outbox is tested with: one conformance suite
// for every port, which memory passes natively and the browser's adapters pass
// in Chromium, and a World of tabs around one store and a model Backend.
package outboxtest

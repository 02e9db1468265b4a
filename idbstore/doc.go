// Package idbstore is the outbox's Store on IndexedDB.
//
// An Update returns when the browser has fired the transaction's complete
// event, and for outbox.Strict with strict durability: what it stored is then
// on disk. A connection that the browser or another tab closes is opened again
// by the next transaction.
//
// Values are stored by structured clone. Every error is an outbox.Error, most
// of them of outbox.CodeStorage.
package idbstore

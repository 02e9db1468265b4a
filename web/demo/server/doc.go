// Server is the demo's backend: todos in SQLite behind a small JSON API, and
// the demo's pages.
//
//	go run . -addr 127.0.0.1:8080 -db demo.sqlite -web DIR -faults
//
// It prints one line to stdout, "listening on http://127.0.0.1:PORT", once it
// can be reached; logs go to stderr. SIGTERM or an interrupt ends it. Port 0
// picks a free one.
//
// # Todos
//
// A todo is { "id", "title", "done", "note", "version" }. Bodies and answers
// are JSON; an error is { "error": "what is wrong; what to do" }.
//
//	GET    /api/todos            the live rows, ordered by id
//	GET    /api/changes?cursor=N { rows, deleted, cursor, more }: what changed
//	                             after N, in change order, 500 a page
//	POST   /api/todos            201 a new row, 200 if the id exists (an update)
//	PATCH  /api/todos/{id}       200, 404 if missing, 412 if If-Match is not the
//	                             version: { error, current }
//	DELETE /api/todos/{id}       204, also if missing; 412 as for PATCH
//	GET    /api/health           204
//
// An unknown field or an ill-typed one is 400; a blank title or one of more
// than 200 characters is 422. A field that is null counts as left out. A stored
// row is answered with its version as ETag: "VERSION". A row that is inserted
// after its delete is a new row, of version 1.
//
// # Idempotency
//
// POST, PATCH and DELETE take an Idempotency-Key. The first answer below 500 is
// remembered in the transaction that makes the change, and a repeat gets it
// again with Idempotency-Replayed: true. That holds for 404, 412 and 422 too: a
// request that was corrected needs a new key. The same key with another method,
// path or body is 422. If-Match is not part of the comparison.
//
// # Journal
//
// GET /api/requests lists every write to a todo that reached the server, in the
// order they were settled, and DELETE /api/requests clears that list only:
//
//	{ n, at, method, path, key, ifMatch, body, status, replayed, applied }
//
// "at" is the arrival in milliseconds since 1970; key and ifMatch are null if
// not sent, body is null if it was no JSON. "applied" says that this request
// changed the data: it is false for a replay, an error and the delete of a
// missing row. "status" is 0 for a request that was dropped, or given up while
// held; for apply-and-drop it is the status that was not sent.
//
// # Faults
//
// With -faults only:
//
//	POST   /api/faults       { method?, path?, mode, status?, times? } → 201
//	GET    /api/faults       the faults set, each with its hits and held
//	DELETE /api/faults       clears them and releases held requests
//	POST   /api/reset        empties tables and faults
//	PUT    /api/foreign/{id} { title?, done?, note? }: another user's change,
//	                         without journal; 201 if it made the row
//
// Faults match writes to todos and GET /api/changes: method whole, path as a
// part of the URL's path, first match in the order added, "times" times or
// until cleared. The modes are fail (answers status, default 503), drop (closes
// the connection), hold (waits until cleared) and apply-and-drop. Requests that
// are held when the server is reset end unanswered and leave no trace. With
// -faults each connection serves one request, since clients resend by
// themselves what is dropped on a connection used before. Change and journal
// numbers go on after a reset.
//
// # Pages
//
// -web DIR is served at / with a content security policy, exact types for wasm
// and modules, revalidation and no listings.
package main

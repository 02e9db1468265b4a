package jsbridge

import (
	"context"
	"time"

	"github.com/stdsync/outbox/outbox"
)

// startPull runs a Collection's read strategy until the Std Sync is disposed,
// unless it runs already.
func (s *std) startPull(collection string, every time.Duration) {
	if s.pulling[collection] {
		return
	}
	s.pulling[collection] = true
	const scope = "pull"
	go func() {
		_ = s.outbox.Pull(s.ctx, outbox.Pull{
			Collection: collection, Scope: scope, Every: every,
			Leadership: s.ports.Pull(collection, scope),
			Fetch: func(ctx context.Context, cursor outbox.Value) (outbox.Page, error) {
				return s.fetch(ctx, collection, cursor)
			},
		})
	}()
}

// newer returns how a Collection tells which of two rows is newer.
func (s *std) newer(collection string) func(incoming, stored outbox.Value) bool {
	return func(incoming, stored outbox.Value) bool {
		return s.hooks.Call("newer", collection, unwrap(incoming), unwrap(stored)).Truthy()
	}
}

// fetch has the host call the strategy's fetch, which answers { rows: [key,
// row][], deleted: key[], cursor?, more }.
func (s *std) fetch(ctx context.Context, collection string, cursor outbox.Value) (outbox.Page, error) {
	answer, err := s.flights.call(ctx, func(id int) { s.hooks.Call("fetch", id, collection, unwrap(cursor)) }, s.abort)
	if err != nil {
		return outbox.Page{}, err
	}
	page := outbox.Page{
		Rows: s.rows(collection, answer.Get("rows")), Cursor: optional(answer.Get("cursor")), More: answer.Get("more").Truthy(),
	}
	deleted := answer.Get("deleted")
	for i := range deleted.Length() {
		page.Deleted = append(page.Deleted, outbox.Key(deleted.Index(i).String()))
	}
	return page, nil
}

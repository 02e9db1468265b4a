package api

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"time"

	"github.com/stdsync/outbox/web/demo/server/todos"
)

const maxBody = 1 << 20 // bytes

// change answers a write to the todo named in the path ("" if none) inside the
// transaction.
type change func(tx *todos.Tx, id string, request todos.Request) (todos.Answer, error)

var reused = refused(http.StatusUnprocessableEntity,
	"this Idempotency-Key was used for a request with another method, path or body; use a new key for a new request")

// write handles a request that changes a todo.
func (s *Server) write(change change) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		request := todos.Request{
			At:      time.Now(),
			Method:  r.Method,
			Path:    r.URL.Path,
			Key:     r.Header.Get("Idempotency-Key"),
			IfMatch: r.Header.Get("If-Match"),
			Resets:  s.store.Resets(),
		}
		// The store is not to stop halfway because the client went away.
		ctx := context.WithoutCancel(r.Context())
		note := func(status int) { s.note(ctx, request, status) }

		// The body is read first: only then does net/http watch for the
		// client going away.
		var err error
		request.Body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			request.Body = nil
			note(http.StatusRequestEntityTooLarge)
			refuse(w, http.StatusRequestEntityTooLarge, "the body is larger than 1 MiB; send less")
			return
		}
		if err != nil {
			note(0)
			panic(http.ErrAbortHandler)
		}
		s.meet(w, r, note, func(w http.ResponseWriter) {
			answer, err := s.store.Do(ctx, request, func(tx *todos.Tx) (todos.Answer, error) {
				return change(tx, r.PathValue("id"), request)
			}, reused)
			switch {
			case errors.Is(err, todos.ErrReset):
				panic(http.ErrAbortHandler)
			case err != nil:
				note(http.StatusInternalServerError)
				broken(w, err)
			default:
				send(w, answer)
			}
		})
	}
}

// note journals a request that was not applied. A request from before a reset
// is forgotten.
func (s *Server) note(ctx context.Context, request todos.Request, status int) {
	if err := s.store.Note(ctx, request, status); err != nil && !errors.Is(err, todos.ErrReset) {
		log.Printf("journaling %s %s: %v", request.Method, request.Path, err)
	}
}

package todos

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Request is a write as it reached the server.
type Request struct {
	At      time.Time
	Method  string
	Path    string
	Key     string // of the Idempotency-Key header; "" is none
	IfMatch string // as sent; "" is none
	Body    []byte
	// Resets is [Store.Resets] when the request arrived.
	Resets int64
}

// Answer is what a request is answered with.
type Answer struct {
	Status int
	ETag   string // "" is none
	Body   []byte // JSON; empty is none
	// Replayed says that this is the remembered answer to an earlier request
	// with the same key.
	Replayed bool
}

// Do answers request in one transaction: with the answer remembered under its
// key, or else with what apply returns, which is then remembered if its status
// is below 500. A key that was used for another request is answered with reused.
// Either way the request is journaled. An error means that nothing was stored.
func (s *Store) Do(ctx context.Context, request Request, apply func(*Tx) (Answer, error), reused Answer) (Answer, error) {
	var answer Answer
	err := s.write(ctx, request.Resets, func(tx *Tx) error {
		earlier, same, err := tx.recall(request)
		switch {
		case err != nil:
			return err
		case earlier == nil:
			if answer, err = apply(tx); err != nil {
				return err
			}
			if err := tx.remember(request, answer); err != nil {
				return err
			}
		case same:
			answer = *earlier
		default:
			answer = reused
		}
		return tx.journal(request, answer.Status, answer.Replayed, tx.changed)
	})
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: %w", request.Method, request.Path, err)
	}
	return answer, nil
}

// recall returns the answer remembered under the request's key, if any, and
// whether it was the answer to this same request.
func (t *Tx) recall(request Request) (earlier *Answer, same bool, err error) {
	if request.Key == "" {
		return nil, false, nil
	}
	var method, path, hash, body string
	answer := Answer{Replayed: true}
	err = t.tx.QueryRowContext(t.ctx,
		"SELECT method, path, body_hash, status, etag, response FROM requests WHERE key = ?", request.Key).
		Scan(&method, &path, &hash, &answer.Status, &answer.ETag, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("looking up the key: %w", err)
	}
	answer.Body = []byte(body)
	return &answer, method == request.Method && path == request.Path && hash == request.bodyHash(), nil
}

func (t *Tx) remember(request Request, answer Answer) error {
	if request.Key == "" || answer.Status >= http.StatusInternalServerError {
		return nil
	}
	return t.exec("INSERT INTO requests (key, method, path, body_hash, status, etag, response) VALUES (?, ?, ?, ?, ?, ?, ?)",
		request.Key, request.Method, request.Path, request.bodyHash(), answer.Status, answer.ETag, string(answer.Body))
}

func (r Request) bodyHash() string {
	sum := sha256.Sum256(r.Body)
	return hex.EncodeToString(sum[:])
}

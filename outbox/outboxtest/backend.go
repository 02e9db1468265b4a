package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stdsync/outbox/outbox"
)

// Backend is a model server: it applies each idempotency key once, and notes
// every Request that reached it.
type Backend struct {
	mu      sync.Mutex
	table   Table
	applied map[string]bool
	sent    []Sent
	air     map[string][]context.Context
	doubled []string
	answer  func(Sent) Answer
}

// Sent is a Request as the Backend saw it.
type Sent struct {
	Key     string // the idempotency key
	Queue   string
	Text    string // Describe of the write
	Entries []string
	Attempt int
	// Applied is false for a repeat, and for what was refused.
	Applied bool
}

// Answer is how the Backend meets a Request.
type Answer int

// What a Backend may do.
const (
	Apply       Answer = iota // applies and answers
	Refuse                    // answers with an error
	RefuseLater               // answers with an error after a second
	Away                      // cannot be reached; nothing arrived
	LoseAck                   // applies, but the answer is lost
	Hang                      // applies, and does not answer until the flight is aborted
	HangAway                  // nothing arrives, and no answer until the flight is aborted
)

// ErrRefused is what a refused Request fails with.
var ErrRefused = errors.New("refused by the backend")

// Answer sets how Requests are met from now on; nil applies all.
func (b *Backend) Answer(f func(Sent) Answer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = f
}

// Fly is the Handler of every Collection and action of a World.
func (b *Backend) Fly(ctx context.Context, q outbox.Request) (outbox.Result, error) {
	answer := b.arrive(ctx, q)
	defer b.land(ctx, q.Queue)
	switch answer {
	case RefuseLater:
		time.Sleep(time.Second)
		return outbox.Result{}, ErrRefused
	case Refuse:
		return outbox.Result{}, ErrRefused
	case Away, LoseAck:
		return outbox.Result{}, outbox.Unreachable(errors.New("no answer"))
	case Hang, HangAway:
		<-ctx.Done()
		return outbox.Result{}, ctx.Err()
	}
	return outbox.Result{}, nil
}

func (b *Backend) arrive(ctx context.Context, q outbox.Request) Answer {
	b.mu.Lock()
	defer b.mu.Unlock()
	var entries []string
	for _, e := range q.Entries {
		entries = append(entries, e.ID)
	}
	sent := Sent{Key: q.ID, Queue: q.Queue, Text: Describe(q.Write), Entries: entries, Attempt: q.Attempt}
	answer := Apply
	if b.answer != nil {
		answer = b.answer(sent)
	}
	if b.air == nil {
		b.air, b.applied = map[string][]context.Context{}, map[string]bool{}
	}
	for _, other := range b.air[q.Queue] {
		if other.Err() == nil && ctx.Err() == nil {
			b.doubled = append(b.doubled, q.Queue)
		}
	}
	b.air[q.Queue] = append(b.air[q.Queue], ctx)
	if answer == Apply || answer == LoseAck || answer == Hang {
		if !b.applied[q.ID] {
			b.applied[q.ID] = true
			b.table.Apply(q.Queue, q.Write)
			sent.Applied = true
		}
	}
	b.sent = append(b.sent, sent)
	return answer
}

func (b *Backend) land(ctx context.Context, queue string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	air := b.air[queue]
	if i := slices.Index(air, ctx); i >= 0 {
		b.air[queue] = slices.Delete(air, i, i+1)
	}
}

// Doubled returns the Queues that ever had two Requests in the air at once,
// aborted ones aside.
func (b *Backend) Doubled() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.doubled)
}

// Sent returns every Request that reached the Backend, oldest first.
func (b *Backend) Sent() []Sent {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sent)
}

// Log returns the Requests as "queue: text" lines.
func (b *Backend) Log() []string {
	lines := []string{}
	for _, s := range b.Sent() {
		lines = append(lines, fmt.Sprintf("%s: %s", s.Queue, s.Text))
	}
	return lines
}

// Row returns the row of an Entity, or nil.
func (b *Backend) Row(queue string) Fields {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.table.Row(queue)
}

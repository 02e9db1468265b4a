package api_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const key = "Idempotency-Key"

func TestARepeatIsAnsweredAndNotApplied(t *testing.T) {
	for _, row := range []struct {
		name         string
		method, path string
		body         string
		status       int
	}{
		{"an insert", "POST", "/api/todos", `{"id":"b","title":"B"}`, 201},
		{"an update", "PATCH", "/api/todos/a", `{"done":true}`, 200},
		{"a delete", "DELETE", "/api/todos/a", ``, 204},
		{"a refusal", "PATCH", "/api/todos/a", `{"title":""}`, 422},
		{"a miss", "PATCH", "/api/todos/x", `{"title":"X"}`, 404},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			w.must(201, "POST", "/api/todos", `{"id":"a","title":"A"}`)
			first := w.must(row.status, row.method, row.path, row.body, key, "k")
			require.Empty(t, first.header.Get("Idempotency-Replayed"))
			w.must(201, "PUT", "/api/foreign/x", `{"title":"now there"}`)
			before, cursor := w.todos(), w.changes("").Cursor

			second := w.must(row.status, row.method, row.path, row.body, key, "k")
			require.Equal(t, "true", second.header.Get("Idempotency-Replayed"))
			require.Equal(t, first.body, second.body)
			require.Equal(t, first.header.Get("ETag"), second.header.Get("ETag"))
			require.Equal(t, first.header.Get("Content-Type"), second.header.Get("Content-Type"))
			require.Equal(t, before, w.todos())
			require.Equal(t, cursor, w.changes("").Cursor)

			journal := w.journal()
			require.Len(t, journal, 3)
			require.False(t, journal[1].Replayed)
			require.Equal(t, row.status < 400, journal[1].Applied)
			require.True(t, journal[2].Replayed)
			require.False(t, journal[2].Applied)
			require.Equal(t, row.status, journal[2].Status)
		})
	}
}

func TestAKeyIsForOneRequest(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/api/todos", `{"id":"a","title":"A"}`, key, "k")
	for _, row := range []struct{ name, method, path, body string }{
		{"another body", "POST", "/api/todos", `{"id":"a","title":"B"}`},
		{"another path", "PATCH", "/api/todos/a", `{"id":"a","title":"A"}`},
		{"another method", "DELETE", "/api/todos/a", ``},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := w.must(422, row.method, row.path, row.body, key, "k")
			require.Contains(t, got.body, "Idempotency-Key was used")
			require.JSONEq(t, `[{"id":"a","title":"A","done":false,"note":"","version":1}]`, w.todos())
		})
	}
	require.Equal(t, "true", w.must(201, "POST", "/api/todos", `{"id":"a","title":"A"}`, key, "k").header.Get("Idempotency-Replayed"))
}

func TestWithoutAKeyARepeatIsApplied(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/api/todos", `{"id":"a","title":"A"}`)
	w.must(200, "PATCH", "/api/todos/a", `{"done":true}`)
	require.Equal(t, `"3"`, w.must(200, "PATCH", "/api/todos/a", `{"done":true}`).header.Get("ETag"))
}

func TestSimultaneousSendsOfOneKeyApplyOnce(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/api/todos", `{"id":"a","title":"A"}`)
	const sends = 50
	answers := make([]answer, sends)
	errs := make([]error, sends)
	var all sync.WaitGroup
	for i := range sends {
		all.Go(func() {
			answers[i], errs[i] = w.try(t.Context(), "PATCH", "/api/todos/a", `{"done":true}`, key, "k")
		})
	}
	all.Wait()

	replays := 0
	for i := range sends {
		require.NoError(t, errs[i])
		require.Equal(t, 200, answers[i].status)
		require.JSONEq(t, `{"id":"a","title":"A","done":true,"note":"","version":2}`, answers[i].body)
		if answers[i].header.Get("Idempotency-Replayed") == "true" {
			replays++
		}
	}
	require.Equal(t, sends-1, replays)
	require.JSONEq(t, `[{"id":"a","title":"A","done":true,"note":"","version":2}]`, w.todos())
	applied := 0
	for _, entry := range w.journal()[1:] {
		if entry.Applied {
			applied++
		}
	}
	require.Equal(t, 1, applied)
}

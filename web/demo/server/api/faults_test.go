package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const newTodo = `{"id":"a","title":"A"}`

func TestFail(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/api/faults", `{"method":"POST","mode":"fail","times":1}`)
	w.must(201, "POST", "/api/faults", `{"path":"todos","mode":"fail","status":429,"times":1}`)
	require.JSONEq(t, `{"error":"fault"}`, w.must(503, "POST", "/api/todos", newTodo, key, "k").body)
	w.must(429, "POST", "/api/todos", newTodo, key, "k")
	require.JSONEq(t, `[]`, w.todos())
	got := w.must(201, "POST", "/api/todos", newTodo, key, "k")
	require.Empty(t, got.header.Get("Idempotency-Replayed"), "a fault is not remembered")

	journal := w.journal()
	require.Len(t, journal, 3)
	require.Equal(t, []int{503, 429, 201}, []int{journal[0].Status, journal[1].Status, journal[2].Status})
	require.Equal(t, []bool{false, false, true}, []bool{journal[0].Applied, journal[1].Applied, journal[2].Applied})
}

func TestDrop(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/api/faults", `{"mode":"drop"}`)
	_, err := w.try(t.Context(), "POST", "/api/todos", newTodo, key, "k")
	require.Error(t, err)
	require.JSONEq(t, `[]`, w.todos())
	require.Equal(t, 0, w.journal()[0].Status)
	require.False(t, w.journal()[0].Applied)

	w.must(204, "DELETE", "/api/faults", "")
	w.must(201, "POST", "/api/todos", newTodo, key, "k")
}

func TestApplyAndDrop(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/api/faults", `{"mode":"apply-and-drop","times":1}`)
	_, err := w.try(t.Context(), "POST", "/api/todos", newTodo, key, "k")
	require.Error(t, err)
	require.Equal(t, 201, w.journal()[0].Status)
	require.True(t, w.journal()[0].Applied)

	got := w.must(201, "POST", "/api/todos", newTodo, key, "k")
	require.Equal(t, "true", got.header.Get("Idempotency-Replayed"))
	require.JSONEq(t, `[{"id":"a","title":"A","done":false,"note":"","version":1}]`, w.todos())
}

// background sends newTodo and returns where its answer's status will be, 0 for
// none.
func (w *world) background(ctx context.Context) <-chan int {
	status := make(chan int, 1)
	go func() {
		got, _ := w.try(ctx, "POST", "/api/todos", newTodo, key, "k")
		status <- got.status
	}()
	return status
}

func TestHoldUntilCleared(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/api/faults", `{"mode":"hold"}`)
	status := w.background(t.Context())
	w.waitHeld()
	require.JSONEq(t, `[]`, w.todos())
	require.Empty(t, w.journal())

	w.must(204, "DELETE", "/api/faults", "")
	require.Equal(t, 201, <-status)
	require.True(t, w.journal()[0].Applied)
}

func TestHoldUntilTheClientGoesAway(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/api/faults", `{"mode":"hold"}`)
	ctx, leave := context.WithCancel(t.Context())
	status := w.background(ctx)
	w.waitHeld()
	leave()
	require.Equal(t, 0, <-status)
	require.Eventually(t, func() bool { return len(w.journal()) == 1 }, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, 0, w.journal()[0].Status)
	require.False(t, w.journal()[0].Applied)
	w.must(204, "DELETE", "/api/faults", "")
	require.JSONEq(t, `[]`, w.todos())
}

func TestResetEndsHeldRequestsWithoutATrace(t *testing.T) {
	w := newWorld(t)
	w.must(201, "PUT", "/api/foreign/b", `{"title":"B"}`)
	w.must(201, "POST", "/api/faults", `{"mode":"hold"}`)
	status := w.background(t.Context())
	w.waitHeld()

	w.must(204, "POST", "/api/reset", "")
	require.Equal(t, 0, <-status)
	require.JSONEq(t, `[]`, w.todos())
	require.JSONEq(t, `[]`, w.must(200, "GET", "/api/requests", "").body)
	require.JSONEq(t, `[]`, w.must(200, "GET", "/api/faults", "").body)
	got := w.must(201, "POST", "/api/todos", newTodo, key, "k")
	require.Empty(t, got.header.Get("Idempotency-Replayed"))
	require.EqualValues(t, 2, w.changes("1").Cursor, "change numbers go on")
}

func TestFaultsMatchReadingChangesToo(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/api/faults", `{"method":"GET","path":"/api/changes","mode":"fail","status":500,"times":1}`)
	w.must(201, "POST", "/api/faults", `{"path":"changes","mode":"drop","times":1}`)
	w.must(201, "POST", "/api/todos", newTodo)
	w.must(500, "GET", "/api/changes?cursor=0", "")
	_, err := w.try(t.Context(), "GET", "/api/changes", "")
	require.Error(t, err)
	require.Len(t, w.changes("0").Rows, 1)
	require.Len(t, w.journal(), 1)
}

func TestAFaultThatCannotBeIsRefused(t *testing.T) {
	w := newWorld(t)
	require.Contains(t, w.must(400, "POST", "/api/faults", `{"mode":"slow"}`).body, "mode must be")
	require.Contains(t, w.must(400, "POST", "/api/faults", `{"mode":"drop","after":1}`).body, `unknown field \"after\"`)
	require.JSONEq(t, `[]`, w.must(200, "GET", "/api/faults", "").body)
}

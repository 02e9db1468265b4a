package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheJournalListsEveryWrite(t *testing.T) {
	w := newWorld(t)
	from := time.Now().UnixMilli()
	w.must(201, "POST", "/api/todos", `{"id":"a","title":"A"}`, key, "k")
	w.must(412, "PATCH", "/api/todos/a", `{"done":true}`, "If-Match", `"5"`)
	w.must(400, "PATCH", "/api/todos/a", `{"done"`)
	w.must(204, "DELETE", "/api/todos/x", "")
	w.must(200, "GET", "/api/changes", "")

	journal := w.journal()
	require.Len(t, journal, 4)
	for i := range journal {
		require.EqualValues(t, i+1, journal[i].N)
		require.GreaterOrEqual(t, journal[i].At, from)
		require.LessOrEqual(t, journal[i].At, time.Now().UnixMilli())
	}
	insert, conflict, cut, miss := journal[0], journal[1], journal[2], journal[3]
	require.Equal(t, "POST", insert.Method)
	require.Equal(t, "/api/todos", insert.Path)
	require.Equal(t, "k", *insert.Key)
	require.Nil(t, insert.IfMatch)
	require.JSONEq(t, `{"id":"a","title":"A"}`, string(insert.Body))
	require.Equal(t, 201, insert.Status)
	require.True(t, insert.Applied)

	require.Equal(t, `"5"`, *conflict.IfMatch)
	require.Nil(t, conflict.Key)
	require.Equal(t, 412, conflict.Status)
	require.False(t, conflict.Applied)

	require.Equal(t, 400, cut.Status)
	require.Equal(t, "null", string(cut.Body))

	require.Equal(t, 204, miss.Status)
	require.False(t, miss.Applied, "nothing was there to delete")
}

func TestClearingTheJournalForgetsNothingElse(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/api/todos", `{"id":"a","title":"A"}`, key, "k")
	w.must(204, "DELETE", "/api/requests", "")
	require.JSONEq(t, `[]`, w.must(200, "GET", "/api/requests", "").body)
	again := w.must(201, "POST", "/api/todos", `{"id":"a","title":"A"}`, key, "k")
	require.Equal(t, "true", again.header.Get("Idempotency-Replayed"))
	require.Len(t, w.journal(), 1)
}

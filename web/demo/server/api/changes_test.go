package api_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/web/demo/server/todos"
)

func TestChangesTellWhatIsNewSinceTheCursor(t *testing.T) {
	w := newWorld(t)
	require.JSONEq(t, `{"rows":[],"deleted":[],"cursor":0,"more":false}`, w.must(200, "GET", "/api/changes", "").body)
	for _, id := range []string{"a", "b", "c"} {
		w.must(201, "POST", "/api/todos", `{"id":"`+id+`","title":"T"}`)
	}
	first := w.changes("0")
	require.Equal(t, []string{"a", "b", "c"}, ids(first))
	require.EqualValues(t, 3, first.Cursor)

	w.must(204, "DELETE", "/api/todos/b", "")
	w.must(200, "PATCH", "/api/todos/a", `{"done":true}`)
	since := w.changes("3")
	require.Equal(t, []string{"a"}, ids(since))
	require.Equal(t, []string{"b"}, since.Deleted)
	require.EqualValues(t, 5, since.Cursor)

	require.Equal(t, []string{"c", "a"}, ids(w.changes("")), "in the order of their last change")
	require.Equal(t, todos.Changes{Rows: []todos.Row{}, Deleted: []string{}, Cursor: 5}, w.changes("5"))

	w.must(204, "DELETE", "/api/todos/b", "")
	require.EqualValues(t, 5, w.changes("5").Cursor, "a delete of a missing row is no change")
	w.must(201, "POST", "/api/todos", `{"id":"b","title":"again"}`)
	again := w.changes("5")
	require.Equal(t, []string{"b"}, ids(again))
	require.Empty(t, again.Deleted)
}

func TestChangesComeInPages(t *testing.T) {
	w := newWorld(t)
	for i := range todos.PageSize + 1 {
		w.must(201, "PUT", fmt.Sprintf("/api/foreign/%04d", i), `{"title":"T"}`)
	}
	first := w.changes("")
	require.Len(t, first.Rows, todos.PageSize)
	require.True(t, first.More)
	rest := w.changes(strconv.FormatInt(first.Cursor, 10))
	require.Equal(t, []string{"0500"}, ids(rest))
	require.False(t, rest.More)

	w.must(204, "DELETE", "/api/todos/0000", "")
	full := w.changes("1")
	require.Len(t, full.Rows, todos.PageSize)
	require.True(t, full.More, "the tombstone is on the next page")
	w.must(204, "DELETE", "/api/todos/0001", "")
	full = w.changes(strconv.FormatInt(full.Cursor-1, 10))
	require.False(t, full.More)
	require.Equal(t, []string{"0000", "0001"}, full.Deleted)
}

func TestACursorThatIsNoNumberIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, cursor := range []string{"x", "-1", "1.5"} {
		require.Contains(t, w.must(400, "GET", "/api/changes?cursor="+cursor, "").body, "cursor must be")
	}
}

func ids(page todos.Changes) []string {
	var all []string
	for _, row := range page.Rows {
		all = append(all, row.ID)
	}
	return all
}

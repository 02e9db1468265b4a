package api_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrites(t *testing.T) {
	const a = `{"id":"a","title":"A","done":false,"note":"n","version":1}`
	long := strings.Repeat("é", 200)
	for _, row := range []struct {
		name         string
		method, path string
		body         string
		ifMatch      string
		status       int
		want         string // the answer, or a part of it if it is an error
		etag         string
	}{
		{"a new row is version 1", "POST", "/api/todos", `{"id":"b","title":"B","version":7}`, "", 201, `{"id":"b","title":"B","done":false,"note":"","version":1}`, `"1"`},
		{"a row that exists is updated by an insert", "POST", "/api/todos", `{"id":"a","done":true}`, "", 200, `{"id":"a","title":"A","done":true,"note":"n","version":2}`, `"2"`},
		{"an insert names the field it does not know", "POST", "/api/todos", `{"id":"b","title":"B","colour":"red"}`, "", 400, `unknown field \"colour\"`, ""},
		{"an insert needs an id", "POST", "/api/todos", `{"title":"B"}`, "", 400, "id must not be blank", ""},
		{"an insert names the field of the wrong type", "POST", "/api/todos", `{"id":"b","title":5}`, "", 400, `field \"title\" must be a string, not a number`, ""},
		{"an insert needs a title", "POST", "/api/todos", `{"id":"b"}`, "", 422, "title must not be blank", ""},
		{"a title of 200 characters is stored", "POST", "/api/todos", `{"id":"b","title":"` + long + `"}`, "", 201, `{"id":"b","title":"` + long + `","done":false,"note":"","version":1}`, `"1"`},
		{"a title of 201 characters is refused", "POST", "/api/todos", `{"id":"b","title":"` + long + `e"}`, "", 422, "title must be at most 200", ""},
		{"a body that is no object is refused", "POST", "/api/todos", `[]`, "", 400, "must be a JSON object", ""},
		{"a body that is cut short is refused", "POST", "/api/todos", `{"id":`, "", 400, "must be a JSON object", ""},
		{"a body of two objects is refused", "POST", "/api/todos", `{"id":"b","title":"B"}{}`, "", 400, "nothing after it", ""},
		{"a body that is too large is refused", "POST", "/api/todos", `{"note":"` + strings.Repeat("x", 1<<20) + `"}`, "", 413, "larger than 1 MiB", ""},
		{"an update changes what it names", "PATCH", "/api/todos/a", `{"note":"m"}`, "", 200, `{"id":"a","title":"A","done":false,"note":"m","version":2}`, `"2"`},
		{"an update of the version it knows is applied", "PATCH", "/api/todos/a", `{"done":true}`, `"1"`, 200, `{"id":"a","title":"A","done":true,"note":"n","version":2}`, `"2"`},
		{"an update of another version is refused with the current row", "PATCH", "/api/todos/a", `{"done":true}`, `"9"`, 412, `"current":` + a, ""},
		{"an update of a missing row is not found", "PATCH", "/api/todos/x", `{"done":true}`, `"1"`, 404, "no such todo", ""},
		{"an update to a blank title is refused", "PATCH", "/api/todos/a", `{"title":" \t"}`, "", 422, "title must not be blank", ""},
		{"an update names the field it does not know", "PATCH", "/api/todos/a", `{"id":"b"}`, "", 400, `unknown field \"id\"`, ""},
		{"a delete has no body", "DELETE", "/api/todos/a", "", "", 204, "", ""},
		{"a delete of the version it knows is applied", "DELETE", "/api/todos/a", "", `"1"`, 204, "", ""},
		{"a delete of another version is refused with the current row", "DELETE", "/api/todos/a", "", `"2"`, 412, `"current":` + a, ""},
		{"a delete of a missing row is as good as done", "DELETE", "/api/todos/x", "", `"1"`, 204, "", ""},
		{"an unknown endpoint says so", "PUT", "/api/todos/a", "{}", "", 404, "there is no PUT /api/todos/a", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			w.must(201, "POST", "/api/todos", `{"id":"a","title":"A","note":"n"}`)
			got := w.send(row.method, row.path, row.body, "If-Match", row.ifMatch)
			require.Equal(t, row.status, got.status, got.body)
			require.Equal(t, row.etag, got.header.Get("ETag"))
			switch {
			case got.status >= 400:
				require.Contains(t, got.body, `{"error":"`)
				require.Contains(t, got.body, row.want)
				require.JSONEq(t, "["+a+"]", w.todos(), "nothing is changed")
			case row.want == "":
				require.Empty(t, got.body)
			default:
				require.JSONEq(t, row.want, got.body)
				require.Equal(t, "application/json", got.header.Get("Content-Type"))
			}
		})
	}
}

func TestARowInsertedAfterItsDeleteIsNew(t *testing.T) {
	w := newWorld(t)
	w.must(201, "POST", "/api/todos", `{"id":"a","title":"A","note":"old"}`)
	w.must(204, "DELETE", "/api/todos/a", "")
	require.JSONEq(t, `[]`, w.todos())
	got := w.must(201, "POST", "/api/todos", `{"id":"a","title":"B"}`)
	require.JSONEq(t, `{"id":"a","title":"B","done":false,"note":"","version":1}`, got.body)
}

func TestAnotherUserChangesRowsWithoutATrace(t *testing.T) {
	w := newWorld(t)
	w.must(201, "PUT", "/api/foreign/a", `{"title":"A"}`)
	got := w.must(200, "PUT", "/api/foreign/a", `{"done":true}`)
	require.JSONEq(t, `{"id":"a","title":"A","done":true,"note":"","version":2}`, got.body)
	w.must(422, "PUT", "/api/foreign/a", `{"title":""}`)
	require.Empty(t, w.journal())
	require.Len(t, w.changes("").Rows, 1)
}

func TestWithoutFaultsTheirEndpointsAreNotThere(t *testing.T) {
	w := open(t, false)
	w.must(204, "GET", "/api/health", "")
	w.must(404, "POST", "/api/faults", `{"mode":"drop"}`)
	w.must(404, "DELETE", "/api/faults", "")
	w.must(404, "POST", "/api/reset", "")
	w.must(404, "PUT", "/api/foreign/a", `{"title":"A"}`)
	w.must(201, "POST", "/api/todos", `{"id":"a","title":"A"}`)
}

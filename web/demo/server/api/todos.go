package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/stdsync/outbox/web/demo/server/todos"
)

func insert(tx *todos.Tx, _ string, request todos.Request) (todos.Answer, error) {
	var body struct {
		ID      string          `json:"id"`
		Title   *string         `json:"title"`
		Done    *bool           `json:"done"`
		Note    *string         `json:"note"`
		Version json.RawMessage `json:"version"` // ignored
	}
	if err := decode(request.Body, &body); err != nil {
		return refused(http.StatusBadRequest, err.Error()), nil
	}
	if strings.TrimSpace(body.ID) == "" {
		return refused(http.StatusBadRequest, "id must not be blank; make one up, such as a UUID"), nil
	}
	return put(tx, body.ID, todos.Fields{Title: body.Title, Done: body.Done, Note: body.Note})
}

// put stores fields in the row with this id, which is made if missing.
func put(tx *todos.Tx, id string, fields todos.Fields) (todos.Answer, error) {
	row, exists, err := tx.Get(id)
	if err != nil {
		return todos.Answer{}, err
	}
	status := http.StatusOK
	if !exists {
		status, row = http.StatusCreated, todos.Row{ID: id}
	}
	return save(tx, status, fields.On(row))
}

func save(tx *todos.Tx, status int, row todos.Row) (todos.Answer, error) {
	if err := row.Validate(); err != nil {
		return refused(http.StatusUnprocessableEntity, err.Error()), nil
	}
	row, err := tx.Put(row)
	if err != nil {
		return todos.Answer{}, err
	}
	return stored(status, row), nil
}

func update(tx *todos.Tx, id string, request todos.Request) (todos.Answer, error) {
	var fields todos.Fields
	if err := decode(request.Body, &fields); err != nil {
		return refused(http.StatusBadRequest, err.Error()), nil
	}
	row, exists, err := tx.Get(id)
	if err != nil {
		return todos.Answer{}, err
	}
	if !exists {
		return refused(http.StatusNotFound, "there is no such todo; it was deleted or never stored, insert it with POST /api/todos"), nil
	}
	if conflict, ok := unmatched(request.IfMatch, row); ok {
		return conflict, nil
	}
	return save(tx, http.StatusOK, fields.On(row))
}

func remove(tx *todos.Tx, id string, request todos.Request) (todos.Answer, error) {
	row, exists, err := tx.Get(id)
	if err != nil {
		return todos.Answer{}, err
	}
	if exists {
		if conflict, ok := unmatched(request.IfMatch, row); ok {
			return conflict, nil
		}
		if err := tx.Delete(id); err != nil {
			return todos.Answer{}, err
		}
	}
	return todos.Answer{Status: http.StatusNoContent}, nil
}

// unmatched returns the answer to a request whose If-Match is not row's
// version, and whether that is so.
func unmatched(ifMatch string, row todos.Row) (todos.Answer, bool) {
	if ifMatch == "" || ifMatch == "*" || ifMatch == etag(row) {
		return todos.Answer{}, false
	}
	return answered(http.StatusPreconditionFailed, problem{
		Error:   "If-Match is " + ifMatch + " but the todo's version is " + etag(row) + "; look at current, then send the change again with that version",
		Current: &row,
	}), true
}

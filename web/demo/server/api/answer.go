package api

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"

	"github.com/stdsync/outbox/web/demo/server/todos"
)

type problem struct {
	Error   string     `json:"error"`
	Current *todos.Row `json:"current,omitempty"`
}

// answered returns the answer of this status whose body is value in JSON.
func answered(status int, value any) todos.Answer {
	body, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encoding an answer: %v", err)) // only our own types come here
	}
	return todos.Answer{Status: status, Body: body}
}

func refused(status int, why string) todos.Answer {
	return answered(status, problem{Error: why})
}

func stored(status int, row todos.Row) todos.Answer {
	answer := answered(status, row)
	answer.ETag = etag(row)
	return answer
}

func etag(row todos.Row) string { return fmt.Sprintf(`"%d"`, row.Version) }

// send writes answer. What fails now is the connection, which nobody can be
// told about.
func send(w http.ResponseWriter, answer todos.Answer) {
	if answer.ETag != "" {
		w.Header().Set("ETag", answer.ETag)
	}
	if answer.Replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	if len(answer.Body) > 0 {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Body)
}

func refuse(w http.ResponseWriter, status int, why string) { send(w, refused(status, why)) }

// show answers with value, or with 500 if reading it failed.
func show(w http.ResponseWriter, value any, err error) {
	if err != nil {
		broken(w, err)
		return
	}
	send(w, answered(http.StatusOK, value))
}

// done answers with 204, or with 500 if err.
func done(w http.ResponseWriter, err error) {
	if err != nil {
		broken(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func broken(w http.ResponseWriter, err error) {
	log.Print(err)
	refuse(w, http.StatusInternalServerError, "the server failed; its log says why, send the request again")
}

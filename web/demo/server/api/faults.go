package api

import (
	"io"
	"net/http"

	"github.com/stdsync/outbox/web/demo/server/faults"
	"github.com/stdsync/outbox/web/demo/server/todos"
)

// meet plays the fault that r meets, if any, and calls handle if the request is
// to be handled. If it is not, note is told the status it is answered with, or
// 0 for none.
func (s *Server) meet(w http.ResponseWriter, r *http.Request, note func(status int), handle func(http.ResponseWriter)) {
	if s.faults == nil {
		handle(w)
		return
	}
	fault, err := s.faults.Meet(r.Context(), r.Method, r.URL.Path)
	switch {
	case err != nil, fault.Mode == faults.Drop:
		note(0)
		panic(http.ErrAbortHandler)
	case fault.Mode == faults.Fail:
		note(fault.Status)
		refuse(w, fault.Status, "fault")
	case fault.Mode == faults.ApplyAndDrop:
		handle(discard{})
		panic(http.ErrAbortHandler)
	default:
		handle(w)
	}
}

// discard is a response that nobody gets.
type discard struct{}

func (discard) Header() http.Header            { return http.Header{} }
func (discard) Write(body []byte) (int, error) { return len(body), nil }
func (discard) WriteHeader(int)                {}

func (s *Server) listFaults(w http.ResponseWriter, _ *http.Request) {
	show(w, s.faults.All(), nil)
}

func (s *Server) addFault(w http.ResponseWriter, r *http.Request) {
	var fault faults.Fault
	if !read(w, r, &fault) {
		return
	}
	fault, err := s.faults.Add(fault)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	send(w, answered(http.StatusCreated, fault))
}

func (s *Server) clearFaults(w http.ResponseWriter, _ *http.Request) {
	s.faults.Clear()
	w.WriteHeader(http.StatusNoContent)
}

// reset empties the store before it lets held requests go, so that these find
// they are from before and end unanswered.
func (s *Server) reset(w http.ResponseWriter, r *http.Request) {
	err := s.store.Reset(r.Context())
	s.faults.Clear()
	done(w, err)
}

func (s *Server) foreign(w http.ResponseWriter, r *http.Request) {
	var fields todos.Fields
	if !read(w, r, &fields) {
		return
	}
	var answer todos.Answer
	err := s.store.Write(r.Context(), func(tx *todos.Tx) (err error) {
		answer, err = put(tx, r.PathValue("id"), fields)
		return err
	})
	if err != nil {
		broken(w, err)
		return
	}
	send(w, answer)
}

// read decodes r's body into target, or answers with 400 and returns false.
func read(w http.ResponseWriter, r *http.Request, target any) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		err = decode(body, target)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return false
	}
	return true
}

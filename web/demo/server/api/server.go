package api

import (
	"net/http"

	"github.com/stdsync/outbox/web/demo/server/faults"
	"github.com/stdsync/outbox/web/demo/server/todos"
)

// Server answers everything under /api/.
type Server struct {
	store  *todos.Store
	faults *faults.List // nil without faults
	mux    *http.ServeMux
}

// New returns a server for store. With withFaults it can be told to fail, to
// reset and to change rows as another user.
func New(store *todos.Store, withFaults bool) *Server {
	s := &Server{store: store, mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /api/health", health)
	s.mux.HandleFunc("GET /api/todos", s.all)
	s.mux.HandleFunc("GET /api/changes", s.changes)
	s.mux.HandleFunc("POST /api/todos", s.write(insert))
	s.mux.HandleFunc("PATCH /api/todos/{id}", s.write(update))
	s.mux.HandleFunc("DELETE /api/todos/{id}", s.write(remove))
	s.mux.HandleFunc("GET /api/requests", s.journal)
	s.mux.HandleFunc("DELETE /api/requests", s.clearJournal)
	s.mux.HandleFunc("/api/", unknown)
	if withFaults {
		s.faults = &faults.List{}
		s.mux.HandleFunc("GET /api/faults", s.listFaults)
		s.mux.HandleFunc("POST /api/faults", s.addFault)
		s.mux.HandleFunc("DELETE /api/faults", s.clearFaults)
		s.mux.HandleFunc("POST /api/reset", s.reset)
		s.mux.HandleFunc("PUT /api/foreign/{id}", s.foreign)
	}
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	s.mux.ServeHTTP(w, r)
}

func health(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }

func unknown(w http.ResponseWriter, r *http.Request) {
	refuse(w, http.StatusNotFound, "there is no "+r.Method+" "+r.URL.Path+
		"; see the server's doc.go for what there is (faults, reset and foreign need -faults)")
}

package api

import (
	"net/http"
	"strconv"
)

func (s *Server) all(w http.ResponseWriter, r *http.Request) {
	rows, err := s.store.All(r.Context())
	show(w, rows, err)
}

func (s *Server) changes(w http.ResponseWriter, r *http.Request) {
	s.meet(w, r, func(int) {}, func(w http.ResponseWriter) {
		var cursor int64
		if text := r.URL.Query().Get("cursor"); text != "" {
			var err error
			if cursor, err = strconv.ParseInt(text, 10, 64); err != nil || cursor < 0 {
				refuse(w, http.StatusBadRequest, "cursor must be a whole number from 0; give the cursor of the last answer, or none to start")
				return
			}
		}
		page, err := s.store.Changes(r.Context(), cursor)
		show(w, page, err)
	})
}

func (s *Server) journal(w http.ResponseWriter, r *http.Request) {
	entries, err := s.store.Journal(r.Context())
	show(w, entries, err)
}

func (s *Server) clearJournal(w http.ResponseWriter, r *http.Request) {
	done(w, s.store.ClearJournal(r.Context()))
}

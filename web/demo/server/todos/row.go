package todos

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// MaxTitle is the greatest length of a title, in characters.
const MaxTitle = 200

// Row is a todo as stored and sent.
type Row struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Done  bool   `json:"done"`
	Note  string `json:"note"`
	// Version is 1 for a new row and grows by one with each update.
	Version int64 `json:"version"`
}

// Fields are the values a write gives; nil leaves a field as it is.
type Fields struct {
	Title *string `json:"title"`
	Done  *bool   `json:"done"`
	Note  *string `json:"note"`
}

// On returns row with the given fields replaced.
func (f Fields) On(row Row) Row {
	if f.Title != nil {
		row.Title = *f.Title
	}
	if f.Done != nil {
		row.Done = *f.Done
	}
	if f.Note != nil {
		row.Note = *f.Note
	}
	return row
}

// Validate returns an error that says what is wrong with the row's title, or
// nil. The title is stored as given: it is trimmed only for this check.
func (r Row) Validate() error {
	if strings.TrimSpace(r.Title) == "" {
		return errors.New("title must not be blank; give it at least one visible character")
	}
	if utf8.RuneCountInString(r.Title) > MaxTitle {
		return errors.New("title must be at most 200 characters; shorten it")
	}
	return nil
}

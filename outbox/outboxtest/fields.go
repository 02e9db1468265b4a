package outboxtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stdsync/outbox/outbox"
)

// Fields is a native outbox.Value: a row of string fields.
type Fields map[string]string

// Spread returns the fields with those of changes laid over them.
func (f Fields) Spread(changes outbox.Value) outbox.Value {
	out := maps.Clone(f)
	maps.Copy(out, changes.(Fields))
	return out
}

// Covers reports whether f has every field of other.
func (f Fields) Covers(other outbox.Value) bool {
	for name := range other.(Fields) {
		if _, ok := f[name]; !ok {
			return false
		}
	}
	return true
}

// String returns the fields as "{a:1 b:2}", in the order of their names.
func (f Fields) String() string {
	parts := make([]string, 0, len(f))
	for _, name := range slices.Sorted(maps.Keys(f)) {
		parts = append(parts, name+":"+f[name])
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// ParseFields is the inverse of String, without the braces. The empty string is
// no Value.
func ParseFields(s string) outbox.Value {
	if s == "" {
		return nil
	}
	f := Fields{}
	for part := range strings.FieldsSeq(s) {
		name, value, _ := strings.Cut(part, ":")
		f[name] = value
	}
	return f
}

// Describe returns a Write as the fold table of testdata has it: the op, an
// update's or delete's base in parentheses, and what is written.
func Describe(w outbox.Write) string {
	if w.Op == "" {
		return "nothing"
	}
	out := string(w.Op)
	if w.Base != nil {
		out += fmt.Sprintf(" (%v)", w.Base)
	}
	if w.Changes != nil {
		out += fmt.Sprintf(" %v", w.Changes)
	}
	if w.Payload != nil {
		out += fmt.Sprintf(" %v", w.Payload)
	}
	return out
}

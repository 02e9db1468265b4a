package outboxtest

import (
	"strings"

	"github.com/stdsync/outbox/outbox"
)

// ParseEntry reads an Entry as testdata writes one: "update b:2 < a:1 b:1", the
// op, what is written, and the base. A delete's fields are its base.
func ParseEntry(s string) outbox.Entry {
	op, rest, _ := strings.Cut(s, " ")
	written, base, _ := strings.Cut(rest, " < ")
	e := outbox.Entry{Op: outbox.Op(op)}
	switch e.Op {
	case outbox.OpDelete:
		e.Base = ParseFields(written)
	case outbox.OpAction:
		e.Payload = ParseFields(written)
	default:
		e.Changes, e.Base = ParseFields(written), ParseFields(base)
	}
	return e
}

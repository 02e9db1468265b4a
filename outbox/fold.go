package outbox

// Write is what a fold comes to: one request to the Backend. The zero Write is
// no request at all.
type Write struct {
	// Op is what to do, or "" for nothing.
	Op Op
	// Base is the first Entry's, or nil for an insert.
	Base Value
	// Changes are an update's changed fields, or an insert's whole row.
	Changes Value
	// Payload is an action's argument.
	Payload Value
}

// Fold turns the Entries of one Queue, oldest first, into one Write, and
// returns those it could not fold into it. Sending the Write and then folding
// the rest equals sending every Entry alone to a Backend where the last write
// wins, an insert of an existing row updates it, and a delete of a missing one
// succeeds; an insert that comes first is taken to be of a new row. An action is
// never folded.
func Fold(entries []Entry) (Write, []Entry) {
	if len(entries) == 0 {
		return Write{}, nil
	}
	if first := entries[0]; first.Op == OpAction {
		return Write{Op: OpAction, Payload: first.Payload}, entries[1:]
	}
	var so Write
	for i, next := range entries {
		folded, ok := fold(so, next)
		if !ok {
			return so, entries[i:]
		}
		so = folded
	}
	return so, nil
}

// fold is one row of the fold table. It returns false where no single request
// does the work of both.
func fold(so Write, next Entry) (Write, bool) {
	switch so.Op {
	case "":
		return Write{Op: next.Op, Base: next.Base, Changes: next.Changes}, next.Op != OpAction
	case OpInsert:
		switch next.Op {
		case OpInsert, OpUpdate:
			return Write{Op: OpInsert, Changes: spread(so.Changes, next.Changes)}, true
		case OpDelete:
			return Write{}, true
		}
	case OpUpdate:
		switch next.Op {
		case OpInsert, OpUpdate:
			return Write{Op: OpUpdate, Base: so.Base, Changes: spread(so.Changes, next.Changes)}, true
		case OpDelete:
			return Write{Op: OpDelete, Base: so.Base}, true
		}
	case OpDelete:
		switch next.Op {
		case OpInsert:
			return Write{Op: OpUpdate, Base: so.Base, Changes: next.Changes}, covers(next.Changes, so.Base)
		case OpDelete:
			return Write{Op: OpDelete, Base: so.Base}, true
		}
	}
	return so, false
}

// covers reports whether writing value over old leaves nothing of old behind.
func covers(value, old Value) bool {
	return old == nil || value != nil && value.Covers(old)
}

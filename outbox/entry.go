package outbox

import (
	"sort"
	"time"
)

// Op is what an Entry does.
type Op string

// The three writes of an Entity, and the call of an Offline Action.
const (
	OpInsert Op = "insert"
	OpUpdate Op = "update"
	OpDelete Op = "delete"
	OpAction Op = "action"
)

// EntryStatus says where an Entry stands.
type EntryStatus string

// An Entry waits, is claimed for a Request, or was refused by the Backend.
const (
	Pending   EntryStatus = "pending"
	InRequest EntryStatus = "in-request"
	Failed    EntryStatus = "failed"
)

// Entry is one stored write: an entity write or an action call.
type Entry struct {
	// ID is unique over all tabs and all time.
	ID string
	// Sync names the Std Sync the Entry belongs to.
	Sync string
	// Queue is the unit of order; see QueueOf and ActionQueue.
	Queue string
	// Name is the Handler's.
	Name   string
	Status EntryStatus
	// Seq is the only order: it grows with every Entry stored in this Std Sync.
	Seq int64
	// EnqueuedAt is for people; clocks repeat and jump.
	EnqueuedAt time.Time
	// Transaction is the TanStack transaction the write was made in.
	Transaction string

	Op  Op
	Key Key
	// Base is the row as the user saw it when the edit was made, never refreshed.
	Base Value
	// Changes are the changed fields of an update, or an insert's whole row.
	Changes Value
	// Payload is an action's argument.
	Payload Value

	// After holds the ids of Entries that must leave the Store by delivery
	// before this one may be claimed.
	After []string
	// DependsOn is the Entry whose failure failed this one, unflown.
	DependsOn string
	// Claim is set exactly while the Status is InRequest.
	Claim *Claim
	// RequestID is the idempotency key of the Request that carried this Entry,
	// once one may have been flown.
	RequestID string
	// Attempt counts flights.
	Attempt int
	// Error is why the Entry is failed, or why its last flight did not arrive.
	Error *Failure

	// Record is the Store's own form of the Entry as it was read, by which it may
	// be written back faster. Whoever changes anything but the Status and what
	// follows After must clear it.
	Record any
}

// Fault says why an Entry that was read can never be sent, or "". Somebody else may
// have written or changed it.
func (e Entry) Fault() string {
	_, entity := CollectionOf(e.Name)
	switch {
	case e.Queue == "" || HandlerOf(e.Queue) != e.Name:
		return "its queue and its name do not fit together"
	case e.Transaction == "":
		return "it has no transaction"
	case e.Op != OpInsert && e.Op != OpUpdate && e.Op != OpDelete && e.Op != OpAction:
		return "its op is none that there is"
	case entity != (e.Op != OpAction):
		return "its op and its name do not fit together"
	case e.Changes == nil && (e.Op == OpInsert || e.Op == OpUpdate):
		return "it has no changes"
	}
	return ""
}

// Claim is the durable mark that an Entry is in a Request.
type Claim struct {
	Epoch int64
	At    time.Time
}

// Failure is an error as it is stored.
type Failure struct {
	Name    string
	Message string
	Code    string
}

// Draft is a write to be stored.
type Draft struct {
	// ID becomes the Entry's.
	ID string
	// Transaction groups Drafts: those that share one are stored together or
	// not at all, even when a single one of them cannot be stored.
	Transaction string
	Name        string
	Queue       string
	Op          Op
	Base        Value
	Changes     Value
	Payload     Value
	After       []string
}

// SortBySeq sorts Entries into the order in which they were stored.
func SortBySeq(entries []Entry) {
	sort.Slice(entries, func(i, j int) bool { return entries[i].Seq < entries[j].Seq })
}

// ids returns the Entries' ids, in order.
func ids(entries []Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.ID
	}
	return out
}

package outbox

import "context"

// Store keeps everything of a Std Sync: Entries, the Sync Replica, Sync State
// and what a Drainer must know. It has transactions and indexes, and decides
// nothing. Every implementation passes outboxtest.TestStore.
type Store interface {
	// View runs fn in a read-only transaction.
	View(ctx context.Context, fn func(Tx) error) error
	// Update runs fn in a read-write transaction. It commits if fn returns nil,
	// and returns only when the transaction is complete; otherwise nothing of it
	// is stored and fn's error is returned. Updates run one after another.
	//
	// fn must not wait for anything but the Tx: a browser's transaction ends
	// when nothing is asked of it.
	Update(ctx context.Context, durability Durability, fn func(Tx) error) error
	// Close gives up the connection. It may be called twice.
	Close() error
}

// Durability is what a completed Update promises.
type Durability int

// Relaxed survives a crash of the tab; Strict is on disk.
const (
	Relaxed Durability = iota
	Strict
)

// Tx is one transaction. Reads see the writes made before them. Ids and keys
// that are not stored are left out of what a read returns.
type Tx interface {
	// Meta returns the record of a Std Sync, or one with only its name.
	Meta(sync string) (Meta, error)
	PutMeta(Meta) error

	// Entries returns the Entries with these ids, in the order of the ids.
	Entries(ids ...string) ([]Entry, error)
	// Select answers several selections at once, each in Seq order.
	Select(selections ...Selection) ([][]Entry, error)
	// Heads returns, for every Queue with pending Entries, the oldest one's Seq.
	Heads(sync string) ([]Head, error)
	// Waiting returns the Entries whose After names one of these ids.
	Waiting(ids ...string) ([]Entry, error)
	// Count returns how many Entries have this Status.
	Count(sync string, status EntryStatus) (int, error)
	// IDs returns the ids of all Entries, or of those with a Status, in no order.
	IDs(sync string, status EntryStatus) ([]string, error)
	// Oldest returns the Entry with this Status and the smallest Seq, if any.
	Oldest(sync string, status EntryStatus) ([]Entry, error)
	// AddEntries stores new Entries. One that cannot be stored is reported under
	// its index and hurts no other; an id that exists fails the Update with
	// ErrExists.
	AddEntries(entries ...Entry) (refused map[int]error, err error)
	PutEntries(entries ...Entry) error
	DeleteEntries(ids ...string) error

	// Outcomes returns how these Entries left the Store without delivery.
	Outcomes(ids ...string) ([]Outcome, error)
	PutOutcomes(outcomes ...Outcome) error
	// PruneOutcomes deletes the oldest Outcomes over the limit.
	PruneOutcomes(sync string, keep int) error

	// Rows returns the replica's records with these keys, in their order.
	Rows(keys ...RowKey) ([]Row, error)
	// Replica returns all records of a Collection, by key.
	Replica(sync, collection string) ([]Row, error)
	PutRows(rows ...Row) error
	DeleteRows(keys ...RowKey) error

	// State returns a strategy's record, or one with only its key.
	State(key StateKey) (State, error)
	PutState(State) error

	// Clear deletes everything of a Std Sync but its Meta.
	Clear(sync string) error
}

// Selection asks for Entries of one Std Sync, in Seq order.
type Selection struct {
	Sync string
	// Queue, if set, keeps one Queue.
	Queue string
	// Handler, if set, keeps all Queues of a Handler; it excludes Queue.
	Handler string
	// Status, if set, keeps that status; it needs Queue.
	Status EntryStatus
	// Limit, if set, keeps the oldest so many.
	Limit int
}

// QueueRange returns the smallest and the largest Queue a Selection may match,
// as strings that order by code unit; both are empty when any Queue matches. Not
// every Queue in between need match: see Matches.
func (s Selection) QueueRange() (from, to string) {
	switch {
	case s.Queue != "":
		return s.Queue, s.Queue
	case s.Handler != "":
		return queuesOf(s.Handler)
	}
	return "", ""
}

// Matches reports whether an Entry whose Queue is in the range is meant.
func (s Selection) Matches(e Entry) bool { return s.Handler == "" || e.Name == s.Handler }

// Head is a Queue with something pending.
type Head struct {
	Queue string
	// Seq is the oldest pending Entry's.
	Seq int64
}

// Format is the version of the stored records.
const Format = 1

// Meta is what a Store knows of one Std Sync as a whole.
type Meta struct {
	Sync string
	// Format is that of the stored records; 0 when nothing was stored yet.
	Format int
	// Version is the app's own.
	Version int
	// Epoch grows each time a Drainer starts.
	Epoch int64
	// Seq is the last Entry's.
	Seq int64
	// Generation changes with every reset; a session writes only into its own.
	Generation string
	// Clock grows each time a row is confirmed; see Row.Confirmed.
	Clock int64
	// Paused stops flights in every tab.
	Paused bool
	// Counts are kept with every change of an Entry.
	Counts Counts
	// Lease elects the leader where there are no Web Locks.
	Lease Held
}

// Counts says how many Entries have each Status.
type Counts struct{ Pending, InRequest, Failed int }

// move notes that n Entries went from one Status to another; "" is not stored.
func (c *Counts) move(n int, from, to EntryStatus) {
	for status, by := range map[EntryStatus]int{from: -n, to: n} {
		switch status {
		case Pending:
			c.Pending += by
		case InRequest:
			c.InRequest += by
		case Failed:
			c.Failed += by
		}
	}
}

// Outcome tells why an Entry is gone, when it was not delivered.
type Outcome struct {
	ID     string
	Sync   string
	Reason Code
	// At is in milliseconds since the epoch.
	At int64
}

// RowKey names one record of the Sync Replica.
type RowKey struct {
	Sync       string
	Collection string
	Key        Key
}

// Row is one record of the Sync Replica.
type Row struct {
	RowKey
	// Value is the confirmed row, or nil for a row that was deleted: kept until
	// no older fetch can bring it back.
	Value Value
	// Confirmed is Meta.Clock when the Backend last confirmed the row to the
	// Outbox, or 0. A fetch that started before does not overwrite it.
	Confirmed int64
}

// StateKey names one record of Sync State.
type StateKey struct {
	Sync       string
	Collection string
	Scope      string
}

// State is a strategy's cursor.
type State struct {
	StateKey
	Cursor Value
	// Revision grows with every write, so that of two fetches that started from
	// the same cursor only one is kept.
	Revision int64
}

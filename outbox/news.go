package outbox

import "sort"

// Settlement is the end of a transaction's wait: delivered, or why not.
type Settlement struct {
	Transaction string
	// Err is nil when every Entry of the transaction was delivered.
	Err error
	// Rest are the Entries of a failed transaction that are still to be sent. They
	// are waited for as RestTransaction.
	Rest            []string
	RestTransaction string
}

// News is what has become known of the Store. Whoever receives it applies all of
// it together.
type News struct {
	// Rows are records of the Sync Replica as they are now; a row that is not
	// there has no Value.
	Rows []Row
	// Settled are the transactions that wait no longer, in the order in which
	// their waits began.
	Settled []Settlement
	// Delivered are Entries of transactions that still wait for others of theirs.
	Delivered []string
	// Entries are changed ones as they are now, and Gone those no longer stored.
	// Both are told only while somebody views the Outbox.
	Entries []Entry
	Gone    []string
	// All: Entries is all there is, and what is not in it is gone.
	All bool
	// Reset: everything was deleted, and everything on screen has to go.
	Reset bool
	// Stale: rows changed that no Ring named; the Sync Replica must be read anew.
	Stale bool
}

func (n News) isZero() bool {
	return len(n.Rows) == 0 && len(n.Settled) == 0 && len(n.Delivered) == 0 && len(n.Entries) == 0 && len(n.Gone) == 0 && !n.All && !n.Stale && !n.Reset
}

// sight is what is known of the Store at one moment, because a look read it or a
// turn of this tab's Drainer wrote it. The zero sight knows nothing.
type sight struct {
	// entries are those seen, and gone why others are not there: nil for delivery.
	entries map[string]Entry
	gone    map[string]error
	rows    map[RowKey]Row
	// all: entries are all there are.
	all bool
	// clock is Meta.Clock, where a look read it.
	clock int64
	// other is the Meta of a session that is not this tab's.
	other *Meta
}

func (s *sight) entry(e Entry) {
	if s.entries == nil {
		s.entries = map[string]Entry{}
	}
	delete(s.gone, e.ID)
	s.entries[e.ID] = e
}

func (s *sight) left(id string, why error) {
	if s.gone == nil {
		s.gone = map[string]error{}
	}
	delete(s.entries, id)
	s.gone[id] = why
}

func (s *sight) row(r Row) {
	if s.rows == nil {
		s.rows = map[RowKey]Row{}
	}
	s.rows[r.RowKey] = r
}

// add takes over what is known from later.
func (s *sight) add(later sight) {
	if later.all {
		s.entries, s.all = nil, true
	}
	for _, e := range later.entries {
		s.entry(e)
	}
	for id, why := range later.gone {
		s.left(id, why)
	}
	for _, r := range later.rows {
		s.row(r)
	}
	s.clock = max(s.clock, later.clock)
}

// inOrder returns the Entries by Seq.
func (s *sight) inOrder() []Entry {
	entries := make([]Entry, 0, len(s.entries))
	for _, e := range s.entries {
		entries = append(entries, e)
	}
	SortBySeq(entries)
	return entries
}

// byKey returns the rows in the order of their keys.
func (s *sight) byKey() []Row {
	rows := make([]Row, 0, len(s.rows))
	for _, r := range s.rows {
		rows = append(rows, r)
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].Key < rows[j].Key })
	return rows
}

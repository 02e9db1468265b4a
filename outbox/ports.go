package outbox

import "context"

// Doorbell tells this app's other tabs to look again. It promises nothing: a
// Ring may be lost, doubled or invented, and whoever hears one reads the Store.
type Doorbell interface {
	// Ring tells all other tabs. It does not block and never fails: what is not
	// heard is found by the slow poll.
	Ring(Ring)
	// Listen calls hear for every Ring of another tab until stop is called.
	// hear must not block.
	Listen(hear func(Ring)) (stop func())
}

// Ring names what changed in the Store, as a hint.
type Ring struct {
	// Entries are those stored, changed or gone.
	Entries []Mark
	// Claimed are those that are now in a Request; no Waiter cares.
	Claimed []Mark
	// Rows are records of the Sync Replica that changed.
	Rows []RowKey
	// Steps is how often the Sync Replica changed: see Meta.Clock.
	Steps int
	// All asks to look at everything: too much changed to name it, or something
	// that is not an Entry or a row.
	All bool
	// Drain asks the leader to try now, whatever the backoff.
	Drain bool
	// Ask asks whether the leader lives, and Lives is its answer. Why then says why
	// nothing moves, as Status.WaitingFor does.
	Ask, Lives bool
	Why        string
}

// Mark names an Entry and its Queue.
type Mark struct{ ID, Queue string }

// MaxHints bounds what a Ring names; past it, Ring.All is set.
const MaxHints = 1024

// Bounded returns the Ring with no more than MaxHints names.
func (r Ring) Bounded() Ring {
	if len(r.Entries)+len(r.Claimed)+len(r.Rows) > MaxHints {
		return r.Unnamed()
	}
	return r
}

// Unnamed returns a Ring that asks to look at everything instead of what r names.
func (r Ring) Unnamed() Ring {
	r.Entries, r.Claimed, r.Rows, r.All = nil, nil, nil, true
	return r
}

// IsZero reports whether the Ring says nothing.
func (r Ring) IsZero() bool {
	return len(r.Entries)+len(r.Claimed)+len(r.Rows) == 0 && !r.All && !r.Drain && !r.Ask && !r.Lives
}

// Leadership decides which one tab may drain.
type Leadership interface {
	// Lead waits until this tab holds the lock, calls term, and holds the lock
	// until term returns. The context given to term ends early if the lock is
	// stolen. Lead returns term's error, or ctx's if the wait was cut short.
	Lead(ctx context.Context, term func(context.Context) error) error
	// Steal is Lead without the wait: it takes the lock from whoever holds it, and
	// leaves those who wait where they are.
	Steal(ctx context.Context, term func(context.Context) error) error
}

// Connectivity tells whether a network is there. It is a hint: false pauses
// flights, true proves nothing.
type Connectivity interface {
	IsOnline() bool
	// Subscribe calls listener after every change until stop is called.
	// listener must not block.
	Subscribe(listener func()) (stop func())
}

// Visibility tells whether a person can see this tab. A browser slows down the
// timers of a tab that nobody sees.
type Visibility interface {
	IsVisible() bool
	// Subscribe calls listener after every change, and when the tab has been away,
	// until stop is called. listener must not block.
	Subscribe(listener func()) (stop func())
}

// AlwaysVisible is the Visibility of what is no tab.
type AlwaysVisible struct{}

// IsVisible returns true.
func (AlwaysVisible) IsVisible() bool { return true }

// Subscribe never calls listener.
func (AlwaysVisible) Subscribe(func()) (stop func()) { return func() {} }

// AlwaysOnline is the Connectivity of a platform that reports none.
type AlwaysOnline struct{}

// IsOnline returns true.
func (AlwaysOnline) IsOnline() bool { return true }

// Subscribe never calls listener.
func (AlwaysOnline) Subscribe(func()) (stop func()) { return func() {} }

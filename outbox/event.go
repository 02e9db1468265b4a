package outbox

import "time"

// EventType says what happened.
type EventType string

// Every type of Event.
const (
	EventEnqueued       EventType = "enqueued"
	EventClaimed        EventType = "claimed"
	EventFlown          EventType = "flown"
	EventDelivered      EventType = "delivered"
	EventFoldedAway     EventType = "folded-away"
	EventUnreachable    EventType = "unreachable"
	EventFailed         EventType = "failed"
	EventDiscarded      EventType = "discarded"
	EventRetried        EventType = "retried"
	EventReplayed       EventType = "replayed"
	EventReplaySkipped  EventType = "replay-skipped"
	EventGateOpen       EventType = "gate-open"
	EventLeader         EventType = "leader"
	EventFollower       EventType = "follower"
	EventOnline         EventType = "online"
	EventOffline        EventType = "offline"
	EventPaused         EventType = "paused"
	EventResumed        EventType = "resumed"
	EventReset          EventType = "reset"
	EventVersionDropped EventType = "version-dropped"
	EventSuperseded     EventType = "superseded"
	EventPersist        EventType = "persist"
	EventStorage        EventType = "storage"
	EventRequestSlow    EventType = "request-slow"
	EventCrashed        EventType = "crashed"
	EventRestarted      EventType = "restarted"
)

// Event is one thing that happened in this tab. Fields that do not apply are
// zero.
type Event struct {
	Type     EventType
	At       time.Time
	Sync     string
	EntryIDs []string
	Queue    string
	Name     string
	Attempt  int
	Error    error
	Count    int
}

package outbox

import "strings"

// Key is the key of an Entity with its type kept apart: "n:1" for the number 1,
// "s:1" for the string "1".
type Key string

const (
	collectionPrefix = "collection:"
	actionPrefix     = "action:"
)

// CollectionHandler returns the name under which a Collection registers its
// Handler: "collection:<name>".
func CollectionHandler(collection string) string { return collectionPrefix + collection }

// ActionHandler returns the name under which an Offline Action registers its
// Handler: "action:<name>".
func ActionHandler(action string) string { return actionPrefix + action }

// CollectionOf returns the Collection a Handler name belongs to, and false for
// an action's.
func CollectionOf(handler string) (string, bool) { return strings.CutPrefix(handler, collectionPrefix) }

// QueueOf returns the Queue of one Entity: "collection:<name>/<key>". A slash or
// a percent sign in the name is percent-encoded, so that no two Entities share
// a Queue.
func QueueOf(collection string, key Key) string {
	return collectionPrefix + escape(collection) + "/" + string(key)
}

// ActionQueue returns the Queue of an Offline Action: "action:<name>", or
// "action:<name>/<queue>" when the call names one.
func ActionQueue(action, queue string) string {
	if queue == "" {
		return actionPrefix + escape(action)
	}
	return actionPrefix + escape(action) + "/" + queue
}

// queuesOf returns a range that holds every Queue of a Handler.
func queuesOf(handler string) (from, to string) {
	kind, name, _ := strings.Cut(handler, ":")
	first := kind + ":" + escape(name)
	return first, first + "/\uffff"
}

// entityOf is the inverse of QueueOf. It returns false for an action's Queue.
func entityOf(queue string) (collection string, key Key, ok bool) {
	rest, ok := strings.CutPrefix(queue, collectionPrefix)
	if !ok {
		return "", "", false
	}
	name, k, ok := strings.Cut(rest, "/")
	return unescape(name), Key(k), ok
}

// HandlerOf returns the name of the Handler that flies a Queue.
func HandlerOf(queue string) string {
	kind, rest, _ := strings.Cut(queue, ":")
	name, _, _ := strings.Cut(rest, "/")
	return kind + ":" + unescape(name)
}

// MoveQueue returns the Queue that has the same key or name at another Handler.
func MoveQueue(queue, handler string) string {
	first, _ := queuesOf(handler)
	if _, rest, ok := strings.Cut(queue, "/"); ok {
		return first + "/" + rest
	}
	return first
}

// KeyOf returns the key of the Entity a Queue belongs to, or "" for an
// action's Queue.
func KeyOf(queue string) Key {
	_, key, _ := entityOf(queue)
	return key
}

var (
	escaper   = strings.NewReplacer("%", "%25", "/", "%2F")
	unescaper = strings.NewReplacer("%2F", "/", "%25", "%")
)

func escape(name string) string   { return escaper.Replace(name) }
func unescape(name string) string { return unescaper.Replace(name) }

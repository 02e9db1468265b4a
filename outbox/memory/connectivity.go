package memory

import (
	"sync"

	"github.com/stdsync/outbox/outbox"
)

// Network is a Connectivity that is switched by hand. Its zero value is online.
type Network struct {
	mu        sync.Mutex
	offline   bool
	nextID    int
	listeners map[int]func()
}

var _ outbox.Connectivity = (*Network)(nil)

// IsOnline reports what was last set.
func (n *Network) IsOnline() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.offline
}

// Set switches the network, and tells the listeners if that changes it.
func (n *Network) Set(online bool) {
	n.mu.Lock()
	changed := n.offline == online
	n.offline = !online
	var all []func()
	for _, l := range n.listeners {
		all = append(all, l)
	}
	n.mu.Unlock()
	if changed {
		for _, l := range all {
			l()
		}
	}
}

// Subscribe adds a listener.
func (n *Network) Subscribe(listener func()) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == nil {
		n.listeners = map[int]func(){}
	}
	id := n.nextID
	n.nextID++
	n.listeners[id] = listener
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, id)
	}
}

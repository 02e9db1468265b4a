package faults

import (
	"context"
	"sync"
)

// List is the faults that are set, in order. The zero List is empty, and its
// methods may be called concurrently.
type List struct {
	mu    sync.Mutex
	armed []*armed
}

// State is a fault that is set, and what it has done so far.
type State struct {
	Fault
	Hits int `json:"hits"` // requests that met it
	Held int `json:"held"` // requests it holds now
}

type armed struct {
	State
	released chan struct{}
}

// Add appends a fault and returns it with its defaults filled in. The error
// says what is wrong with it.
func (l *List) Add(fault Fault) (Fault, error) {
	fault, err := fault.checked()
	if err != nil {
		return Fault{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = append(l.armed, &armed{State: State{Fault: fault}, released: make(chan struct{})})
	return fault, nil
}

// All returns the faults that are set, also those whose times are used up.
func (l *List) All() []State {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := []State{}
	for _, fault := range l.armed {
		all = append(all, fault.State)
	}
	return all
}

// Clear removes all faults and releases the requests they hold.
func (l *List) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, fault := range l.armed {
		close(fault.released)
	}
	l.armed = nil
}

// Meet returns the first fault that matches, counting it, or one of mode
// [None]. If the fault holds, Meet waits for [List.Clear] first; the error is
// ctx's if that ended before.
func (l *List) Meet(ctx context.Context, method, path string) (Fault, error) {
	fault := l.match(method, path)
	if fault == nil {
		return Fault{}, nil
	}
	if fault.Mode != Hold {
		return fault.Fault, nil
	}
	select {
	case <-fault.released:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fault.Held--
	return fault.Fault, ctx.Err() // a client that went away counts as gone, though released since
}

func (l *List) match(method, path string) *armed {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, fault := range l.armed {
		spent := fault.Times > 0 && fault.Hits >= fault.Times
		if spent || !fault.matches(method, path) {
			continue
		}
		fault.Hits++
		if fault.Mode == Hold {
			fault.Held++
		}
		return fault
	}
	return nil
}

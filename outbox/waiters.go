package outbox

import (
	"sort"
	"sync"
)

// waiters are this tab's promises. Each watches the rows of one transaction's
// Entries and owns nothing: it is settled by what is known of the store, whoever
// changed it.
type waiters struct {
	mu            sync.Mutex
	byEntry       map[string]*waiter
	byTransaction map[string]*waiter
	begun         int
}

// waiter waits for the Entries of one transaction.
type waiter struct {
	transaction string
	// turn is its place among all that began to wait.
	turn int
	open map[string]string // Entry id to Queue
	// storing: the Entries are not known to be stored yet, so their absence
	// means nothing. rung: they were named meanwhile.
	storing, rung bool
}

func newWaiters() *waiters {
	return &waiters{byEntry: map[string]*waiter{}, byTransaction: map[string]*waiter{}}
}

// watch adds a Waiter for these Entries of a transaction, or widens the one
// there is. They are looked at once it is known that they are stored.
func (w *waiters) watch(transaction string, marks []Mark, storing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byTransaction[transaction]
	if one == nil {
		w.begun++
		one = &waiter{transaction: transaction, turn: w.begun, open: map[string]string{}, storing: storing}
		w.byTransaction[transaction] = one
	}
	for _, m := range marks {
		one.open[m.ID] = m.Queue
		w.byEntry[m.ID] = one
	}
}

// stored says that a transaction's Entries are on disk, and returns those that
// were named before that was known.
func (w *waiters) stored(transaction string) (again []Mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byTransaction[transaction]
	if one == nil {
		return nil
	}
	one.storing = false
	if one.rung {
		one.rung = false
		for id, queue := range one.open {
			again = append(again, Mark{ID: id, Queue: queue})
		}
	}
	return again
}

// drop takes a transaction's Waiter off, unsettled: its Entries were not stored.
func (w *waiters) drop(transaction string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.byTransaction[transaction]; one != nil {
		w.remove(one)
	}
}

func (w *waiters) remove(one *waiter) {
	delete(w.byTransaction, one.transaction)
	for id := range one.open {
		delete(w.byEntry, id)
	}
}

// waitsFor returns the Queue of an Entry that somebody waits for and that is
// known to be stored.
func (w *waiters) waitsFor(id string) (queue string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byEntry[id]
	if one == nil {
		return "", false
	}
	if one.storing {
		one.rung = true
		return "", false
	}
	return one.open[id], true
}

// all returns every Entry that somebody waits for and that is known to be stored.
func (w *waiters) all() (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, one := range w.byEntry {
		if !one.storing {
			ids = append(ids, id)
		}
	}
	return ids
}

// settle takes off the Waiters whose wait has ended by what is known, and returns
// how, in the order in which they began, and which Entries were delivered whose
// transaction waits on.
func (w *waiters) settle(s *sight) (settled []Settlement, delivered []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended, byID := map[*waiter]error{}, map[string]*waiter{}
	for _, e := range s.inOrder() {
		one := w.known(e.ID)
		if _, first := ended[one]; one != nil && !first && e.Status == Failed {
			ended[one] = ErrorOf(e)
		}
	}
	for id, why := range s.gone {
		one := w.known(id)
		if one == nil {
			continue
		}
		if why != nil && ended[one] == nil {
			ended[one] = why
		}
		byID[id] = one
		delete(w.byEntry, id)
		if delete(one.open, id); len(one.open) == 0 && ended[one] == nil {
			ended[one] = nil
		}
	}
	for id, why := range s.gone {
		if one := byID[id]; one != nil && why == nil {
			if _, over := ended[one]; !over {
				delivered = append(delivered, id)
			}
		}
	}
	settled = w.end(ended)
	for i, one := range w.inTurn(ended) {
		if ended[one] != nil {
			settled[i].Rest, settled[i].RestTransaction = w.split(one, s)
		}
	}
	return settled, delivered
}

// split goes on waiting for what a failed transaction has left to be sent.
func (w *waiters) split(one *waiter, s *sight) (rest []string, transaction string) {
	open := map[string]string{}
	for id, queue := range one.open {
		if e, seen := s.entries[id]; !seen || e.Status != Failed {
			open[id] = queue
			rest = append(rest, id)
		}
	}
	if len(rest) == 0 {
		return nil, ""
	}
	sort.Strings(rest)
	w.begun++
	other := &waiter{transaction: rest[0] + "~", turn: w.begun, open: open}
	w.byTransaction[other.transaction] = other
	for id := range open {
		w.byEntry[id] = other
	}
	return rest, other.transaction
}

// known returns the Waiter of an Entry, if it is known to be stored.
func (w *waiters) known(id string) *waiter {
	one := w.byEntry[id]
	if one != nil && one.storing {
		one.rung = true
		return nil
	}
	return one
}

// inTurn returns Waiters in the order in which they began.
func (w *waiters) inTurn(ended map[*waiter]error) []*waiter {
	order := make([]*waiter, 0, len(ended))
	for one := range ended {
		order = append(order, one)
	}
	sort.Slice(order, func(i, j int) bool { return order[i].turn < order[j].turn })
	return order
}

// end takes Waiters off, and returns how they ended.
func (w *waiters) end(ended map[*waiter]error) []Settlement {
	order := w.inTurn(ended)
	settled := make([]Settlement, len(order))
	for i, one := range order {
		w.remove(one)
		settled[i] = Settlement{Transaction: one.transaction, Err: ended[one]}
	}
	return settled
}

// abandon takes every Waiter off with err.
func (w *waiters) abandon(err error) []Settlement {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := map[*waiter]error{}
	for _, one := range w.byTransaction {
		ended[one] = err
	}
	return w.end(ended)
}

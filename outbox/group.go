package outbox

// group returns the Entries that the next Request of a Queue carries, oldest
// first, and the Write they fold to. pending are the Queue's pending Entries in
// order; gated reports whether an Entry still waits for another. An empty group
// means that the Queue has to wait.
func group(pending []Entry, gated func(Entry) bool) ([]Entry, Write) {
	if len(pending) == 0 {
		return nil, Write{}
	}
	first := pending[0]
	n := 0
	for n < len(pending) && pending[n].RequestID == first.RequestID {
		// A Request that may have been flown is flown again with just the
		// Entries it had; a gate that closed since does not change it.
		if first.RequestID == "" && gated(pending[n]) {
			break
		}
		n++
	}
	write, rest := Fold(pending[:n])
	return pending[:n-len(rest)], write
}

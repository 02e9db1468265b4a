package outbox

import "slices"

// failDependents fails, unflown, every pending Entry that cannot do without one
// of gone, which failed or was discarded: those that name it in After, and in an
// insert's own Queue the updates and deletes up to the next insert. What fails
// takes its own dependents with it.
func (s *settling) failDependents(gone []Entry) error {
	for len(gone) > 0 {
		dependents, err := s.dependents(gone)
		if err != nil {
			return err
		}
		for i := range dependents {
			d := &dependents[i]
			d.Status = Failed
			d.Error = &Failure{Name: "OutboxError", Message: dependsOn(d.DependsOn), Code: string(CodeFailed)}
			s.turn.change(EventFailed, dependents[i:i+1], ErrorOf(*d))
		}
		s.meta.Counts.move(len(dependents), Pending, Failed)
		if err := s.tx.PutEntries(dependents...); err != nil {
			return err
		}
		gone = dependents
	}
	return nil
}

// dependents returns the pending Entries that depend on one of gone directly,
// with DependsOn set.
func (s *settling) dependents(gone []Entry) ([]Entry, error) {
	var out []Entry
	seen := map[string]bool{}
	add := func(e Entry, on string) {
		if e.Status == Pending && !seen[e.ID] {
			seen[e.ID] = true
			e.DependsOn = on
			out = append(out, e)
		}
	}
	waiting, err := s.tx.Waiting(ids(gone)...)
	if err != nil {
		return nil, err
	}
	for _, e := range waiting {
		for _, g := range gone {
			if slices.Contains(e.After, g.ID) {
				add(e, g.ID)
				break
			}
		}
	}
	for _, g := range gone {
		if g.Op != OpInsert {
			continue
		}
		behind, err := s.tx.Select(Selection{Sync: g.Sync, Queue: g.Queue, Status: Pending})
		if err != nil {
			return nil, err
		}
		for _, e := range behind[0] {
			if e.Seq < g.Seq {
				continue
			}
			if e.Op == OpInsert {
				break
			}
			add(e, g.ID)
		}
	}
	return out, nil
}

package outbox_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

func TestFoldTable(t *testing.T) {
	text, err := os.ReadFile("../testdata/fold.json")
	require.NoError(t, err)
	var rows []struct {
		Name    string
		Entries []string
		Write   string
		Rest    int
	}
	require.NoError(t, json.Unmarshal(text, &rows))
	require.NotEmpty(t, rows)
	for _, row := range rows {
		t.Run(row.Name, func(t *testing.T) {
			var entries []outbox.Entry
			for _, e := range row.Entries {
				entries = append(entries, outboxtest.ParseEntry(e))
			}
			write, rest := outbox.Fold(entries)
			require.Equal(t, row.Write, outboxtest.Describe(write))
			require.Len(t, rest, row.Rest)
		})
	}
}

// Whatever a user does to one row, sending the folds leaves the Backend as
// sending every Entry alone would.
func TestFoldEqualsSendingOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var alone, folded outboxtest.Table
		if rapid.Bool().Draw(t, "the row exists") {
			start := draw(t, "start")
			alone.Apply("k", outbox.Write{Op: outbox.OpInsert, Changes: start})
			folded.Apply("k", outbox.Write{Op: outbox.OpInsert, Changes: start})
		}
		var entries []outbox.Entry
		view := alone.Row("k")
		for range rapid.IntRange(1, 8).Draw(t, "edits") {
			entries = append(entries, drawEdit(t, &view, len(entries) == 0))
		}
		for _, e := range entries {
			write, _ := outbox.Fold([]outbox.Entry{e})
			alone.Apply("k", write)
		}
		requests := 0
		for rest := entries; len(rest) > 0; {
			var write outbox.Write
			before := len(rest)
			write, rest = outbox.Fold(rest)
			require.Less(t, len(rest), before, "a fold takes at least one entry")
			folded.Apply("k", write)
			requests++
		}
		require.Equal(t, alone.Row("k"), folded.Row("k"), "entries %v", entries)
		require.LessOrEqual(t, requests, len(entries))
	})
}

// drawEdit draws what a user can do to the row as they see it, and inserts over
// it by a tab that has not seen it yet.
func drawEdit(t *rapid.T, view *outboxtest.Fields, first bool) outbox.Entry {
	ops := []outbox.Op{outbox.OpUpdate, outbox.OpDelete}
	if *view == nil {
		ops = []outbox.Op{outbox.OpInsert}
	} else if !first {
		ops = append(ops, outbox.OpInsert)
	}
	op := rapid.SampledFrom(ops).Draw(t, "op")
	e := outbox.Entry{Op: op}
	switch op {
	case outbox.OpInsert:
		row := draw(t, "row")
		e.Changes = row
		if *view != nil {
			row = (*view).Spread(row).(outboxtest.Fields)
		}
		*view = row
	case outbox.OpUpdate:
		changes := draw(t, "changes")
		e.Base, e.Changes = *view, changes
		*view = (*view).Spread(changes).(outboxtest.Fields)
	case outbox.OpDelete:
		e.Base = *view
		*view = nil
	}
	return e
}

func draw(t *rapid.T, label string) outboxtest.Fields {
	return outboxtest.Fields(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"1", "2", "3"}), 1, 3).Draw(t, label))
}

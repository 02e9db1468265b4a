package idbstore_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall/js"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/idbstore"
	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/outboxtest"
	"github.com/stdsync/outbox/outbox/outboxtest/pagetest"
)

func TestMain(m *testing.M) { pagetest.Main(m) }

// value is an outbox.Value that is a JavaScript object.
type value struct{ v js.Value }

func (v value) JSValue() js.Value                { return v.v }
func (v value) Spread(outbox.Value) outbox.Value { panic("a store does not spread") }
func (v value) Covers(outbox.Value) bool         { panic("a store does not compare") }
func wrap(v js.Value) outbox.Value               { return value{v} }
func fieldsOf(v outbox.Value) outboxtest.Fields {
	fields := outboxtest.Fields{}
	entries := js.Global().Get("Object").Call("entries", v.(value).v)
	for i := range entries.Length() {
		fields[entries.Index(i).Index(0).String()] = entries.Index(i).Index(1).String()
	}
	return fields
}

func valueOf(f outboxtest.Fields) outbox.Value {
	entries := []any{}
	for name, text := range f {
		entries = append(entries, []any{name, text})
	}
	return wrap(js.Global().Get("Object").Call("fromEntries", entries))
}

var databases atomic.Int64

// database returns the name of a database that no other test uses.
func database() string { return fmt.Sprintf("test-%d", databases.Add(1)) }

func TestStore(t *testing.T) {
	outboxtest.TestStore(t, func(*testing.T) outboxtest.StoreUnderTest {
		name := database()
		return outboxtest.StoreUnderTest{
			Open:   func() outbox.Store { return idbstore.New(idbstore.Options{Database: name, Value: wrap}) },
			Value:  valueOf,
			Fields: fieldsOf,
			Unstorable: func() outbox.Value {
				return wrap(js.ValueOf(map[string]any{"f": js.Global().Get("parseInt")}))
			},
		}
	})
}

// await waits for an IDBRequest outside the package under test.
func await(t *testing.T, request js.Value) {
	done := make(chan string, 1)
	ok := js.FuncOf(func(js.Value, []js.Value) any { done <- ""; return nil })
	bad := js.FuncOf(func(js.Value, []js.Value) any { done <- "error"; return nil })
	defer ok.Release()
	defer bad.Release()
	request.Set("onsuccess", ok)
	request.Set("onerror", bad)
	require.Empty(t, <-done)
}

func write(t *testing.T, store outbox.Store, seq int64) {
	require.NoError(t, store.Update(context.Background(), outbox.Strict, func(tx outbox.Tx) error {
		return tx.PutMeta(outbox.Meta{Sync: "acme", Seq: seq})
	}))
}

func TestADatabaseDeletedUnderAStoreIsMadeAnew(t *testing.T) {
	name := database()
	lost := make(chan error, 4)
	store := idbstore.New(idbstore.Options{Database: name, Value: wrap, Lost: func(err error) { lost <- err }})
	defer store.Close()
	write(t, store, 1)
	await(t, js.Global().Get("indexedDB").Call("deleteDatabase", name))
	require.ErrorContains(t, <-lost, "another tab deletes or upgrades")
	write(t, store, 2)
	require.NoError(t, store.View(context.Background(), func(tx outbox.Tx) error {
		meta, err := tx.Meta("acme")
		require.EqualValues(t, 2, meta.Seq)
		return err
	}))
}

func TestAClosedStoreRefuses(t *testing.T) {
	store := idbstore.New(idbstore.Options{Database: database(), Value: wrap})
	write(t, store, 1)
	require.NoError(t, store.Close())
	require.NoError(t, store.Close())
	err := store.View(context.Background(), func(outbox.Tx) error { return nil })
	require.Equal(t, outbox.CodeDisposed, outbox.CodeOf(err))
}

func TestADatabaseOfANewerVersionIsATypedError(t *testing.T) {
	name := database()
	request := js.Global().Get("indexedDB").Call("open", name, 99)
	await(t, request)
	request.Get("result").Call("close")
	store := idbstore.New(idbstore.Options{Database: name, Value: wrap})
	err := store.View(context.Background(), func(outbox.Tx) error { return nil })
	require.Equal(t, outbox.CodeSuperseded, outbox.CodeOf(err))
	require.ErrorContains(t, err, "reload the page")
}

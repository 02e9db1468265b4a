package idbstore

import (
	"context"
	"errors"
	"fmt"
	"syscall/js"

	"github.com/hack-pad/go-indexeddb/idb"

	"github.com/stdsync/outbox/outbox"
)

// schemaVersion is the database's.
const schemaVersion = 1

// schema is every object store with its key and its indexes, in version 1.
var schema = []struct {
	store   string
	key     []any
	indexes []index
}{
	{"entries", []any{"id"}, []index{
		{name: "queue", key: []any{"sync", "queue", "seq"}},
		{name: "status", key: []any{"sync", "status", "queue", "seq"}},
		{name: "seq", key: []any{"sync", "status", "seq"}},
		{name: "after", key: []any{"after"}, many: true},
	}},
	{"replica", []any{"sync", "collection", "key"}, nil},
	{"state", []any{"sync", "collection", "scope"}, nil},
	{"meta", []any{"sync"}, nil},
	{"outcomes", []any{"id"}, []index{{name: "at", key: []any{"sync", "at"}}}},
}

type index struct {
	name string
	key  []any
	// many: the key is an array of keys, each of which finds the record.
	many bool
}

// keyPath returns a single path as itself and several as an array.
func keyPath(key []any) js.Value {
	if len(key) == 1 {
		return js.ValueOf(key[0])
	}
	return js.ValueOf(key)
}

// connection is an open database.
type connection struct {
	db js.Value
	// gone: it was closed, by us or by the browser.
	gone    bool
	release func()
}

// open opens the database, making or upgrading its stores.
func open(opts Options) (*connection, error) {
	factory := js.Global().Get("indexedDB")
	if !factory.Truthy() {
		return nil, &outbox.Error{Code: outbox.CodeStorage, Message: "this browser has no IndexedDB here: use memory(), or leave private browsing"}
	}
	raw := &rawFactory{factory: factory, blocked: func() {
		opts.Lost(errors.New("another tab holds the database open at an older version: it opens once that tab is closed or reloaded"))
	}}
	defer raw.release()
	wrapped, err := idb.WrapFactory(raw.value())
	if err != nil {
		return nil, normalise("open the database", err)
	}
	// The library's contexts lose errors, so it gets one that never ends.
	request, err := wrapped.Open(context.Background(), opts.Database, schemaVersion, upgrade)
	if err != nil {
		return nil, normalise("open the database "+opts.Database, err)
	}
	if _, err := request.Await(context.Background()); err != nil {
		return nil, normalise("open the database "+opts.Database, err)
	}
	return connect(raw.request.Get("result"), opts.Lost), nil
}

// upgrade makes the stores. It must not fail: the library ends the program if
// it does, and the browser has aborted the upgrade anyway.
func upgrade(db *idb.Database, _, _ uint) error {
	for _, s := range schema {
		store, err := db.CreateObjectStore(s.store, idb.ObjectStoreOptions{KeyPath: keyPath(s.key)})
		if err != nil {
			fmt.Println("outbox: make the object store", s.store, "failed:", err)
			return nil
		}
		for _, i := range s.indexes {
			if _, err := store.CreateIndex(i.name, keyPath(i.key), idb.IndexOptions{MultiEntry: i.many}); err != nil {
				fmt.Println("outbox: make the index", i.name, "failed:", err)
				return nil
			}
		}
	}
	return nil
}

// connect watches for what ends a connection from outside.
func connect(db js.Value, lost func(error)) *connection {
	c := &connection{db: db}
	versionchange := js.FuncOf(func(js.Value, []js.Value) any {
		c.close()
		go lost(errors.New("another tab deletes or upgrades the database, so this one has let go of it"))
		return nil
	})
	closed := js.FuncOf(func(js.Value, []js.Value) any {
		c.gone = true
		go lost(errClosed)
		return nil
	})
	db.Set("onversionchange", versionchange)
	db.Set("onclose", closed)
	c.release = func() {
		db.Set("onversionchange", nil)
		db.Set("onclose", nil)
		versionchange.Release()
		closed.Release()
	}
	return c
}

// close closes the connection; transactions that have begun go on.
func (c *connection) close() {
	if c.gone {
		return
	}
	c.gone = true
	c.db.Call("close")
	go c.release()
}

package idbstore

import (
	"errors"
	"syscall/js"

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

// open opens the database, making its stores if it is new.
func open(opts Options) (c *connection, err error) {
	doing := "open the database " + opts.Database
	defer recovered(doing, &err)
	factory := js.Global().Get("indexedDB")
	if !factory.Truthy() {
		return nil, &outbox.Error{Code: outbox.CodeStorage, Message: "this browser has no IndexedDB here: use memory(), or leave private browsing"}
	}
	request := factory.Call("open", opts.Database, schemaVersion)
	var upgradeErr error
	upgrade := js.FuncOf(func(js.Value, []js.Value) any {
		if upgradeErr = makeStores(request.Get("result")); upgradeErr != nil {
			request.Get("transaction").Call("abort")
		}
		return nil
	})
	defer upgrade.Release()
	blocked := js.FuncOf(func(js.Value, []js.Value) any {
		go opts.Lost(errBlocked)
		return nil
	})
	defer blocked.Release()
	request.Set("onupgradeneeded", upgrade)
	request.Set("onblocked", blocked)
	if _, err := await(doing, request); err != nil {
		if upgradeErr != nil {
			err = upgradeErr
		}
		return nil, err
	}
	return connect(request.Get("result"), opts.Lost), nil
}

func makeStores(db js.Value) (err error) {
	defer recovered("make the object stores", &err)
	for _, s := range schema {
		store := db.Call("createObjectStore", s.store, map[string]any{"keyPath": keyPath(s.key)})
		for _, i := range s.indexes {
			store.Call("createIndex", i.name, keyPath(i.key), map[string]any{"multiEntry": i.many})
		}
	}
	return nil
}

// What Lost is told.
var (
	errBlocked       = errors.New("another tab holds the database open at an older version: it opens once that tab is closed or reloaded")
	errVersionchange = errors.New("another tab deletes or upgrades the database, so this one has let go of it")
	errClosed        = errors.New("the browser closed the database, as it does when its data is cleared")
)

// connect watches for what ends a connection from outside.
func connect(db js.Value, lost func(error)) *connection {
	c := &connection{db: db}
	versionchange := js.FuncOf(func(js.Value, []js.Value) any {
		c.close()
		go lost(errVersionchange)
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

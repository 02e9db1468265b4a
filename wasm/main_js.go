package main

import (
	"syscall/js"

	"github.com/stdsync/outbox/broadcast"
	"github.com/stdsync/outbox/idbstore"
	"github.com/stdsync/outbox/jsbridge"
	"github.com/stdsync/outbox/locks"
	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/memory"
)

func main() {
	host := js.Global().Get("__outboxHost")
	jsbridge.Serve(host, newID, func(p jsbridge.Platform) (jsbridge.Ports, error) {
		if p.Persistent {
			return browser(p, host.Get("locks"))
		}
		return inMemory(), nil
	})
	select {}
}

// browser is the platform of a page: IndexedDB, and all tabs of the origin. The
// lock manager is the host's, which gives locks back when this module dies.
func browser(p jsbridge.Platform, manager js.Value) (jsbridge.Ports, error) {
	prefix := "std-sync/" + p.Sync
	store := idbstore.New(idbstore.Options{Database: p.Database, Value: jsbridge.Wrap, Lost: p.Lost})
	bell, closeBell := doorbell(prefix, p.Sync)
	ports := jsbridge.Ports{
		Store:    store,
		Doorbell: bell,
		Drain:    &outbox.Lease{Store: store, Sync: p.Sync, NewID: newID},
		Pull:     func(string, string) outbox.Leadership { return &memory.Lock{} },
		Close:    closeBell,
	}
	if manager.Truthy() {
		ports.Drain = locks.New(manager, prefix+"/outbox/v1")
		ports.Pull = func(collection, scope string) outbox.Leadership {
			return locks.New(manager, prefix+"/pull/"+collection+"/"+scope+"/v1")
		}
	}
	return ports, nil
}

// doorbell is the channel of a Std Sync. Where the browser has none, the slow poll
// finds what other tabs have done.
func doorbell(prefix, sync string) (bell outbox.Doorbell, stop func()) {
	channel, err := broadcast.New(prefix+"/outbox/v1", sync)
	if err != nil {
		return nil, func() {}
	}
	return channel, channel.Close
}

// inMemory is a platform that lasts as long as the page.
func inMemory() jsbridge.Ports {
	return jsbridge.Ports{
		Store: &memory.Store{},
		Drain: &memory.Lock{},
		Pull:  func(string, string) outbox.Leadership { return &memory.Lock{} },
		Close: func() {},
	}
}

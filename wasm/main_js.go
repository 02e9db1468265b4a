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
	bell, closeBell := doorbell(p.Sync)
	return jsbridge.Ports{
		Store:    idbstore.New(idbstore.Options{Database: p.Database, Value: jsbridge.Wrap, Lost: p.Lost}),
		Doorbell: bell,
		Leadership: func(name string) outbox.Leadership {
			if !manager.Truthy() {
				return &memory.Lock{}
			}
			return locks.New(manager, name)
		},
		Close: closeBell,
	}, nil
}

// doorbell is the channel of a Std Sync. Where the browser has none, the slow poll
// finds what other tabs have done.
func doorbell(sync string) (bell outbox.Doorbell, stop func()) {
	channel, err := broadcast.New("std-sync/"+sync+"/outbox/v1", sync)
	if err != nil {
		return new(memory.Channel).Doorbell(), func() {}
	}
	return channel, channel.Close
}

// inMemory is a platform that lasts as long as the page.
func inMemory() jsbridge.Ports {
	var tabs memory.Channel
	return jsbridge.Ports{
		Store:      &memory.Store{},
		Doorbell:   tabs.Doorbell(),
		Leadership: func(string) outbox.Leadership { return &memory.Lock{} },
		Close:      func() {},
	}
}

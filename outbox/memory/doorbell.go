package memory

import (
	"sync"

	"github.com/stdsync/outbox/outbox"
)

// Channel joins Doorbells, as a BroadcastChannel's name does. Its zero value is
// ready.
type Channel struct {
	mu    sync.Mutex
	bells map[*doorbell]bool
}

// Doorbell returns the Doorbell of one more tab.
func (c *Channel) Doorbell() outbox.Doorbell {
	return &doorbell{channel: c, hear: map[int]func(outbox.Ring){}}
}

type doorbell struct {
	channel *Channel
	nextID  int
	hear    map[int]func(outbox.Ring)
}

// Ring calls every other tab's listeners.
func (d *doorbell) Ring(ring outbox.Ring) {
	d.channel.mu.Lock()
	var all []func(outbox.Ring)
	for bell := range d.channel.bells {
		if bell == d {
			continue
		}
		for _, hear := range bell.hear {
			all = append(all, hear)
		}
	}
	d.channel.mu.Unlock()
	for _, hear := range all {
		hear(ring.Bounded())
	}
}

// Listen adds a listener of this tab.
func (d *doorbell) Listen(hear func(outbox.Ring)) (stop func()) {
	c := d.channel
	c.mu.Lock()
	defer c.mu.Unlock()
	id := d.nextID
	d.nextID++
	d.hear[id] = hear
	if c.bells == nil {
		c.bells = map[*doorbell]bool{}
	}
	c.bells[d] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(d.hear, id)
		if len(d.hear) == 0 {
			delete(c.bells, d)
		}
	}
}

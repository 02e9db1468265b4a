package memory_test

import (
	"testing"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/memory"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

func TestChannel(t *testing.T) {
	outboxtest.TestDoorbell(t, func(*testing.T) func() outbox.Doorbell {
		return new(memory.Channel).Doorbell
	})
}

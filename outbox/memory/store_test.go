package memory_test

import (
	"testing"

	"github.com/stdsync/outbox/outbox"
	"github.com/stdsync/outbox/outbox/memory"
	"github.com/stdsync/outbox/outbox/outboxtest"
)

func TestStore(t *testing.T) {
	outboxtest.TestStore(t, func(*testing.T) outboxtest.StoreUnderTest {
		store := &memory.Store{}
		return outboxtest.StoreUnderTest{
			Open:   func() outbox.Store { return store },
			Value:  func(f outboxtest.Fields) outbox.Value { return f },
			Fields: func(v outbox.Value) outboxtest.Fields { return v.(outboxtest.Fields) },
		}
	})
}

package faults_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/web/demo/server/faults"
)

func listOf(t *testing.T, all ...faults.Fault) *faults.List {
	t.Helper()
	list := &faults.List{}
	for _, fault := range all {
		_, err := list.Add(fault)
		require.NoError(t, err)
	}
	return list
}

func meet(t *testing.T, list *faults.List, method, path string) faults.Mode {
	t.Helper()
	fault, err := list.Meet(t.Context(), method, path)
	require.NoError(t, err)
	return fault.Mode
}

func TestTheFirstFaultThatMatchesIsMet(t *testing.T) {
	list := listOf(
		t,
		faults.Fault{Method: "patch", Mode: faults.Drop, Times: 1},
		faults.Fault{Path: "todos/a", Mode: faults.Fail},
	)
	require.Equal(t, faults.None, meet(t, list, "POST", "/api/todos"))
	require.Equal(t, faults.Drop, meet(t, list, "PATCH", "/api/todos/a"))
	require.Equal(t, faults.Fail, meet(t, list, "PATCH", "/api/todos/a"))
	require.Equal(t, faults.Fail, meet(t, list, "DELETE", "/api/todos/a"))
	list.Clear()
	require.Equal(t, faults.None, meet(t, list, "PATCH", "/api/todos/a"))
}

func TestAddChecks(t *testing.T) {
	for _, row := range []struct {
		name  string
		fault faults.Fault
		want  string // part of the error
	}{
		{"a mode is needed", faults.Fault{}, "mode must be"},
		{"an unknown mode is named", faults.Fault{Mode: "slow"}, `not "slow"`},
		{"a status must be one of failure", faults.Fault{Mode: faults.Fail, Status: 200}, "status must be"},
		{"times cannot be negative", faults.Fault{Mode: faults.Drop, Times: -1}, "times must not be negative"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := new(faults.List).Add(row.fault)
			require.ErrorContains(t, err, row.want)
		})
	}
}

func TestAHeldRequestGoesOnWhenTheFaultsAreCleared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := listOf(t, faults.Fault{Mode: faults.Hold})
		held := make(chan error, 1)
		go func() {
			_, err := list.Meet(t.Context(), "POST", "/api/todos")
			held <- err
		}()
		synctest.Wait()
		require.Equal(t, 1, list.All()[0].Held)
		require.Empty(t, held)

		list.Clear()
		require.NoError(t, <-held)
	})
}

func TestAHeldRequestEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := listOf(t, faults.Fault{Mode: faults.Hold, Times: 1})
		ctx, leave := context.WithCancel(t.Context())
		held := make(chan error, 1)
		go func() {
			_, err := list.Meet(ctx, "POST", "/api/todos")
			held <- err
		}()
		synctest.Wait()
		leave()
		require.ErrorIs(t, <-held, context.Canceled)
		require.Equal(t, 0, list.All()[0].Held)
		require.Equal(t, faults.None, meet(t, list, "POST", "/api/todos"), "its one time is used up")
	})
}

package api_test

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/web/demo/server/api"
	"github.com/stdsync/outbox/web/demo/server/todos"
)

// world is a server over a real database file, and a client that never sends
// anything again by itself.
type world struct {
	t      *testing.T
	url    string
	client *http.Client
}

func newWorld(t *testing.T) *world { return open(t, true) }

func open(t *testing.T, withFaults bool) *world {
	t.Helper()
	store, err := todos.Open(t.Context(), filepath.Join(t.TempDir(), "a #?%20 name.sqlite"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	server := httptest.NewUnstartedServer(api.New(store, withFaults))
	server.Config.ErrorLog = log.New(t.Output(), "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return &world{t, server.URL, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

type answer struct {
	status int
	header http.Header
	body   string
}

// try sends one request; headers are names and values in turn.
func (w *world) try(ctx context.Context, method, path, body string, headers ...string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, w.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := w.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(content)}, err
}

func (w *world) send(method, path, body string, headers ...string) answer {
	w.t.Helper()
	got, err := w.try(w.t.Context(), method, path, body, headers...)
	require.NoError(w.t, err)
	return got
}

// must is send for a step that a test takes for granted.
func (w *world) must(status int, method, path, body string, headers ...string) answer {
	w.t.Helper()
	got := w.send(method, path, body, headers...)
	require.Equal(w.t, status, got.status, got.body)
	return got
}

func (w *world) todos() string { return w.must(200, "GET", "/api/todos", "").body }

func (w *world) journal() []todos.Entry {
	w.t.Helper()
	var entries []todos.Entry
	require.NoError(w.t, json.Unmarshal([]byte(w.must(200, "GET", "/api/requests", "").body), &entries))
	return entries
}

func (w *world) changes(cursor string) todos.Changes {
	w.t.Helper()
	var page todos.Changes
	require.NoError(w.t, json.Unmarshal([]byte(w.must(200, "GET", "/api/changes?cursor="+cursor, "").body), &page))
	return page
}

// waitHeld returns once the first fault holds a request.
func (w *world) waitHeld() {
	w.t.Helper()
	require.Eventually(w.t, func() bool {
		return strings.Contains(w.send("GET", "/api/faults", "").body, `"held":1`)
	}, 10*time.Second, 5*time.Millisecond)
}

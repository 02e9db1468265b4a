package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// start runs the server and returns its address and what ends it.
func start(t *testing.T, c config) (base string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, c, writer)
		_ = writer.CloseWithError(err)
		ended <- err
	}()
	line, err := bufio.NewReader(reader).ReadString('\n')
	require.NoError(t, err)
	require.Regexp(t, regexp.MustCompile(`^listening on http://127\.0\.0\.1:\d+\n$`), line)
	return strings.TrimSpace(strings.TrimPrefix(line, "listening on ")), func() error {
		cancel()
		return <-ended
	}
}

func post(t *testing.T, url, body string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Idempotency-Key", body)
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		_, _ = io.Copy(io.Discard, response.Body) // or the connection is not used again
		_ = response.Body.Close()
	}
	return response, err
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response, string(body)
}

func TestRunServesPagesAndKeepsTodos(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "index.html"), []byte("hello"), 0o600))
	c := config{addr: "127.0.0.1:0", db: filepath.Join(t.TempDir(), "demo.sqlite"), web: dir}

	base, stop := start(t, c)
	page, body := get(t, base+"/")
	require.Equal(t, "hello", body)
	require.NotEmpty(t, page.Header.Get("Content-Security-Policy"))
	response, err := post(t, base+"/api/todos", `{"id":"a","title":"A"}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, response.StatusCode)
	require.NoError(t, stop())

	base, stop = start(t, c)
	_, body = get(t, base+"/api/todos")
	require.JSONEq(t, `[{"id":"a","title":"A","done":false,"note":"","version":1}]`, body)
	require.NoError(t, stop())
}

func TestADroppedRequestIsNotSentAgainByTheClient(t *testing.T) {
	base, stop := start(t, config{addr: "127.0.0.1:0", db: filepath.Join(t.TempDir(), "demo.sqlite"), faults: true})
	_, err := post(t, base+"/api/faults", `{"mode":"drop","times":1}`)
	require.NoError(t, err)
	_, err = post(t, base+"/api/todos", `{"id":"a","title":"A"}`)
	require.Error(t, err)
	_, body := get(t, base+"/api/requests")
	var journal []struct{ Status int }
	require.NoError(t, json.Unmarshal([]byte(body), &journal))
	require.Len(t, journal, 1)
	require.NoError(t, stop())
}

func TestStoppingEndsHeldRequests(t *testing.T) {
	base, stop := start(t, config{addr: "127.0.0.1:0", db: filepath.Join(t.TempDir(), "demo.sqlite"), faults: true})
	_, err := post(t, base+"/api/faults", `{"mode":"hold"}`)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := post(t, base+"/api/todos", `{"id":"a","title":"A"}`)
		ended <- err
	}()
	require.Eventually(t, func() bool {
		_, body := get(t, base+"/api/faults")
		return strings.Contains(body, `"held":1`)
	}, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, stop())
	require.Error(t, <-ended)
}

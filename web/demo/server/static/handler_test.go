package static_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/stdsync/outbox/web/demo/server/static"
)

var pages = fstest.MapFS{
	"index.html":     {Data: []byte("<!doctype html>")},
	"app.js":         {Data: []byte("1")},
	"worker.mjs":     {Data: []byte("1")},
	"outbox.wasm":    {Data: []byte("\x00asm")},
	"style.css":      {Data: []byte("a{}")},
	"data.bin":       {Data: []byte("?")},
	"sub/index.html": {Data: []byte("sub")},
	"bare/file.js":   {Data: []byte("1")},
}

func get(path string, header ...string) *http.Response {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	static.Handler(pages).ServeHTTP(recorder, request)
	return recorder.Result()
}

func TestHandler(t *testing.T) {
	for _, row := range []struct {
		name        string
		path        string
		status      int
		contentType string
	}{
		{"the root is the index page", "/", 200, "text/html; charset=utf-8"},
		{"the index page is there by name", "/index.html", 200, "text/html; charset=utf-8"},
		{"a script is text/javascript", "/app.js", 200, "text/javascript"},
		{"a module is text/javascript", "/worker.mjs", 200, "text/javascript"},
		{"wasm is application/wasm and nothing else", "/outbox.wasm", 200, "application/wasm"},
		{"a style sheet is text/css", "/style.css", 200, "text/css; charset=utf-8"},
		{"an unknown type is bytes", "/data.bin", 200, "application/octet-stream"},
		{"a directory has its own index page", "/sub/", 200, "text/html; charset=utf-8"},
		{"a directory without an index page is not listed", "/bare/", 404, "text/plain; charset=utf-8"},
		{"a missing file is not found", "/nothing.js", 404, "text/plain; charset=utf-8"},
		{"a path cannot leave the directory", "/../handler.go", 404, "text/plain; charset=utf-8"},
	} {
		t.Run(row.name, func(t *testing.T) {
			response := get(row.path)
			require.Equal(t, row.status, response.StatusCode)
			require.Equal(t, row.contentType, response.Header.Get("Content-Type"))
			require.Equal(t, static.Policy, response.Header.Get("Content-Security-Policy"))
			require.Equal(t, "no-cache", response.Header.Get("Cache-Control"))
		})
	}
}

func TestADirectoryWithoutItsSlashIsRedirected(t *testing.T) {
	response := get("/sub")
	require.Equal(t, http.StatusFound, response.StatusCode)
	require.Equal(t, "/sub/", response.Header.Get("Location"))
}

func TestAFileThatTheClientHasIsNotSentAgain(t *testing.T) {
	etag := get("/app.js").Header.Get("ETag")
	require.NotEmpty(t, etag)
	require.Equal(t, http.StatusNotModified, get("/app.js", "If-None-Match", etag).StatusCode)
}

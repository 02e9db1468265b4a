package static

import (
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

// Policy is the content security policy of all pages.
const Policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:"

// types are fixed here because the system's own table may say otherwise.
var types = map[string]string{
	".css":         "text/css; charset=utf-8",
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript",
	".json":        "application/json",
	".map":         "application/json",
	".mjs":         "text/javascript",
	".svg":         "image/svg+xml",
	".wasm":        "application/wasm",
	".webmanifest": "application/manifest+json",
}

// Handler serves the files of dir, and index.html for a directory.
func Handler(dir fs.FS) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", Policy)
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "pages can only be read: use GET", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
		if strings.HasSuffix(r.URL.Path, "/") {
			name = path.Join(name, "index.html")
		}
		serve(w, r, dir, name)
	})
}

func serve(w http.ResponseWriter, r *http.Request, dir fs.FS, name string) {
	file, err := dir.Open(name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		http.NotFound(w, r)
		return
	}
	if info.IsDir() {
		http.Redirect(w, r, path.Base(name)+"/", http.StatusFound)
		return
	}
	content, ok := file.(io.ReadSeeker)
	if !ok || !info.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, info.ModTime().UnixNano(), info.Size()))
	w.Header().Set("Content-Type", typeOf(name))
	http.ServeContent(w, r, name, info.ModTime(), content)
}

func typeOf(name string) string {
	extension := strings.ToLower(path.Ext(name))
	if known, ok := types[extension]; ok {
		return known
	}
	if guess := mime.TypeByExtension(extension); guess != "" {
		return guess
	}
	return "application/octet-stream"
}

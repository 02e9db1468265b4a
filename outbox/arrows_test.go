package outbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/stdsync/outbox"

// arrows says which of our packages each may import, beside its own
// sub-packages, and why so few.
var arrows = map[string]struct {
	may []string
	why string
}{
	"outbox":    {nil, "the domain knows its ports, not who implements them"},
	"idbstore":  {[]string{"outbox"}, "an adapter knows the port it implements"},
	"locks":     {[]string{"outbox"}, "an adapter knows the port it implements"},
	"broadcast": {[]string{"outbox"}, "an adapter knows the port it implements"},
	"jsbridge":  {[]string{"outbox"}, "the boundary knows the domain; which adapters there are is wired in wasm"},
	"wasm":      {[]string{"outbox", "idbstore", "locks", "broadcast", "jsbridge"}, "only the wiring knows everybody"},
}

// banned are imports that must not come into what is loaded by a page.
var banned = map[string]string{
	"fmt":           "with reflect and all it brings, it is a seventh of the module",
	"log":           "it brings fmt",
	"encoding/json": "a tenth of the module; values cross the boundary as they are",
	"encoding/hex":  "it brings fmt",
	"crypto/rand":   "a tenth of the module; the browser has its own",
	"regexp":        "large",
	"net/http":      "more than the whole module",
}

type listed struct {
	ImportPath string
	Imports    []string
	GoFiles    []string
	Dir        string
}

func list(t *testing.T, goos, goarch string) (packages []listed) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,GoFiles,Dir", "./...")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch)
	out, err := cmd.Output()
	require.NoError(t, err)
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else {
			require.NoError(t, err)
		}
		packages = append(packages, p)
	}
}

// forTests reports whether a package serves tests only.
func forTests(path string) bool { return strings.Contains(path, "/outboxtest") }

func TestArrows(t *testing.T) {
	for _, p := range list(t, "js", "wasm") {
		from, _, _ := strings.Cut(strings.TrimPrefix(p.ImportPath, module+"/"), "/")
		rule, known := arrows[from]
		require.True(t, known, "%s is no room of the house: see DESIGN §3", p.ImportPath)
		for _, imported := range p.Imports {
			if why, ok := banned[imported]; ok && !forTests(p.ImportPath) {
				t.Errorf("%s imports %s: %s", p.ImportPath, imported, why)
			}
			path, ours := strings.CutPrefix(imported, module+"/")
			to, _, _ := strings.Cut(path, "/")
			if ours && to != from && !slices.Contains(rule.may, to) {
				t.Errorf("%s imports %s, but %s", p.ImportPath, imported, rule.why)
			}
			if imported == "syscall/js" && from == "outbox" && !strings.HasSuffix(p.ImportPath, "/pagetest") {
				t.Errorf("%s imports syscall/js: the domain runs natively", p.ImportPath)
			}
		}
	}
}

func TestSyscallJSIsOnlyInFilesNamedForIt(t *testing.T) {
	for _, p := range list(t, "js", "wasm") {
		for _, file := range p.GoFiles {
			text, err := os.ReadFile(filepath.Join(p.Dir, file))
			require.NoError(t, err)
			if bytes.Contains(text, []byte(`"syscall/js"`)) {
				require.True(t, strings.HasSuffix(file, "_js.go"), "%s/%s imports syscall/js but is not named *_js.go", p.ImportPath, file)
			}
		}
	}
}

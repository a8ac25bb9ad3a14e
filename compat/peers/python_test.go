package peers

import (
	"github.com/valyala/fasthttp/compat/internal/process"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Python's http.server keeps connections only in HTTP/1.1. In HTTP/1.0 every
// response ends its connection, without a field that announces it.
func TestPythonServesFiles(t *testing.T) {
	for version, connections := range map[string]int{"HTTP/1.0": 20, "HTTP/1.1": 1} {
		t.Run(version, func(t *testing.T) {
			script, err := filepath.Abs("testdata/files.py")
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Repeat("a line of text\n", 10_000)
			cmd := process.Command(t, "a peer", "python3", script, version)
			cmd.Dir = t.TempDir()
			if err := os.WriteFile(filepath.Join(cmd.Dir, "text"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			c := newCaller(t, process.LaunchOnAnyPort(t, cmd))
			ports := make(map[int]bool)
			for range 10 {
				c.prepare("GET", "/text")
				c.do(c.client)
				c.is(200, text)
				ports[c.number("X-Port")] = true

				c.prepare("HEAD", "/text")
				c.do(c.client)
				c.is(200, "")
				if n := c.resp.Header.ContentLength(); n != len(text) {
					t.Errorf("Content-Length of HEAD is %d, want %d", n, len(text))
				}
				ports[c.number("X-Port")] = true
			}
			if len(ports) != connections {
				t.Errorf("%d connections, want %d", len(ports), connections)
			}
			// http.server has no POST: an error page, after which the connection ends
			c.prepare("POST", "/text")
			c.req.SetBodyString("body")
			c.do(c.client)
			if got := c.resp.StatusCode(); got != 501 {
				t.Errorf("got %d, want 501", got)
			}
		})
	}
}

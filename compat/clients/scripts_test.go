package clients

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runScript runs a script of testdata against servers. The script prints the name of
// each part that has passed, and fails at the first wrong byte.
func runScript(t *testing.T, interpreter, script string, parts ...string) {
	t.Helper()
	want := strings.Join(parts, "\n") + "\n"
	bodies(t, func(t *testing.T, origin string) {
		address := strings.TrimPrefix(origin, "http://")
		got := output(t, command(t, interpreter, filepath.Join("testdata", script), address))
		if got = strings.ReplaceAll(got, "\r\n", "\n"); got != want {
			t.Errorf("the script got through %q, want %q", got, want)
		}
	})
}

func TestPythonHTTPClient(t *testing.T) {
	runScript(t, program(t, "python3", "python"), "httpclient.py",
		"get", "head", "post", "pieces", "one connection")
}

func TestPythonRequests(t *testing.T) {
	python := program(t, "python3", "python")
	if err := exec.CommandContext(t.Context(), python, "-c", "import requests").Run(); err != nil {
		t.Skipf("the Python of this machine has no requests: %v", err)
	}
	runScript(t, python, "session.py",
		"codings", "stream", "bodies", "forms", "cookies", "one connection")
}

// node returns the path of a Node.js that has fetch.
func node(t *testing.T) string {
	t.Helper()
	path := program(t, "node", "nodejs")
	if err := exec.CommandContext(t.Context(), path, "-e", "process.exit(typeof fetch === 'function' ? 0 : 1)").Run(); err != nil {
		t.Skipf("the Node.js of this machine has no fetch: %v", err)
	}
	return path
}

func TestNodeFetch(t *testing.T) {
	runScript(t, node(t), "fetch.mjs",
		"get", "codings", "post", "forms", "redirect", "at once")
}

func TestNodeHTTPRequest(t *testing.T) {
	runScript(t, node(t), "request.mjs",
		"get", "head", "post", "continue", "trailers", "hints", "one connection")
}

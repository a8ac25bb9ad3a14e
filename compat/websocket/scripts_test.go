package websocket

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/compat/internal/process"
)

// pythonWithWebsockets returns the Python that the program "websockets" of the package of that
// name belongs to, or skips the test.
func pythonWithWebsockets(t *testing.T) string {
	t.Helper()
	dir := filepath.Dir(process.Find(t, "websockets", "a peer (pip install websockets)"))
	path := filepath.Join(dir, "python3")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("websockets is installed without its own Python: %v", err)
	}
	return path
}

// node returns the path of Node, or skips the test if Node has no WebSocket: its own, if module
// is empty, or the one of a module.
func node(t *testing.T, module string) (path string, args []string) {
	t.Helper()
	path = process.Find(t, "node", "a peer")
	if module != "" {
		if err := exec.Command(path, "-e", "require('"+module+"')").Run(); err != nil {
			t.Skipf("node has no module %s in NODE_PATH, so nothing is known about it as a peer", module)
		}
		return path, nil
	}
	// Node 20 has one only with this option, which later versions ignore
	args = []string{"--experimental-websocket"}
	if err := exec.Command(path, append(args, "-e", "new WebSocket('x')")...).Run(); err == nil {
		t.Fatal("an invalid URL is accepted")
	}
	if err := exec.Command(path, append(args, "-e", "if (!WebSocket) throw 1")...).Run(); err != nil {
		t.Skip("this node has no WebSocket")
	}
	return path, args
}

// runScript runs a client and checks that it has made all its checks.
func runScript(t *testing.T, checks string, path string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "NODE_TLS_REJECT_UNAUTHORIZED=0", "NODE_NO_WARNINGS=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, stderr.Bytes())
	}
	if got := strings.TrimSpace(stdout.String()); got != checks {
		t.Errorf("the client has made %q checks, want %s", got, checks)
	}
}

// The numbers of checks of the scripts in testdata.
const pythonChecks, nodeChecks = "66", "96"

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func TestPythonClient(t *testing.T) {
	python := pythonWithWebsockets(t)
	for _, s := range ours {
		for _, compress := range []bool{false, true} {
			t.Run(s.name+"/compress="+onOff(compress), func(t *testing.T) {
				t.Parallel()
				tp := newTap(t, s.start(t, options{compress: compress}))
				runScript(t, pythonChecks, python, "testdata/client.py", "ws://"+tp.addr(), onOff(compress))
				checkTraffic(t, tp, compress)
			})
		}
	}
}

func TestNodeClients(t *testing.T) {
	for _, module := range []string{"", "ws"} {
		t.Run("module "+module, func(t *testing.T) {
			path, args := node(t, module)
			for _, s := range ours {
				for _, compress := range []bool{false, true} {
					t.Run(s.name+"/compress="+onOff(compress), func(t *testing.T) {
						t.Parallel()
						tp := newTap(t, s.start(t, options{compress: compress}))
						args := append(args[:len(args):len(args)], "testdata/client.js", "ws://"+tp.addr())
						if module != "" {
							args = append(args, module)
						}
						runScript(t, nodeChecks, path, args...)
						if module != "" { // the one of Node does not always compress
							checkTraffic(t, tp, compress)
						}
					})
				}
			}
		})
	}
}

// startScript starts a server and returns its address.
func startScript(t *testing.T, o options, path string, args ...string) (addr string) {
	t.Helper()
	args = append(args, onOff(o.compress))
	if o.tls {
		args = append(args, certificate(t)...)
	}
	return process.LaunchOnAnyPort(t, process.Command(t, "a peer", path, args...))
}

// certificate returns the names of files with the certificate of net/http/httptest, and its key.
func certificate(t *testing.T) []string {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return writeCertificate(t, s.TLS.Certificates[0])
}

func writeCertificate(t *testing.T, c tls.Certificate) []string {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "cert"), filepath.Join(dir, "key")}
	for i, block := range []pem.Block{{Type: "CERTIFICATE", Bytes: c.Certificate[0]}, {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(files[i], pem.EncodeToMemory(&block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestScriptServers has clients in Go with servers of other languages.
func TestScriptServers(t *testing.T) {
	servers := []server{
		{name: "python", start: func(t *testing.T, o options) string {
			return startScript(t, o, pythonWithWebsockets(t), "testdata/server.py")
		}},
		{name: "ws of node", start: func(t *testing.T, o options) string {
			path, args := node(t, "ws")
			return startScript(t, o, path, append(args, "testdata/server.js")...)
		}},
	}
	for _, s := range servers {
		exercisePair(t, ourClient, s)
	}
}

package grpc

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc/credentials/insecure"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
)

// nginxConf is a front end for a gRPC service, with IN and OUT in place of the ports.
const nginxConf = `
daemon off;
master_process off;
pid nginx.pid;
error_log stderr error;
events {}
http {
	access_log off;
	client_body_temp_path temp;
	proxy_temp_path temp;
	fastcgi_temp_path temp;
	uwsgi_temp_path temp;
	scgi_temp_path temp;
	client_max_body_size 16m;
	upstream out {
		server 127.0.0.1:OUT;
		keepalive 16;
	}
	server {
		listen 127.0.0.1:IN http2;
		location / {
			grpc_pass SCHEME://out;
		}
	}
}
`

// startNginx runs nginx in front of a server.
func startNginx(t *testing.T, s *served) (addr string) {
	t.Helper()
	path := process.Find(t, "nginx", "a front end for gRPC")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "temp"), 0o755); err != nil {
		t.Fatal(err)
	}
	scheme := "grpc"
	if s.tls {
		scheme = "grpcs"
	}
	in := "127.0.0.1:" + process.FreePort(t)
	config := strings.NewReplacer("127.0.0.1:IN", in, "127.0.0.1:OUT", s.addr, "SCHEME", scheme).Replace(nginxConf)
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	cmd := exec.CommandContext(ctx, path, "-e", "stderr", "-p", ".", "-c", "conf")
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr, cmd.WaitDelay = dir, &stderr, patience
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		cancel()
		if t.Failed() {
			t.Logf("nginx says:\n%s", stderr.Bytes())
		}
	})
	process.AwaitListener(t, in)
	return in
}

func TestCallsThroughNginx(t *testing.T) {
	eachServer(t, nil, func(t *testing.T, s *served) {
		checkCalls(t, dial(t, startNginx(t, s), insecure.NewCredentials()))
	})
}

// TestConnectionsOfNginxEnd has a server that ends the connections of nginx after some
// calls.
func TestConnectionsOfNginxEnd(t *testing.T) {
	eachServer(t, func(s *fasthttp.Server) { s.MaxRequestsPerConn = 7 }, func(t *testing.T, s *served) {
		c := dial(t, startNginx(t, s), insecure.NewCredentials())
		for range 50 {
			if got, err := unary(callContext(t), c, "Unary", "x"); got != "x" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		}
	})
}

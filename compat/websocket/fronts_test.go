package websocket

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/valyala/fasthttp/compat/internal/process"
)

// front is a proxy between clients and a server.
type front struct {
	program string
	// config is its configuration, with IN and OUT in place of the addresses. It runs in the
	// folder of this file, with these arguments.
	config string
	args   []string
}

var fronts = []front{
	{"nginx", `
daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events {}
http {
	access_log off;
	client_body_temp_path temp;
	proxy_temp_path temp;
	fastcgi_temp_path temp;
	uwsgi_temp_path temp;
	scgi_temp_path temp;
	map $http_upgrade $connection_upgrade { default upgrade; '' close; }
	server {
		listen IN;
		location / {
			proxy_pass http://OUT;
			proxy_http_version 1.1;
			proxy_set_header Host $http_host;
			proxy_set_header Upgrade $http_upgrade;
			proxy_set_header Connection $connection_upgrade;
			proxy_read_timeout 60s;
		}
	}
}
`, []string{"-e", "stderr", "-p", ".", "-c", "conf"}},
	{"haproxy", `
defaults
	mode http
	timeout connect 60s
	timeout client 60s
	timeout server 60s
	timeout tunnel 60s
frontend in
	bind IN
	default_backend out
backend out
	server sent OUT
`, []string{"-db", "-f", "conf"}},
}

// start runs the front between two addresses, until the end of the test.
func (f *front) start(t *testing.T, out string) (in string) {
	t.Helper()
	path := process.Find(t, f.program, "a front end")
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "temp"), 0o755); err != nil {
		t.Fatal(err)
	}
	in = "127.0.0.1:" + process.FreePort(t)
	config := strings.NewReplacer("IN;", in+";", "bind IN", "bind "+in, "OUT", out).Replace(f.config)
	if err := os.WriteFile(filepath.Join(dir, "conf"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	cmd := exec.CommandContext(ctx, path, f.args...)
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
			t.Logf("%s has written:\n%s", f.program, stderr.Bytes())
		}
	})
	process.AwaitListener(t, in)
	return in
}

func TestBehindFronts(t *testing.T) {
	for i := range fronts {
		f := &fronts[i]
		for _, s := range ours {
			for _, c := range []client{foreignClients[0], ourClient} {
				for _, compress := range []bool{false, true} {
					t.Run(f.program+"/"+c.name+" to "+s.name+"/compress="+onOff(compress), func(t *testing.T) {
						t.Parallel()
						o := options{compress: compress}
						tp := newTap(t, s.start(t, o))
						exercise(t, c.dial, "ws://"+f.start(t, tp.addr()), o)
						checkTraffic(t, tp, compress)
					})
				}
			}
		}
	}
}

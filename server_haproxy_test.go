package fasthttp

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// haproxyFronts are the ways in which an HAProxy forwards connections or requests.
var haproxyFronts = []struct{ name, mode, server string }{
	{"version 1", "tcp", "send-proxy check inter 50ms"},
	{"version 2", "tcp", "send-proxy-v2 check inter 50ms"},
	{"version 2 with a checksum", "tcp", "send-proxy-v2 proxy-v2-options crc32c,unique-id"},
}

// startHAProxy starts an HAProxy in front of the server, and returns the addresses of its
// fronts: of the fronts that forward connections, and of the one that forwards requests.
func startHAProxy(t *testing.T, server net.Addr) (fronts []string, requests string) {
	t.Helper()
	path, err := exec.LookPath("haproxy")
	if err != nil {
		t.Skip("haproxy is not installed, so nothing is known about it as a peer")
	}
	config := new(strings.Builder)
	// a check that takes as long as the machine lets it must not make the server count as down
	config.WriteString("defaults\n timeout connect 10s\n timeout check 30s\n timeout client 60s\n timeout server 60s\n default-server fall 1000\n")
	cmd := exec.Command(path, "-db", "-f", "haproxy.cfg")
	// HAProxy inherits open listeners, so that no other program can take a port
	listen := func(name, mode, server string, more ...string) string {
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		file, err := ln.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		_ = ln.Close()
		t.Cleanup(func() { _ = file.Close() })
		cmd.ExtraFiles = append(cmd.ExtraFiles, file)
		fmt.Fprintf(config, "listen %s\n mode %s\n bind fd@%d\n", strings.ReplaceAll(name, " ", "-"), mode, 2+len(cmd.ExtraFiles))
		for _, line := range more {
			config.WriteString(" " + line + "\n")
		}
		config.WriteString(" server s " + server + "\n")
		return ln.Addr().String()
	}
	for _, front := range haproxyFronts {
		fronts = append(fronts, listen(front.name, front.mode, server.String()+" "+front.server, "unique-id-format %[uuid()]"))
	}
	requests = listen("requests", "http", server.String(),
		"option forwardfor", "http-request set-header X-Forwarded-Proto https", "http-request set-header X-Forwarded-Host %[req.hdr(host)]",
		"http-request set-header Host inside.example")

	cmd.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(cmd.Dir, "haproxy.cfg"), []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("haproxy says:\n%s", output.Bytes())
		}
	})
	return fronts, requests
}

// dialFrom2 opens a connection from a loopback address other than the proxy's.
func dialFrom2(t *testing.T, ts *testServer, addr string) *servertest.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	nc, err := d.Dial("tcp4", addr)
	if err != nil {
		t.Skipf("this system has one local address only: %v", err)
	}
	return ts.Wrap(nc)
}

func TestHAProxyNamesTheClient(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: ends, ProxyProtocol: &ProxyProtocol{From: ranges("127.0.0.1/32")}}
		ts := start(s)
		fronts, _ := startHAProxy(t, ts.Listener.Addr())
		for i, front := range haproxyFronts {
			var conns []*servertest.Conn
			for range 10 {
				c := dialFrom2(t, ts, fronts[i])
				if ts.Engine.TLS {
					c = encrypted(ts, c)
				}
				conns = append(conns, c)
			}
			var clients sync.WaitGroup
			for _, c := range conns {
				clients.Go(func() {
					want := fmt.Sprintf("%v %s 127.0.0.2", c.LocalAddr(), fronts[i])
					for range 20 {
						if _, err := c.Write([]byte(servertest.Get("/"))); err != nil {
							t.Errorf("%s: %v", front.name, err)
							return
						}
						resp, err := servertest.ReadResponse(c.R, "GET")
						if err != nil || resp.Content != want {
							t.Errorf("%s: %q, %v, want %q", front.name, resp.Content, err, want)
							return
						}
					}
				})
			}
			clients.Wait()
		}
		// the health checks of the proxy caused no errors either
		ts.Log.CheckEmpty(t)
	})
}

// The fields that HAProxy sets determine the client address. Fields from the client do not.
func TestHAProxySaysWhoAsks(t *testing.T) {
	t.Parallel()
	for _, e := range servertest.Engines[:2] {
		t.Run(e.Name, func(t *testing.T) {
			ts := startServer(t, e, &Server{
				TrustedProxies: TrustedProxies{Ranges: ranges("127.0.0.1/32"), HostField: HeaderXForwardedHost},
				Handler: func(ctx *RequestCtx) {
					fmt.Fprintf(ctx, "%v %s %s, by %s as %s", ctx.ClientIP(), ctx.ClientScheme(), ctx.ClientHost(), ctx.RemoteIP(), ctx.Host())
				},
			})
			_, front := startHAProxy(t, ts.Listener.Addr())
			c := dialFrom2(t, ts, front)
			for _, sent := range []string{"A: b", "X-Forwarded-For: 127.0.0.1, 192.0.2.1", "X-Forwarded-Host: b.example", "X-Forwarded-Proto: http"} {
				c.Send(servertest.Head("GET / HTTP/1.1", "Host: a.example", sent))
				c.Expect(200, "127.0.0.2 https a.example, by 127.0.0.1 as inside.example")
			}
		})
	}
}

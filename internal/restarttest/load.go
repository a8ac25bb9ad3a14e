package restarttest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/websocket"
)

// Target is a server for a Load. It answers POST requests with 200 and their body, and
// WebSockets of /echo with their messages, over HTTP/1.1 and HTTP/2.
type Target struct {
	// Network and Addr are its address.
	Network, Addr string
	TLS           *tls.Config // nil for HTTP without TLS
	// IdleTime is restart.Runner.IdleTime. On a machine that stands still, a client may send a
	// request later than that after it has connected, or after its last one: the old process has
	// closed the connection then.
	IdleTime time.Duration
}

// excuses reports whether a call may fail because its client has not run for so long.
func (to Target) excuses(since time.Time) bool { return time.Since(since) > to.IdleTime/2 }

func (to Target) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, to.Network, to.Addr)
}

// url returns the URL of a path.
func (to Target) url(scheme, path string) string {
	if to.TLS != nil {
		scheme += "s"
	}
	host := to.Addr
	if to.Network == "unix" {
		host = "localhost"
	}
	return scheme + "://" + host + path
}

// Load is many clients of a server: of HTTP/1.1, with a connection for many requests and with one
// for each; of HTTP/2; and of WebSockets. None of their requests may fail, except for late ones.
type Load struct {
	// HTTP1 and HTTP2 count requests, and Messages counts messages that were echoed. GoneAway
	// counts WebSockets that the server has closed with the status 1001, and Late the calls that
	// failed because their client had not run for too long.
	HTTP1, HTTP2, Messages, GoneAway, Late atomic.Int64

	t    *testing.T
	to   Target
	stop atomic.Bool
	all  sync.WaitGroup
}

// StartLoad starts n clients of each kind.
func StartLoad(t *testing.T, to Target, n int) *Load {
	l := &Load{t: t, to: to}
	for kind, use := range map[string]func() error{
		"HTTP/1.1":                        func() error { return l.post(false, false, &l.HTTP1) },
		"HTTP/1.1, a connection for each": func() error { return l.post(false, true, &l.HTTP1) },
		"HTTP/2":                          func() error { return l.post(true, false, &l.HTTP2) },
		"WebSockets":                      l.echoes,
	} {
		for range n {
			l.all.Go(func() {
				if err := use(); err != nil {
					t.Errorf("a client of %s: %v", kind, err)
				}
			})
		}
	}
	t.Cleanup(l.Stop)
	return l
}

// Progress waits for n more requests of each version, and as many messages.
func (l *Load) Progress(n int64) {
	l.t.Helper()
	for _, calls := range []*atomic.Int64{&l.HTTP1, &l.HTTP2, &l.Messages} {
		before := calls.Load()
		servertest.Eventually(l.t, "more calls", func() bool { return l.t.Failed() || calls.Load() >= before+n })
	}
}

// Stop stops the clients.
func (l *Load) Stop() {
	l.stop.Store(true)
	l.all.Wait()
}

// String returns the counts.
func (l *Load) String() string {
	return fmt.Sprintf("%d requests of HTTP/1.1, %d of HTTP/2, %d messages, %d WebSockets closed with 1001, %d late calls failed",
		l.HTTP1.Load(), l.HTTP2.Load(), l.Messages.Load(), l.GoneAway.Load(), l.Late.Load())
}

// post sends requests of a method that clients do not repeat.
func (l *Load) post(http2, once bool, calls *atomic.Int64) error {
	var p http.Protocols
	p.SetHTTP1(!http2)
	p.SetHTTP2(http2 && l.to.TLS != nil)
	p.SetUnencryptedHTTP2(http2 && l.to.TLS == nil)
	transport := &http.Transport{Protocols: &p, DialContext: l.to.dial, TLSClientConfig: l.to.TLS.Clone(), DisableKeepAlives: once}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 2 * time.Minute}
	for last := time.Now(); !l.stop.Load(); last = time.Now() {
		resp, err := client.Post(l.to.url("http", "/"), "text/plain", strings.NewReader("content"))
		if err != nil && l.to.excuses(last) {
			l.Late.Add(1)
			continue
		}
		if err != nil {
			return err
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || string(body) != "content" {
			return fmt.Errorf("status %d, %q: %w", resp.StatusCode, body, err)
		}
		calls.Add(1)
	}
	return nil
}

// echoes sends messages. A connection may only end with 1001.
func (l *Load) echoes() error {
	d := &websocket.Dialer{NetDialContext: l.to.dial, TLSClientConfig: l.to.TLS.Clone()}
	for !l.stop.Load() {
		begun := time.Now()
		c, _, err := d.Dial(l.to.url("ws", "/echo"), nil)
		if err != nil && l.to.excuses(begun) {
			l.Late.Add(1)
			continue
		}
		if err != nil {
			return err
		}
		err = l.echo(c)
		_ = c.Close()
		if websocket.IsCloseError(err, websocket.CloseGoingAway) {
			l.GoneAway.Add(1)
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (l *Load) echo(c *websocket.Conn) error {
	for !l.stop.Load() {
		// if the server has closed, the read has its status
		sent := c.WriteMessage(websocket.TextMessage, []byte("message"))
		_, data, err := c.ReadMessage()
		if err != nil {
			return err
		}
		if sent != nil || string(data) != "message" {
			return errors.Join(sent, fmt.Errorf("got %q", data))
		}
		l.Messages.Add(1)
	}
	return nil
}

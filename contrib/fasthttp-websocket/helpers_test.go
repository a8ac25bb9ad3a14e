package websocket

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// settings are fields that the upgraders have in common.
type settings struct {
	subprotocols []string
	compress     bool
	anyOrigin    bool
}

// server is a way to serve connections.
type server struct {
	name string
	// start returns the URL of a server that calls handler with connections, and sends the
	// errors of upgrades to refused if that is not nil.
	start func(t *testing.T, s settings, refused chan<- error, handler func(c *Conn)) string
}

var servers = []server{
	{"event", fastServer(fasthttp.EngineAuto)},
	{"portable", fastServer(fasthttp.EnginePortable)},
	{"net/http", startHTTP},
}

func fastServer(engine fasthttp.Engine) func(*testing.T, settings, chan<- error, func(*Conn)) string {
	return func(t *testing.T, s settings, refused chan<- error, handler func(*Conn)) string {
		up := FastHTTPUpgrader{Subprotocols: s.subprotocols, EnableCompression: s.compress}
		if s.anyOrigin {
			up.CheckOrigin = func(*fasthttp.RequestCtx) bool { return true }
		}
		ln, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		srv := &fasthttp.Server{Engine: engine, Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.Set("X-Greeting", "hello")
			if err := up.Upgrade(ctx, handler); err != nil && refused != nil {
				refused <- err
			}
		}}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(ln) }()
		t.Cleanup(func() {
			if err := srv.Shutdown(); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
			if err := receive(t, served); err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
		return "ws://" + ln.Addr().String() + "/"
	}
}

func startHTTP(t *testing.T, s settings, refused chan<- error, handler func(*Conn)) string {
	up := Upgrader{Subprotocols: s.subprotocols, EnableCompression: s.compress, HandshakeTimeout: patience}
	if s.anyOrigin {
		up.CheckOrigin = func(*http.Request) bool { return true }
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(w, r, http.Header{"X-Greeting": {"hello"}})
		if err != nil {
			if refused != nil {
				refused <- err
			}
			return
		}
		defer c.Close()
		handler(c)
	}))
	t.Cleanup(srv.Close)
	return "ws://" + strings.TrimPrefix(srv.URL, "http://") + "/"
}

// everywhere runs a test with each server.
func everywhere(t *testing.T, test func(t *testing.T, s server)) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// dial connects, and limits what the client waits for.
func dial(t *testing.T, d *Dialer, url string) (*Conn, *http.Response) {
	t.Helper()
	c, resp, err := d.Dial(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c, resp
}

// receive returns a value of the channel.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("nothing has happened")
		panic("unreachable")
	}
}

// echo returns all messages, and then the error.
func echo(c *Conn) error {
	for {
		kind, p, err := c.ReadMessage()
		if err == nil {
			err = c.WriteMessage(kind, p)
		}
		if err != nil {
			return err
		}
	}
}

func echoing(c *Conn) { _ = echo(c) }

func wantMessage(t *testing.T, c *Conn, kind int, text string) {
	t.Helper()
	got, p, err := c.ReadMessage()
	if err != nil || got != kind || string(p) != text {
		t.Fatalf("got %d, %d bytes %.50q, %v; want %d, %d bytes %.50q", got, len(p), p, err, kind, len(text), text)
	}
}

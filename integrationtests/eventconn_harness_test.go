package integrationtests

import (
	"bytes"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// lines is an EventHandler of a protocol of lines. Nil functions do nothing.
type lines struct {
	conn    fasthttp.EventConn
	opened  func(c *lines)
	line    func(c *lines, line string)
	drained func(c *lines)
	tick    func(c *lines)
	stop    func(c *lines)
	ended   chan error
}

// switching returns a handler that switches each connection to lines made by prepare.
func switching(prepare func(c *lines)) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		c := &lines{ended: make(chan error, 10), stop: func(c *lines) { _ = c.conn.Close() }}
		prepare(c)
		ctx.SetStatusCode(fasthttp.StatusSwitchingProtocols)
		ctx.Response.Header.Set("Connection", "Upgrade")
		ctx.Response.Header.Set("Upgrade", "lines")
		ctx.SwitchProtocols(&c.conn, c)
	}
}

func (c *lines) Opened(conn *fasthttp.EventConn) {
	if conn != &c.conn {
		panic("another connection")
	}
	if c.opened != nil {
		c.opened(c)
	}
}

func (c *lines) Received(_ *fasthttp.EventConn, p []byte) (n int) {
	for {
		i := bytes.IndexByte(p[n:], '\n')
		if i < 0 {
			return n
		}
		line := string(p[n : n+i])
		n += i + 1
		if c.line != nil {
			c.line(c, line)
		}
	}
}

func (c *lines) Drained(*fasthttp.EventConn) { c.drained(c) }

func (c *lines) Tick(*fasthttp.EventConn) { c.tick(c) }

func (c *lines) ShuttingDown(*fasthttp.EventConn) {
	if c.stop != nil {
		c.stop(c)
	}
}

func (c *lines) Ended(_ *fasthttp.EventConn, err error) { c.ended <- err }

// say sends a line.
func (c *lines) say(text string) { _, _ = c.conn.Write([]byte(text + "\n")) }

// echoes answers each line with itself.
func echoes(c *lines) { c.line = (*lines).say }

// connsOf returns a handler that switches to lines, and the connections that it has made.
func connsOf(prepare func(c *lines)) (fasthttp.RequestHandler, <-chan *lines) {
	made := make(chan *lines, 100)
	return switching(func(c *lines) {
		prepare(c)
		made <- c
	}), made
}

// dialLines opens a connection, and switches it to lines.
func dialLines(t *testing.T, ts *testServer, ahead string) *servertest.Conn {
	t.Helper()
	c := ts.Dial()
	c.Send(servertest.Get("/", "Connection: Upgrade", "Upgrade: lines") + ahead)
	if resp := c.Next("GET"); resp.StatusCode != 101 || resp.Header.Get("Upgrade") != "lines" {
		t.Fatalf("got %d %v", resp.StatusCode, resp.Header)
	}
	return c
}

// unreadable is more than sockets take.
var unreadable = sync.OnceValue(func() []byte { return make([]byte, 64<<20) })

package integrationtests

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// h2Leavings are ways in which an HTTP/2 client disconnects.
var h2Leavings = map[string]func(c *h2Conn){
	"at once":            func(*h2Conn) {},
	"in the preface":     func(c *h2Conn) { c.Raw(http2.ClientPreface[:10]).Flush() },
	"after the preface":  func(c *h2Conn) { c.Raw(http2.ClientPreface).Flush() },
	"in a frame":         func(c *h2Conn) { c.Raw(http2.ClientPreface).Raw("\x00\x00\x06\x04\x00\x00").Flush() },
	"after the settings": func(c *h2Conn) { greetWith(c, 65535) },
	"after a response":   func(c *h2Conn) { greetWith(c, 65535).Ask(1, "/") },
	"in a head": func(c *h2Conn) {
		greetWith(c, 65535)
		begun(c)
		c.Flush()
	},
	"in a body": func(c *h2Conn) { greetWith(c, 65535).Post(1, "/").Data(1, 0, strings.Repeat("x", 10_000)).Flush() },
	"in a streamed body": func(c *h2Conn) {
		greetWith(c, 65535).Post(1, "/read").Data(1, 0, strings.Repeat("x", 10_000)).Flush()
		c.Sync()
	},
	"in many bodies": func(c *h2Conn) {
		greetWith(c, 65535)
		for i := range uint32(50) {
			c.Post(id(i), "/").Data(id(i), 0, strings.Repeat("x", 1000))
		}
		c.Flush()
		c.Sync()
	},
	"in a large response":     func(c *h2Conn) { awaitBegin(c, "/large") },
	"in a streamed response":  func(c *h2Conn) { awaitBegin(c, "/stream") },
	"in an endless response":  func(c *h2Conn) { awaitBegin(c, "/endless") },
	"while a handler watches": func(c *h2Conn) { greetWith(c, 65535).Get(1, "/watch").Flush(); c.Sync() },
	"after a GOAWAY": func(c *h2Conn) {
		greetWith(c, 65535).Ask(1, "/")
		c.Frame(http2.FrameGoAway, 0, 0, words(0, 0)).Flush()
		c.Sync()
	},
	"after a fault": func(c *h2Conn) {
		greetWith(c, 65535).Frame(http2.FrameWindowUpdate, 0, 0, words(0)).Flush()
		_ = c.Ending()
	},
	"after a panic": func(c *h2Conn) { greetWith(c, 65535).Ask(1, "/panic") },
	"after a reset": func(c *h2Conn) {
		awaitBegin(c, "/endless")
		c.Reset(1, http2.ErrCodeCancel).Flush()
		c.Sync()
	},
}

// awaitBegin reads the beginning of a response.
func awaitBegin(c *h2Conn, path string) {
	greetWith(c, 65535).Get(1, path).Flush()
	servertest.Eventually(c.T, "a response", func() bool { return c.Snapshot(1).Length > 0 || c.IsOver() })
}

func handleH2Leaving(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/panic":
		panic("this one ends")
	case "/watch":
		ctx.WatchDisconnect()
		<-ctx.Done()
	default:
		slowHandler(ctx)
	}
}

// After an HTTP/2 connection has ended in any way, the server keeps no memory, goroutine or
// descriptor of it.
func TestConnectionsOfHTTP2LeaveNothingBehind(t *testing.T) {
	servertest.Apart(t, testConnectionsOfHTTP2LeaveNothingBehind)
}

func testConnectionsOfHTTP2LeaveNothingBehind(t *testing.T) {
	rounds := make(map[string]func())
	for i, name := range slices.Sorted(maps.Keys(h2Leavings)) {
		for _, e := range http2Engines(i) {
			// idle workers are not a leak
			s := &fasthttp.Server{Handler: handleH2Leaving, Logger: noLog{}, MaxIdleWorkerDuration: time.Millisecond, StreamRequestBody: name == "in a streamed body"}
			ts := serveHTTP2(t, e, s)
			rounds[name+"/"+e.Name] = func() { leaveOneByOne(ts, h2Leavings[name]) }
		}
	}
	expectNothingLeft(t, 1<<20, rounds)
}

// leaveOneByOne opens connections to a server, one after the other, which all end in one way.
func leaveOneByOne(ts *testServer, leave func(c *h2Conn)) {
	const crowd = 6
	for range crowd {
		c := dialHTTP2(ts)
		leave(c)
		_ = c.Close()
	}
	ts.Conns = nil
	servertest.Eventually(ts.T, "the end of all connections", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
}

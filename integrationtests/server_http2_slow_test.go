package integrationtests

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// h2Slow is a client that holds a connection up. It waits for the end that this must have:
// what it returns is compared with want.
type h2Slow struct {
	name      string
	configure func(s *fasthttp.Server)
	use       func(c *h2Conn) string
	want      string
	// long says that a limit of ten seconds and more is waited for, which no option makes
	// shorter: in a bubble, or if a soak is asked for
	long bool
	// unread says that nothing is read. The server waits for that with a lock held, so that no
	// time would pass in a bubble.
	unread bool
}

const (
	heldUp = reach
	drip   = 20 * time.Millisecond
)

func readTimeout(s *fasthttp.Server)  { s.ReadTimeout = heldUp }
func writeTimeout(s *fasthttp.Server) { s.WriteTimeout = heldUp }
func idleTimeout(s *fasthttp.Server)  { s.IdleTimeout = heldUp }
func byteTimeout(s *fasthttp.Server)  { s.HTTP2.WriteByteTimeout = heldUp }
func noTimeout(*fasthttp.Server)      {}

func streamed(s *fasthttp.Server) {
	readTimeout(s)
	s.StreamRequestBody = true
}

// greets exchanges settings, and has the frames of the server read. The windows of the
// client have a size.
func (c *h2Conn) greets(window uint32) *h2Conn {
	c.raw(http2.ClientPreface).settings(uint32(http2.SettingInitialWindowSize), window).frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "")
	c.flush()
	return c.listen()
}

// cut waits for the end of a connection, with a GOAWAY without a fault if the server knows
// that it is one of HTTP/2.
func (c *h2Conn) cut() string {
	got := c.listen().end()
	if strings.HasPrefix(got, "cut") || strings.HasPrefix(got, "NO_ERROR") {
		return "cut"
	}
	return got
}

// drips sends a frame again and again, until the stream has ended.
func (c *h2Conn) drips(id uint32, frame func()) string {
	for s := c.seen.stream(id); s.reset == "" && !s.ended && !c.seen.isOver(); s = c.seen.stream(id) {
		frame()
		if c.write() != nil {
			break
		}
		pass(drip)
	}
	if got := c.verdict(); got != "" {
		return got
	}
	if s := c.seen.stream(id); !s.ended {
		return s.reset
	}
	return c.seen.stream(id).status()
}

// slows are the clients. Each holds something up that the server bounds by time.
var slows = []h2Slow{
	{name: "nothing is sent", configure: readTimeout, want: "cut", use: (*h2Conn).cut},
	{name: "a part of the preface", configure: readTimeout, want: "cut", use: func(c *h2Conn) string {
		c.raw(http2.ClientPreface[:5]).flush()
		return c.cut()
	}},
	{name: "no SETTINGS", long: true, configure: noTimeout, want: "SETTINGS_TIMEOUT", use: func(c *h2Conn) string {
		c.raw(http2.ClientPreface).flush()
		return c.listen().end()
	}},
	{name: "no acknowledgement", long: true, configure: noTimeout, want: "SETTINGS_TIMEOUT", use: func(c *h2Conn) string {
		c.raw(http2.ClientPreface).settings().flush()
		return c.listen().end()
	}},
	{name: "idle", configure: idleTimeout, want: "NO_ERROR", use: func(c *h2Conn) string {
		c.greets(65535).ask(1, "/")
		// the second one says which was the last stream
		return strings.TrimPrefix(c.end(), "NO_ERROR ")
	}},
	{name: "a head without end", long: true, configure: noTimeout, want: calm, use: func(c *h2Conn) string {
		c.greets(65535)
		begun(c)
		c.flush()
		return c.end()
	}},
	{name: "a body that does not come", configure: readTimeout, want: "408", use: func(c *h2Conn) string {
		c.greets(65535).post(1, "/").flush()
		return c.await(1).status()
	}},
	{name: "a body that drips", configure: readTimeout, want: "408", use: func(c *h2Conn) string {
		c.greets(65535).post(1, "/").flush()
		return c.drips(1, func() { c.data(1, 0, "a") })
	}},
	{name: "a streamed body that drips", configure: streamed, want: "200", use: func(c *h2Conn) string {
		c.greets(65535).post(1, "/read").flush()
		return c.drips(1, func() { c.data(1, 0, "a") })
	}},
	{name: "no window for a response", configure: writeTimeout, want: "CANCEL", use: func(c *h2Conn) string {
		return c.greets(1).ask(1, "/large").reset
	}},
	{name: "a window that drips", configure: writeTimeout, want: "CANCEL", use: func(c *h2Conn) string {
		c.greets(1).get(1, "/large").flush()
		return c.drips(1, func() { c.window(1, 1) })
	}},
	{name: "no window for a streamed response", configure: writeTimeout, want: "CANCEL", use: func(c *h2Conn) string {
		return c.greets(1).ask(1, "/stream").reset
	}},
	{name: "no window of the connection", configure: writeTimeout, want: "CANCEL", use: func(c *h2Conn) string {
		return c.greets(largeStep).ask(1, "/large").reset
	}},
	{name: "no window, and no timeout", long: true, configure: noTimeout, want: calm, use: func(c *h2Conn) string {
		return c.greets(1).ask(1, "/large").reset
	}},
	{name: "no window, and a short pause", configure: byteTimeout, want: calm, use: func(c *h2Conn) string {
		return c.greets(1).ask(1, "/large").reset
	}},
	{name: "no window for a streamed response, and a short pause", configure: byteTimeout, want: calm, use: func(c *h2Conn) string {
		return c.greets(1).ask(1, "/stream").reset
	}},
	{name: "a window that drips, and no timeout", long: true, configure: noTimeout, want: calm, use: func(c *h2Conn) string {
		c.greets(1).get(1, "/large").flush()
		return c.drips(1, func() { c.window(1, 1) })
	}},
	{name: "no window of the connection, and no timeout", long: true, configure: noTimeout, want: calm, use: func(c *h2Conn) string {
		c.greets(largeStep).get(1, "/large").flush()
		return c.end()
	}},
	{name: "no window for trailers", configure: writeTimeout, want: "CANCEL", use: func(c *h2Conn) string {
		return c.greets(0).ask(1, "/trailers").reset
	}},
	{name: "a client that does not read (CVE-2019-9517)", configure: byteTimeout, unread: true, want: "cut", use: func(c *h2Conn) string {
		c.unread()
		for i := range uint32(h2Streams) {
			c.get(id(i), "/large")
		}
		c.flush()
		return c.stalls()
	}},
	{name: "a client that does not read, and sends PING", configure: byteTimeout, unread: true, want: "cut", use: func(c *h2Conn) string {
		c.unread()
		c.get(1, "/endless")
		for range 900 {
			c.frame(http2.FramePing, 0, 0, "12345678")
		}
		c.flush()
		return c.stalls()
	}},
	{name: "a client that does not read a stream", configure: byteTimeout, unread: true, want: "cut", use: func(c *h2Conn) string {
		c.unread()
		c.get(1, "/endless").flush()
		return c.stalls()
	}},
	{name: "a half-closed socket", configure: noTimeout, want: "over", use: func(c *h2Conn) string {
		c.greets(65535).get(1, "/wait-a-little").flush()
		if _, ok := c.Conn.Conn.(interface{ CloseWrite() error }); !ok {
			return "over"
		}
		c.EndWrites()
		servertest.Receive(c.T, "the end of the connection", c.seen.over)
		return "over"
	}},
	{name: "a half-closed socket without a request", configure: noTimeout, want: "over", use: func(c *h2Conn) string {
		c.greets(65535).ask(1, "/")
		if _, ok := c.Conn.Conn.(interface{ CloseWrite() error }); !ok {
			return "over"
		}
		c.EndWrites()
		servertest.Receive(c.T, "the end of the connection", c.seen.over)
		return "over"
	}},
}

// unread greets, and opens all windows, though nothing is read.
func (c *h2Conn) unread() {
	if tcp, ok := c.Conn.Conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4 << 10)
	}
	c.raw(http2.ClientPreface).settings(uint32(http2.SettingInitialWindowSize), largeStep).window(0, largeStep-65535)
	c.frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "")
}

// stalls waits until the server has given the connection up, and reads the rest of it.
func (c *h2Conn) stalls() string {
	awaitClosed(c)
	_, _ = io.Copy(io.Discard, c.R)
	return "cut"
}

// awaitClosed writes until that fails, as it does when the server has closed the connection.
func awaitClosed(c *h2Conn) {
	servertest.Eventually(c.T, "the end of a connection that nobody reads", func() bool {
		return c.frame(0xbb, 0, 0, strings.Repeat("x", 1<<10)).write() != nil
	})
}

// slowHandler is the handler of a server with slow clients.
func slowHandler(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/read":
		_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
		if err == nil {
			ctx.SetStatusCode(201)
		}
	case "/large":
		ctx.Response.SetBodyRaw(largeBody)
	case "/stream":
		ctx.Response.SetBodyStream(bytes.NewReader(largeBody), -1)
	case "/endless":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for err := error(nil); err == nil; {
				_, err = w.Write(largeBody[:16<<10])
			}
		})
	case "/trailers":
		_ = ctx.Response.Header.AddTrailer("X")
		ctx.Response.Header.Set("X", "y")
		ctx.SetBodyString("ok")
	case "/wait-a-little":
		pass(drip)
	default:
		ctx.SetBodyString("ok")
	}
}

var largeBody = make([]byte, 1<<20)

func TestSlowClientsOfHTTP2AreEnded(t *testing.T) {
	t.Parallel()
	for i, slow := range slows {
		if !slow.unread {
			t.Run(slow.name+"/in a bubble", func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(t *testing.T) { slow.run(t, servertest.MemoryEngine) })
			})
		}
		if slow.long && !isSoak() {
			continue
		}
		for _, e := range http2Engines(i) {
			t.Run(slow.name+"/"+e.Name, func(t *testing.T) {
				t.Parallel()
				slow.run(t, e)
			})
		}
	}
}

func (s *h2Slow) run(t *testing.T, e servertest.Engine) {
	server := &fasthttp.Server{Handler: slowHandler, Logger: noLog{}}
	s.configure(server)
	ts := serveHTTP2(t, e, server)
	other := greetHTTP2(ts).listen()
	c := dialHTTP2(ts)
	_ = c.SetDeadline(time.Now().Add(2 * servertest.Patience))
	if got := s.use(c); got != s.want {
		t.Errorf("%q, want %q", got, s.want)
	}
	if server.IdleTimeout == 0 && server.ReadTimeout == 0 {
		other.ask(1, "/")
	}
	_ = c.Close()
	_ = other.Close()
	servertest.Eventually(t, "the end of all connections", func() bool { return server.GetOpenConnectionsCount() == 0 })
}

// Responses that nobody reads wait in the server. Those that handlers make piece by piece
// hold some pieces each; others nothing but what the handler has given.
func TestUnreadResponsesOfHTTP2HoldLittle(t *testing.T) {
	for i, c := range []struct {
		path string
		most int64 // for each connection
	}{
		{"/large", 2 << 20}, {"/stream", h2Streams * 128 << 10}, {"/endless", h2Streams * 256 << 10},
	} {
		for _, e := range http2Engines(i) {
			t.Run(e.Name+c.path, func(t *testing.T) { checkUnread(t, e, c.path, c.most) })
		}
	}
}

func checkUnread(t *testing.T, e servertest.Engine, path string, most int64) {
	const crowd = 4
	var began atomic.Int32
	s := &fasthttp.Server{Logger: noLog{}, MaxIdleWorkerDuration: time.Millisecond, Handler: func(ctx *fasthttp.RequestCtx) {
		began.Add(1)
		slowHandler(ctx)
	}}
	ts := serveHTTP2(t, e, s)
	before := servertest.Measure(t)
	for range crowd {
		c := dialHTTP2(ts)
		c.unread()
		for i := range uint32(h2Streams) {
			c.get(id(i), path)
		}
		c.flush()
	}
	// the server need not read requests whose responses it cannot write
	servertest.Eventually(t, "a request of each", func() bool { return began.Load() >= crowd })
	stopsForAWhile(func() int64 { return int64(began.Load()) })
	after, requests := servertest.Measure(t), began.Load()
	each := (after.Heap - before.Heap) / crowd
	t.Logf("%d KiB for each connection; %d requests; before: %v, after: %v", each>>10, requests, before, after)
	if each > most {
		t.Errorf("%d bytes for each connection", each)
	}
	for _, c := range ts.Conns {
		_ = c.Close()
	}
	servertest.Eventually(t, "the end of all connections", func() bool { return s.GetOpenConnectionsCount() == 0 })
}

// A response has its time, though the client takes some of it again and again.
func TestWriteTimeoutOfHTTP2EndsDrippingReaders(t *testing.T) {
	t.Parallel()
	forEachHTTP2(t, func(t *testing.T, e servertest.Engine) {
		t.Parallel()
		ended := make(chan struct{})
		server := &fasthttp.Server{WriteTimeout: heldUp, Logger: noLog{}, Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				defer close(ended)
				for err := error(nil); err == nil; {
					_, err = w.Write(largeBody[:16<<10])
				}
			})
		}}
		// what else would end it
		server.HTTP2.WriteByteTimeout = servertest.Never
		ts := serveHTTP2(t, e, server)
		c := dialHTTP2(ts)
		c.unread()
		c.get(1, "/").flush()
		go func() {
			b := make([]byte, 256)
			for err := error(nil); err == nil; pass(drip) {
				_, err = c.Read(b)
			}
		}()
		servertest.Receive(t, "the end of the response", ended)
		_ = c.Close()
	})
}

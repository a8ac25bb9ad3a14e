package integrationtests

import (
	"bufio"
	"bytes"
	"fmt"
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

// h2Slow is a client that stalls a connection. It waits for the expected end and returns it;
// the result is compared with want.
type h2Slow struct {
	name      string
	configure func(s *fasthttp.Server)
	use       func(c *h2Conn) string
	want      string
	// long is set if the client waits for a limit of ten seconds or more, which no option
	// shortens: then it runs in a bubble, or in a soak
	long bool
}

const (
	heldUp = reach
	drip   = 20 * time.Millisecond
)

func readTimeout(s *fasthttp.Server)  { s.ReadTimeout = heldUp }
func writeTimeout(s *fasthttp.Server) { s.WriteTimeout = heldUp }
func idleTimeout(s *fasthttp.Server)  { s.IdleTimeout = heldUp }
func byteTimeout(s *fasthttp.Server)  { s.HTTP2.WriteByteTimeout = heldUp }
func headTimeout(s *fasthttp.Server)  { s.ReadHeaderTimeout = heldUp }
func noTimeout(*fasthttp.Server)      {}

func streamed(s *fasthttp.Server) {
	readTimeout(s)
	s.StreamRequestBody = true
}

// greetWith exchanges settings, and starts to read the frames of the server. window is the
// size of the client's windows.
func greetWith(c *h2Conn, window uint32) *h2Conn {
	c.Raw(http2.ClientPreface).Settings(uint32(http2.SettingInitialWindowSize), window).Frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "")
	c.Flush()
	return c.Listen()
}

// cutOf waits for the end of a connection that has not begun: with a GOAWAY if the server knows
// that it is an HTTP/2 connection.
func cutOf(c *h2Conn) string {
	got := c.Listen().Ending()
	for _, end := range []string{"cut", "NO_ERROR", "SETTINGS_TIMEOUT"} {
		if strings.HasPrefix(got, end) {
			return "cut"
		}
	}
	return got
}

// dripFrames sends a frame repeatedly, until the stream has ended.
func dripFrames(c *h2Conn, id uint32, frame func()) string {
	for s := c.Snapshot(id); s.ResetCode() == "" && !s.Ended && !c.IsOver(); s = c.Snapshot(id) {
		frame()
		if c.TryFlush() != nil {
			break
		}
		pass(drip)
	}
	if got := c.Verdict(); got != "" {
		return got
	}
	if s := c.Snapshot(id); !s.Ended {
		return s.ResetCode()
	}
	return c.Snapshot(id).Status()
}

// dripBytes sends a text byte by byte, one byte after every drips, until the connection ends.
func dripBytes(c *h2Conn, text string, every int) string {
	drips := 0
	dripFrames(c, 1, func() {
		if i := drips / every; drips%every == 0 && i < len(text) {
			c.Raw(text[i : i+1])
		}
		drips++
	})
	return c.Ending()
}

// slows are the clients. Each stalls something that has a timeout in the server.
var slows = []h2Slow{
	{name: "nothing is sent", configure: readTimeout, want: "cut", use: cutOf},
	{name: "a part of the preface", configure: readTimeout, want: "cut", use: func(c *h2Conn) string {
		c.Raw(http2.ClientPreface[:5]).Flush()
		return cutOf(c)
	}},
	{name: "no SETTINGS", long: true, configure: noTimeout, want: "SETTINGS_TIMEOUT", use: func(c *h2Conn) string {
		c.Raw(http2.ClientPreface).Flush()
		return c.Listen().Ending()
	}},
	{name: "no acknowledgement", long: true, configure: noTimeout, want: "SETTINGS_TIMEOUT", use: func(c *h2Conn) string {
		c.Raw(http2.ClientPreface).Settings().Flush()
		return c.Listen().Ending()
	}},
	{name: "SETTINGS that drip", long: true, configure: headTimeout, want: "SETTINGS_TIMEOUT", use: func(c *h2Conn) string {
		c.Raw(http2.ClientPreface).Flush()
		return dripBytes(c.Listen(), "\x00\x00\x24\x04\x00\x00\x00\x00\x00"+strings.Repeat("\x00\x04\x00\x00\x00\x01", 6), 25)
	}},
	{name: "idle", configure: idleTimeout, want: "NO_ERROR", use: func(c *h2Conn) string {
		greetWith(c, 65535).Ask(1, "/")
		// the second GOAWAY has the last stream
		return strings.TrimPrefix(c.Ending(), "NO_ERROR ")
	}},
	{name: "a head without end", long: true, configure: noTimeout, want: calm, use: func(c *h2Conn) string {
		greetWith(c, 65535)
		begun(c)
		c.Flush()
		return c.Ending()
	}},
	{name: "a body that does not come", configure: readTimeout, want: "408", use: func(c *h2Conn) string {
		greetWith(c, 65535).Post(1, "/").Flush()
		return c.Await(1).Status()
	}},
	{name: "a body that drips", configure: readTimeout, want: "408", use: func(c *h2Conn) string {
		greetWith(c, 65535).Post(1, "/").Flush()
		return dripFrames(c, 1, func() { c.Data(1, 0, "a") })
	}},
	{name: "a streamed body that drips", configure: streamed, want: "200", use: func(c *h2Conn) string {
		greetWith(c, 65535).Post(1, "/read").Flush()
		return dripFrames(c, 1, func() { c.Data(1, 0, "a") })
	}},
	{name: "no window for a response", configure: writeTimeout, want: "CANCEL", use: func(c *h2Conn) string {
		return greetWith(c, 1).Ask(1, "/large").ResetCode()
	}},
	{name: "a window that drips", configure: writeTimeout, want: "CANCEL", use: func(c *h2Conn) string {
		greetWith(c, 1).Get(1, "/large").Flush()
		return dripFrames(c, 1, func() { c.Window(1, 1) })
	}},
	{name: "no window for a streamed response", configure: writeTimeout, want: "CANCEL", use: func(c *h2Conn) string {
		return greetWith(c, 1).Ask(1, "/stream").ResetCode()
	}},
	{name: "no window of the connection", configure: writeTimeout, want: "CANCEL", use: func(c *h2Conn) string {
		return greetWith(c, largeStep).Ask(1, "/large").ResetCode()
	}},
	{name: "no window, and no timeout", long: true, configure: noTimeout, want: calm, use: func(c *h2Conn) string {
		return greetWith(c, 1).Ask(1, "/large").ResetCode()
	}},
	{name: "no window, and a short pause", configure: byteTimeout, want: calm, use: func(c *h2Conn) string {
		return greetWith(c, 1).Ask(1, "/large").ResetCode()
	}},
	{name: "no window for a streamed response, and a short pause", configure: byteTimeout, want: calm, use: func(c *h2Conn) string {
		return greetWith(c, 1).Ask(1, "/stream").ResetCode()
	}},
	{name: "a window that drips, and no timeout", long: true, configure: noTimeout, want: calm, use: func(c *h2Conn) string {
		greetWith(c, 1).Get(1, "/large").Flush()
		return dripFrames(c, 1, func() { c.Window(1, 1) })
	}},
	{name: "no window of the connection, and no timeout", long: true, configure: noTimeout, want: calm, use: func(c *h2Conn) string {
		greetWith(c, largeStep).Get(1, "/large").Flush()
		return c.Ending()
	}},
	{name: "no window for trailers", configure: writeTimeout, want: "CANCEL", use: func(c *h2Conn) string {
		return greetWith(c, 0).Ask(1, "/trailers").ResetCode()
	}},
	{name: "a client that does not read (CVE-2019-9517)", configure: byteTimeout, want: "cut", use: func(c *h2Conn) string {
		readNothing(c)
		for i := range uint32(h2Streams) {
			c.Get(id(i), "/large")
		}
		c.Flush()
		return stall(c)
	}},
	{name: "a client that does not read, and sends PING", configure: byteTimeout, want: "cut", use: func(c *h2Conn) string {
		readNothing(c)
		c.Get(1, "/endless")
		for range 900 {
			c.Frame(http2.FramePing, 0, 0, "12345678")
		}
		c.Flush()
		return stall(c)
	}},
	{name: "a client that does not read a stream", configure: byteTimeout, want: "cut", use: func(c *h2Conn) string {
		readNothing(c)
		c.Get(1, "/endless").Flush()
		return stall(c)
	}},
	{name: "a half-closed socket", configure: noTimeout, want: "over", use: func(c *h2Conn) string {
		greetWith(c, 65535).Get(1, "/yield").Flush()
		if _, ok := c.Conn.Conn.(interface{ CloseWrite() error }); !ok {
			return "over"
		}
		c.EndWrites()
		servertest.Receive(c.T, "the end of the connection", c.Over)
		return "over"
	}},
	{name: "a half-closed socket without a request", configure: noTimeout, want: "over", use: func(c *h2Conn) string {
		greetWith(c, 65535).Ask(1, "/")
		if _, ok := c.Conn.Conn.(interface{ CloseWrite() error }); !ok {
			return "over"
		}
		c.EndWrites()
		servertest.Receive(c.T, "the end of the connection", c.Over)
		return "over"
	}},
}

// readNothing greets, and opens all windows, but reads nothing.
func readNothing(c *h2Conn) {
	if tcp, ok := c.Conn.Conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4 << 10)
	}
	c.Raw(http2.ClientPreface).Settings(uint32(http2.SettingInitialWindowSize), largeStep).Window(0, largeStep-65535)
	c.Frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "")
}

// openNoWindow greets with windows in which the server cannot send content.
func openNoWindow(c *h2Conn) {
	c.Raw(http2.ClientPreface).Settings(uint32(http2.SettingInitialWindowSize), 0).AckSettings()
}

// stall waits until the server has closed the connection, and reads the rest of it.
func stall(c *h2Conn) string {
	awaitClosed(c)
	_, _ = io.Copy(io.Discard, c.R)
	return "cut"
}

// awaitClosed writes until that fails, as it does when the server has closed the connection.
func awaitClosed(c *h2Conn) {
	servertest.Eventually(c.T, "the end of a connection that nobody reads", func() bool {
		return c.Frame(0xbb, 0, 0, strings.Repeat("x", 1<<10)).TryFlush() != nil
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
	case "/pieces":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for err := error(nil); err == nil; err = w.Flush() {
				_, _ = w.Write(largeBody[:1<<10])
			}
		})
	case "/trailers":
		_ = ctx.Response.Header.AddTrailer("X")
		ctx.Response.Header.Set("X", "y")
		ctx.SetBodyString("ok")
	case "/yield":
		yield(10_000)
	default:
		ctx.SetBodyString("ok")
	}
}

var largeBody = make([]byte, 1<<20)

func TestSlowClientsOfHTTP2AreEnded(t *testing.T) {
	t.Parallel()
	sideBySide(t, func(run func(name string, test func(t testing.TB))) {
		for i, slow := range slows {
			t.Run(slow.name+"/in a bubble", func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(t *testing.T) { slow.run(t, servertest.MemoryEngine) })
			})
			if slow.long && !isSoak() {
				continue
			}
			for _, e := range http2Engines(i) {
				run(slow.name+"/"+e.Name, func(t testing.TB) { slow.run(t, e) })
			}
		}
	})
}

func (s *h2Slow) run(t testing.TB, e servertest.Engine) {
	server := &fasthttp.Server{Handler: slowHandler, Logger: noLog{}}
	s.configure(server)
	ts := serveHTTP2(t, e, server)
	other := greetHTTP2(ts).Listen()
	c := dialHTTP2(ts)
	_ = c.SetDeadline(time.Now().Add(2 * servertest.Patience))
	if got := s.use(c); got != s.want {
		t.Errorf("%q, want %q", got, s.want)
	}
	if server.IdleTimeout == 0 && server.ReadTimeout == 0 {
		other.Ask(1, "/")
	}
	_ = c.Close()
	_ = other.Close()
	servertest.Eventually(t, "the end of all connections", func() bool { return server.GetOpenConnectionsCount() == 0 })
}

// Unread responses wait in the server. Responses that handlers make piece by piece hold a few
// pieces each; others hold only the content of the handler.
func TestUnreadResponsesOfHTTP2HoldLittle(t *testing.T) {
	servertest.Apart(t, testUnreadResponsesOfHTTP2HoldLittle)
}

func testUnreadResponsesOfHTTP2HoldLittle(t *testing.T) {
	for i, c := range []struct {
		name, path string
		most       int64 // for each connection
		greet      func(c *h2Conn)
	}{
		{"unread", "/large", 2 << 20, readNothing},
		{"unread", "/stream", h2Streams * 128 << 10, readNothing},
		{"unread", "/endless", h2Streams * 256 << 10, readNothing},
		{"unread", "/pieces", h2Streams * 256 << 10, readNothing},
		{"no window", "/large", 2 << 20, openNoWindow},
		{"no window", "/stream", h2Streams * 128 << 10, openNoWindow},
		{"no window", "/endless", h2Streams * 256 << 10, openNoWindow},
		{"no window", "/pieces", h2Streams * 256 << 10, openNoWindow},
	} {
		for _, e := range http2Engines(i) {
			t.Run(e.Name+"/"+c.name+c.path, func(t *testing.T) { checkUnread(t, e, c.path, c.most, c.greet) })
		}
	}
}

func checkUnread(t *testing.T, e servertest.Engine, path string, most int64, greet func(c *h2Conn)) {
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
		greet(c)
		for i := range uint32(h2Streams) {
			c.Get(id(i), path)
		}
		c.Flush()
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

// WriteTimeout limits a response, even if the client repeatedly reads a part of it.
func TestWriteTimeoutOfHTTP2EndsDrippingReaders(t *testing.T) {
	t.Parallel()
	overTimeOn(t, func(t testing.TB, e servertest.Engine) {
		begun := time.Now()
		checkDrippingReader(t, e)
		// the connection checks the time once a second; the writing handler notices after
		// its next piece, up to a second later
		if d := time.Since(begun); !e.Sockets && (d < heldUp || d > heldUp+2500*time.Millisecond) {
			t.Errorf("it took %v", d)
		}
	})
}

func checkDrippingReader(t testing.TB, e servertest.Engine) {
	ended := make(chan struct{})
	server := &fasthttp.Server{WriteTimeout: heldUp, Logger: noLog{}, Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			defer close(ended)
			for err := error(nil); err == nil; {
				_, err = w.Write(largeBody[:16<<10])
			}
		})
	}}
	// the other timeout that would end it
	server.HTTP2.WriteByteTimeout = servertest.Never
	ts := serveHTTP2(t, e, server)
	c := dialHTTP2(ts)
	readNothing(c)
	c.Get(1, "/").Flush()
	go readSlowly(c, 256, drip)
	servertest.Receive(t, "the end of the response", ended)
	_ = c.Close()
}

// The server gives up unread responses in memory after a timeout, whatever part of them the system
// has buffered; Server.ResponseSent is called for each.
func TestUnreadResponsesOfHTTP2AreGivenUp(t *testing.T) {
	t.Parallel()
	sideBySide(t, func(run func(name string, test func(t testing.TB))) {
		for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
			run(e.Name, func(t testing.TB) { checkGivenUp(t, e) })
		}
	})
}

func checkGivenUp(t testing.TB, e servertest.Engine) {
	const most = 24
	large := make([]byte, most<<20)
	var told, cut atomic.Int32
	server := &fasthttp.Server{Logger: noLog{}, Handler: func(ctx *fasthttp.RequestCtx) {
		size, _ := ctx.URI().QueryArgs().GetUint("mb")
		ctx.Response.SetBodyRaw(large[:size<<20])
	}, ResponseSent: func(_ *fasthttp.RequestCtx, sent fasthttp.SentResponse) {
		if told.Add(1); sent.Err != nil {
			cut.Add(1)
		}
	}}
	server.HTTP2.WriteByteTimeout = heldUp
	ts := serveHTTP2(t, e, server)
	asked := int32(0)
	for mb := 4; mb <= most; mb += 2 {
		c := dialHTTP2(ts)
		readNothing(c)
		c.Get(1, fmt.Sprint("/?mb=", mb)).Get(3, fmt.Sprint("/?mb=", mb)).Flush()
		asked += 2
	}
	servertest.Eventually(t, "the end of each response", func() bool { return told.Load() == asked })
	if cut.Load() == 0 {
		t.Error("all responses were taken")
	}
	for _, c := range ts.Conns {
		_ = c.Close()
	}
	servertest.Eventually(t, "the end of all connections", func() bool { return server.GetOpenConnectionsCount() == 0 })
}

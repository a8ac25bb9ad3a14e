package fasthttp

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/patience"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestSilentTLSClientsHoldNobodyUp(t *testing.T) {
	servertest.ForEachTLSEngine(t, testSilentTLSClientsHoldNobodyUp)
}

func testSilentTLSClientsHoldNobodyUp(t *testing.T, e servertest.Engine) {
	t.Parallel()
	s := &Server{Handler: echo}
	ts := startServer(t, e, s)
	for i := range 20 {
		c := ts.DialPlain()
		if i%2 > 0 {
			// the start of a handshake
			c.Send("\x16\x03\x01")
		}
	}
	c := ts.Dial()
	c.Get("/")
	c.Expect(200, servertest.Echoed("GET", "/", ""))
	servertest.Eventually(t, "all connections", func() bool { return s.GetOpenConnectionsCount() == 21 })
	// they do not delay a shutdown either
	servertest.ShutDown(t, s)
	for _, silent := range ts.Conns[:20] {
		silent.ExpectCut()
	}
	ts.Log.CheckEmpty(t)
}

func TestTLSHandshakeIsCutAfterReadTimeout(t *testing.T) {
	servertest.ForEachTLSEngine(t, testTLSHandshakeIsCutAfterReadTimeout)
}

func testTLSHandshakeIsCutAfterReadTimeout(t *testing.T, e servertest.Engine) {
	t.Parallel()
	s := &Server{Handler: echo, ReadTimeout: servertest.Short, LogAllErrors: true}
	ts := startServer(t, e, s)
	silent, slow := ts.DialPlain(), ts.DialPlain()
	_, _ = io.WriteString(slow.Conn, "\x16\x03\x01\x02\x00\x01")
	silent.ExpectCut()
	slow.ExpectCut()
	servertest.Eventually(t, "no connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
	ts.Log.WaitFor(t, "tls handshake", "timeout")
}

func TestTLSHandshakeTimeouts(t *testing.T) {
	for _, tc := range []struct{ read, idle, want time.Duration }{
		{0, 0, patience.Handshake},
		{0, time.Millisecond, patience.Handshake},
		{time.Second, 0, time.Second},
		{time.Minute, 0, time.Minute},
	} {
		s := &Server{ReadTimeout: tc.read, IdleTimeout: tc.idle}
		if got := s.handshakeTimeout(); got != tc.want {
			t.Errorf("ReadTimeout %v, IdleTimeout %v: a handshake may take %v, want %v", tc.read, tc.idle, got, tc.want)
		}
	}
}

// The deadline of the handshake must not apply to the connection.
func TestTLSConnectionOutlivesItsHandshakeTimeout(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, testTLSConnectionOutlivesItsHandshakeTimeout)
}

func testTLSConnectionOutlivesItsHandshakeTimeout(t *testing.T, e servertest.Engine) {
	t.Parallel()
	withLongerTimeouts(t, func(timeout time.Duration) (why string) {
		ts := startServer(t, e, &Server{Handler: echo, ReadTimeout: timeout, IdleTimeout: time.Hour})
		nc, err := ts.Dialer()
		if err != nil {
			return fmt.Sprintf("no handshake within %v: %v", timeout, err)
		}
		c := ts.Wrap(nc)
		for range 2 {
			if !answered(c, servertest.Get("/")) {
				return fmt.Sprintf("no request is answered on a connection whose handshake may take %v", timeout)
			}
			expires(ts.DialPlain())
		}
		if !answered(c, servertest.Get("/")) {
			return fmt.Sprintf("no request is answered after the %v that the handshake may take", timeout)
		}
		return ""
	})
}

func TestFailedTLSHandshakesAreLogged(t *testing.T) {
	servertest.ForEachTLSEngine(t, testFailedTLSHandshakesAreLogged)
}

func testFailedTLSHandshakesAreLogged(t *testing.T, e servertest.Engine) {
	for _, all := range []bool{false, true} {
		ts := startServer(t, e, &Server{Handler: echo, LogAllErrors: all})
		// a client that disconnects is not logged
		_ = ts.DialPlain().Close()
		// a client that does not trust the server is logged
		if _, err := dialTLS(ts, &tls.Config{ServerName: "other.test"}); err == nil {
			t.Fatal("the client trusts the certificate")
		}
		if _, err := dialTLS(ts, &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
			t.Fatal("TLS 1.1 is spoken")
		}
		ts.Log.WaitFor(t, "fasthttp: tls handshake with 127.0.0.1:", "bad certificate")
		ts.Log.WaitFor(t, "fasthttp: tls handshake with 127.0.0.1:", "unsupported versions")
		if all {
			ts.Log.WaitFor(t, "fasthttp: tls handshake with 127.0.0.1:", "EOF")
		}
		servertest.Eventually(t, "no connection", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
		if lines := ts.Log.All(); !all && len(lines) != 2 {
			t.Errorf("logged %q", lines)
		}
	}
}

// lines is a protocol that echoes lines.
func lines(c net.Conn) error {
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		if _, err := io.WriteString(c, "you said "+line); err != nil || line == "bye\n" {
			return err
		}
	}
}

func dialLines(t *testing.T, ts *testServer) *servertest.Conn {
	t.Helper()
	c, err := dialTLS(ts, &tls.Config{NextProtos: []string{"other", "lines", protoHTTP1}})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != "lines" {
		t.Fatalf("negotiated %q", got)
	}
	return c
}

func TestNextProtoServesItsConnections(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, testNextProtoServesItsConnections)
}

func testNextProtoServesItsConnections(t *testing.T, e servertest.Engine) {
	t.Parallel()
	log := &servertest.States[ConnState]{}
	s := &Server{Handler: echo, ConnState: log.Note}
	kinds := make(chan net.Conn, 1)
	s.NextProto("lines", func(c net.Conn) error {
		kinds <- c
		return lines(c)
	})
	ts := startServer(t, e, s)
	c := dialLines(t, ts)
	if tc, ok := servertest.Receive(t, "the connection", kinds).(*tls.Conn); !ok || !tc.ConnectionState().HandshakeComplete {
		t.Errorf("the handler got %T", tc)
	}
	c.Send("hello\n")
	c.ExpectLine("you said hello\n")
	if a, b := s.GetCurrentConcurrency(), s.GetOpenConnectionsCount(); a != 1 || b != 1 {
		t.Errorf("%d served connections, %d open ones", a, b)
	}
	c.Send("bye\n")
	c.ExpectLine("you said bye\n")
	c.ExpectEnd()
	servertest.Eventually(t, "no connection", func() bool { return s.GetCurrentConcurrency() == 0 && s.GetOpenConnectionsCount() == 0 })
	if got, want := log.Of(0), "new active closed"; got != want {
		t.Errorf("states %q, want %q", got, want)
	}
	ts.Log.CheckEmpty(t)
}

// The deadlines of HTTP do not apply to connections that speak another protocol.
func TestNextProtoHasNoDeadlines(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, func(t *testing.T, e servertest.Engine) {
		t.Parallel()
		withLongerTimeouts(t, func(timeout time.Duration) (why string) {
			s := &Server{Handler: echo, ReadTimeout: timeout, WriteTimeout: timeout, IdleTimeout: timeout}
			s.NextProto("lines", lines)
			ts := startServer(t, e, s)
			c, err := dialTLS(ts, &tls.Config{NextProtos: []string{"lines"}})
			if err != nil {
				return fmt.Sprintf("no handshake within %v: %v", timeout, err)
			}
			for range 2 {
				_, _ = io.WriteString(c.Conn, "hello\n")
				if line, err := c.R.ReadString('\n'); line != "you said hello\n" {
					return fmt.Sprintf("got %q, %v on a connection whose handshake may take %v", line, err, timeout)
				}
				expires(ts.DialPlain())
			}
			c.Send("bye\n")
			c.ExpectLine("you said bye\n")
			c.ExpectEnd()
			return ""
		})
	})
}

func TestHTTPIsSpokenBesideNextProto(t *testing.T) {
	servertest.ForEachTLSEngine(t, testHTTPIsSpokenBesideNextProto)
}

func testHTTPIsSpokenBesideNextProto(t *testing.T, e servertest.Engine) {
	s := &Server{Handler: func(ctx *RequestCtx) { _, _ = ctx.WriteString(ctx.TLSConnectionState().NegotiatedProtocol) }}
	s.NextProto("lines", lines)
	ts := startServer(t, e, s)
	for _, tc := range []struct {
		protos []string
		want   string
	}{
		{nil, ""},
		{[]string{"http/1.1"}, "http/1.1"},
		{[]string{"h2", "http/1.1"}, "http/1.1"},
		{[]string{"other", "http/1.1"}, "http/1.1"},
	} {
		c, err := dialTLS(ts, &tls.Config{NextProtos: tc.protos})
		if err != nil {
			t.Errorf("%q: %v", tc.protos, err)
			continue
		}
		c.Get("/")
		c.Expect(200, tc.want)
	}
	if c, err := dialTLS(ts, &tls.Config{NextProtos: []string{"h2"}}); err == nil {
		t.Errorf("a client of HTTP/2 alone negotiated %q", c.Conn.(*tls.Conn).ConnectionState().NegotiatedProtocol)
	}
}

func TestNextProtoCountsForConcurrency(t *testing.T) {
	servertest.ForEachTLSEngine(t, testNextProtoCountsForConcurrency)
}

func testNextProtoCountsForConcurrency(t *testing.T, e servertest.Engine) {
	s := &Server{Handler: echo, Concurrency: 1}
	s.NextProto("lines", lines)
	ts := startServer(t, e, s)
	c := dialLines(t, ts)
	c.Send("hello\n")
	c.ExpectLine("you said hello\n")
	more := ts.Dial()
	more.Get("/")
	if resp := more.Next("GET"); resp.StatusCode != StatusServiceUnavailable {
		t.Errorf("status %d", resp.StatusCode)
	}
	c.Send("bye\n")
	c.ExpectLine("you said bye\n")
	c.ExpectEnd()
	servertest.Eventually(t, "no served connection", func() bool { return s.GetCurrentConcurrency() == 0 })
	again := ts.Dial()
	again.Get("/")
	again.Expect(200, servertest.Echoed("GET", "/", ""))
}

func TestShutdownWaitsForNextProto(t *testing.T) {
	servertest.ForEachTLSEngine(t, testShutdownWaitsForNextProto)
}

func testShutdownWaitsForNextProto(t *testing.T, e servertest.Engine) {
	s := &Server{Handler: echo}
	s.NextProto("lines", lines)
	ts := startServer(t, e, s)
	c := dialLines(t, ts)
	c.Send("hello\n")
	c.ExpectLine("you said hello\n")
	done := make(chan error, 1)
	go func() { done <- s.Shutdown() }()
	if err := servertest.Receive(t, "return of Serve", ts.Served); err != nil {
		t.Errorf("Serve: %v", err)
	}
	c.Send("still here\n")
	c.ExpectLine("you said still here\n")
	select {
	case err := <-done:
		t.Errorf("Shutdown has returned before the handler: %v", err)
	default:
	}
	c.Send("bye\n")
	c.ExpectLine("you said bye\n")
	c.ExpectEnd()
	if err := servertest.Receive(t, "end of Shutdown", done); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// Known failure 19: a panic ends one connection, not the process.
func TestNextProtoThatFails(t *testing.T) { servertest.ForEachTLSEngine(t, testNextProtoThatFails) }

func testNextProtoThatFails(t *testing.T, e servertest.Engine) {
	s := &Server{Handler: echo}
	s.NextProto("panic", func(net.Conn) error { panic("at the disco") })
	s.NextProto("error", func(net.Conn) error { return errors.New("this went wrong") })
	s.NextProto("close", func(c net.Conn) error { return c.Close() })
	ts := startServer(t, e, s)
	for _, proto := range []string{"panic", "error", "close"} {
		c, err := dialTLS(ts, &tls.Config{NextProtos: []string{proto}})
		if err != nil {
			// the reset after a panic may arrive that early
			continue
		}
		c.ExpectCut()
	}
	ts.Log.WaitFor(t, "panic", "at the disco", "NextProtoThatFails")
	ts.Log.WaitFor(t, "another protocol", "this went wrong")
	servertest.Eventually(t, "no connection", func() bool { return s.GetOpenConnectionsCount() == 0 && s.GetCurrentConcurrency() == 0 })
	if lines := ts.Log.All(); len(lines) != 2 {
		t.Errorf("logged %q", lines)
	}
}

func TestOfferedProtocols(t *testing.T) {
	serve := func(net.Conn) error { return nil }
	for _, tc := range []struct {
		configured, handled, want string
		noHandler                 bool
	}{
		{"", "", "http/1.1", false},
		{"http/1.1", "", "http/1.1", false},
		// the protocols that autocert configures
		{"h2 http/1.1 acme-tls/1", "", "http/1.1 acme-tls/1", false},
		{"h2", "", "http/1.1", false},
		{"", "h2", "h2 http/1.1", false},
		{"http/1.1", "h2", "http/1.1 h2", false},
		{"acme-tls/1", "lines", "acme-tls/1 lines http/1.1", false},
		{"", "lines", "lines", true},
	} {
		s := &Server{Handler: echo, TLSConfig: &tls.Config{NextProtos: strings.Fields(tc.configured)}}
		if tc.noHandler {
			s.Handler = nil
		}
		for range 2 {
			for _, proto := range strings.Fields(tc.handled) {
				s.NextProto(proto, serve)
			}
		}
		if got := s.offeredProtos(s.TLSConfig.NextProtos); !slices.Equal(got, strings.Fields(tc.want)) {
			t.Errorf("%q with handlers for %q: offered %q, want %q", tc.configured, tc.handled, got, tc.want)
		}
	}
}

// Known failure 24: a client must not choose how much a refusal costs the server.
func TestRefusalsAreBounded(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: echo, Concurrency: 1}
		ts := start(s)
		c := ts.Dial()
		c.Get("/")
		c.Expect(200, servertest.Echoed("GET", "/", ""))
		limit := int64(maxRefusals)
		if ts.Engine.TLS {
			limit = maxTLSRefusals
		}
		for range limit {
			if !s.mayRefuse(limit) {
				t.Fatal("a refusal is not told")
			}
		}
		more := ts.Dial
		if ts.Engine.TLS {
			more = ts.DialPlain
		}
		more().ExpectCut()
		for range limit {
			s.refused()
		}
		polite := ts.Dial()
		// in memory, the server may have ended the connection before
		_, _ = io.WriteString(polite.Conn, servertest.Get("/"))
		if resp := polite.Next("GET"); resp.StatusCode != StatusServiceUnavailable {
			t.Errorf("status %d", resp.StatusCode)
		}
		_ = polite.Close()
		servertest.Eventually(t, "no refusal under way", func() bool { return s.refusals.Load() == 0 })
	})
}

package fasthttp

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSilentTLSClientsHoldNobodyUp(t *testing.T) {
	s := &Server{Handler: echo}
	ts := startServer(t, tlsEngine, s)
	for i := range 20 {
		c := ts.dialPlain()
		if i%2 > 0 {
			// the start of a handshake
			c.send("\x16\x03\x01")
		}
	}
	c := ts.dial()
	c.get("/")
	c.expect(200, echoed("GET", "/", ""))
	eventually(t, "all connections", func() bool { return s.GetOpenConnectionsCount() == 21 })
	// they are no reason for a shutdown to wait, either
	shutDown(t, s)
	for _, silent := range ts.conns[:20] {
		silent.expectCut()
	}
	ts.log.checkEmpty(t)
}

func TestTLSHandshakeIsCutAfterReadTimeout(t *testing.T) {
	s := &Server{Handler: echo, ReadTimeout: 100 * time.Millisecond, LogAllErrors: true}
	ts := startServer(t, tlsEngine, s)
	silent, slow := ts.dialPlain(), ts.dialPlain()
	slow.send("\x16\x03\x01\x02\x00\x01")
	silent.expectCut()
	slow.expectCut()
	eventually(t, "no connection", func() bool { return s.GetOpenConnectionsCount() == 0 })
	ts.log.waitFor(t, "tls handshake", "timeout")
}

func TestTLSHandshakeTimeouts(t *testing.T) {
	for _, tc := range []struct{ read, idle, want time.Duration }{
		{0, 0, 10 * time.Second},
		{0, time.Millisecond, 10 * time.Second},
		{time.Second, 0, time.Second},
		{time.Minute, 0, time.Minute},
	} {
		s := &Server{ReadTimeout: tc.read, IdleTimeout: tc.idle}
		if got := s.handshakeTimeout(); got != tc.want {
			t.Errorf("ReadTimeout %v, IdleTimeout %v: a handshake may take %v, want %v", tc.read, tc.idle, got, tc.want)
		}
	}
}

// The deadline of the handshake must not become that of the connection.
func TestTLSConnectionOutlivesItsHandshakeTimeout(t *testing.T) {
	s := &Server{Handler: echo, ReadTimeout: 300 * time.Millisecond, IdleTimeout: time.Hour}
	ts := startServer(t, tlsEngine, s)
	c := ts.dial()
	for range 2 {
		c.get("/")
		c.expect(200, echoed("GET", "/", ""))
		time.Sleep(400 * time.Millisecond)
	}
	c.get("/")
	c.expect(200, echoed("GET", "/", ""))
}

func TestFailedTLSHandshakesAreLogged(t *testing.T) {
	for _, all := range []bool{false, true} {
		ts := startServer(t, tlsEngine, &Server{Handler: echo, LogAllErrors: all})
		// a client that leaves is nothing to talk about
		_ = ts.dialPlain().Close()
		// one that does not trust the server is
		if _, err := ts.dialTLS(&tls.Config{ServerName: "other.test"}); err == nil {
			t.Fatal("the client trusts the certificate")
		}
		if _, err := ts.dialTLS(&tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}); err == nil {
			t.Fatal("TLS 1.1 is spoken")
		}
		ts.log.waitFor(t, "fasthttp: tls handshake with 127.0.0.1:", "bad certificate")
		ts.log.waitFor(t, "fasthttp: tls handshake with 127.0.0.1:", "unsupported versions")
		if all {
			ts.log.waitFor(t, "fasthttp: tls handshake with 127.0.0.1:", "EOF")
		}
		eventually(t, "no connection", func() bool { return ts.s.GetOpenConnectionsCount() == 0 })
		if lines := ts.log.all(); !all && len(lines) != 2 {
			t.Errorf("logged %q", lines)
		}
	}
}

// lines is a protocol of lines that are answered.
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

func dialLines(t *testing.T, ts *testServer) *testConn {
	t.Helper()
	c, err := ts.dialTLS(&tls.Config{NextProtos: []string{"other", "lines", protoHTTP1}})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Conn.(*tls.Conn).ConnectionState().NegotiatedProtocol; got != "lines" {
		t.Fatalf("negotiated %q", got)
	}
	return c
}

func TestNextProtoServesItsConnections(t *testing.T) {
	log := &stateLog{}
	s := &Server{Handler: echo, ConnState: log.note, ReadTimeout: 200 * time.Millisecond}
	kinds := make(chan net.Conn, 1)
	s.NextProto("lines", func(c net.Conn) error {
		kinds <- c
		return lines(c)
	})
	ts := startServer(t, tlsEngine, s)
	c := dialLines(t, ts)
	if tc, ok := receive(t, "the connection", kinds).(*tls.Conn); !ok || !tc.ConnectionState().HandshakeComplete {
		t.Errorf("the handler got %T", tc)
	}
	c.send("hello\n")
	c.expectLine("you said hello\n")
	if a, b := s.GetCurrentConcurrency(), s.GetOpenConnectionsCount(); a != 1 || b != 1 {
		t.Errorf("%d served connections, %d open ones", a, b)
	}
	// the deadlines of HTTP are none of its business
	time.Sleep(250 * time.Millisecond)
	c.send("bye\n")
	c.expectLine("you said bye\n")
	c.expectEnd()
	eventually(t, "no connection", func() bool { return s.GetCurrentConcurrency() == 0 && s.GetOpenConnectionsCount() == 0 })
	if got, want := log.of(0), "new active closed"; got != want {
		t.Errorf("states %q, want %q", got, want)
	}
	ts.log.checkEmpty(t)
}

func TestHTTPIsSpokenBesideNextProto(t *testing.T) {
	s := &Server{Handler: func(ctx *RequestCtx) { _, _ = ctx.WriteString(ctx.TLSConnectionState().NegotiatedProtocol) }}
	s.NextProto("lines", lines)
	ts := startServer(t, tlsEngine, s)
	for _, tc := range []struct {
		protos []string
		want   string
	}{
		{nil, ""},
		{[]string{"http/1.1"}, "http/1.1"},
		{[]string{"h2", "http/1.1"}, "http/1.1"},
		{[]string{"other", "http/1.1"}, "http/1.1"},
	} {
		c, err := ts.dialTLS(&tls.Config{NextProtos: tc.protos})
		if err != nil {
			t.Errorf("%q: %v", tc.protos, err)
			continue
		}
		c.get("/")
		c.expect(200, tc.want)
	}
	if c, err := ts.dialTLS(&tls.Config{NextProtos: []string{"h2"}}); err == nil {
		t.Errorf("a client of HTTP/2 alone negotiated %q", c.Conn.(*tls.Conn).ConnectionState().NegotiatedProtocol)
	}
}

func TestNextProtoCountsForConcurrency(t *testing.T) {
	s := &Server{Handler: echo, Concurrency: 1}
	s.NextProto("lines", lines)
	ts := startServer(t, tlsEngine, s)
	c := dialLines(t, ts)
	c.send("hello\n")
	c.expectLine("you said hello\n")
	more := ts.dial()
	more.get("/")
	if resp := more.next("GET"); resp.StatusCode != StatusServiceUnavailable {
		t.Errorf("status %d", resp.StatusCode)
	}
	c.send("bye\n")
	c.expectLine("you said bye\n")
	c.expectEnd()
	eventually(t, "no served connection", func() bool { return s.GetCurrentConcurrency() == 0 })
	again := ts.dial()
	again.get("/")
	again.expect(200, echoed("GET", "/", ""))
}

func TestShutdownWaitsForNextProto(t *testing.T) {
	s := &Server{Handler: echo}
	s.NextProto("lines", lines)
	ts := startServer(t, tlsEngine, s)
	c := dialLines(t, ts)
	c.send("hello\n")
	c.expectLine("you said hello\n")
	done := make(chan error, 1)
	go func() { done <- s.Shutdown() }()
	if err := receive(t, "return of Serve", ts.served); err != nil {
		t.Errorf("Serve: %v", err)
	}
	c.send("still here\n")
	c.expectLine("you said still here\n")
	select {
	case err := <-done:
		t.Errorf("Shutdown has returned before the handler: %v", err)
	default:
	}
	c.send("bye\n")
	c.expectLine("you said bye\n")
	c.expectEnd()
	if err := receive(t, "end of Shutdown", done); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

// Known failure 19: a panic ends one connection, not the process.
func TestNextProtoThatFails(t *testing.T) {
	s := &Server{Handler: echo}
	s.NextProto("panic", func(net.Conn) error { panic("at the disco") })
	s.NextProto("error", func(net.Conn) error { return errors.New("this went wrong") })
	s.NextProto("close", func(c net.Conn) error { return c.Close() })
	ts := startServer(t, tlsEngine, s)
	for _, proto := range []string{"panic", "error", "close"} {
		c, err := ts.dialTLS(&tls.Config{NextProtos: []string{proto}})
		if err != nil {
			// the reset of a panic may come that early
			continue
		}
		c.expectCut()
	}
	ts.log.waitFor(t, "panic", "at the disco", "TestNextProtoThatFails")
	ts.log.waitFor(t, "another protocol", "this went wrong")
	eventually(t, "no connection", func() bool { return s.GetOpenConnectionsCount() == 0 && s.GetCurrentConcurrency() == 0 })
	if lines := ts.log.all(); len(lines) != 2 {
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
		// what autocert's configuration offers
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

// Known failure 24: refusing connections must not cost the server anything that
// a client can choose.
func TestRefusalsAreBounded(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		s := &Server{Handler: echo, Concurrency: 1}
		ts := start(s)
		c := ts.dial()
		c.get("/")
		c.expect(200, echoed("GET", "/", ""))
		limit := int64(maxRefusals)
		if ts.engine.tls {
			limit = maxTLSRefusals
		}
		for range limit {
			if !s.mayRefuse(limit) {
				t.Fatal("a refusal is not told")
			}
		}
		more := ts.dial
		if ts.engine.tls {
			more = ts.dialPlain
		}
		more().expectCut()
		for range limit {
			s.refused()
		}
		polite := ts.dial()
		polite.get("/")
		if resp := polite.next("GET"); resp.StatusCode != StatusServiceUnavailable {
			t.Errorf("status %d", resp.StatusCode)
		}
		_ = polite.Close()
		eventually(t, "no refusal under way", func() bool { return s.refusals.Load() == 0 })
	})
}

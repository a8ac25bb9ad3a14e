package integrationtests

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestServerWithoutHandlerSaysSo checks that each method that serves fails at once.
func TestServerWithoutHandlerSaysSo(t *testing.T) {
	for _, e := range servertest.Engines {
		ln, dial := e.Listen(t)
		s := &fasthttp.Server{Logger: &servertest.Log{}}
		prepare(s, e)
		if err := s.Serve(ln); err == nil || !strings.Contains(err.Error(), "Handler is nil") {
			t.Errorf("%s: Serve: %v", e.Name, err)
		}
		if c, err := dial(); err == nil {
			t.Errorf("%s: the listener is open", e.Name)
			_ = c.Close()
		}
	}
	c := &servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Get("/"))}}
	if err := (&fasthttp.Server{}).ServeConn(c); err == nil || !strings.Contains(err.Error(), "Handler is nil") || c.Closed != 1 {
		t.Errorf("ServeConn: %v, closed %d times", err, c.Closed)
	}
	cert, key := servertest.Certificate()
	ln, _ := servertest.ListenTCP(t)
	if err := fasthttp.ServeTLSEmbed(ln, cert, key, nil); err == nil || !strings.Contains(err.Error(), "Handler is nil") {
		t.Errorf("ServeTLSEmbed: %v", err)
	}
	// a handler of another protocol is enough
	s := &fasthttp.Server{Logger: &servertest.Log{}}
	s.NextProto("other", func(net.Conn) error { return nil })
	ln, _ = servertest.ListenTCP(t)
	_ = ln.Close()
	if err := s.ServeTLSEmbed(ln, cert, key); err != nil {
		t.Errorf("with another protocol: %v", err)
	}
}

// TestTLSOnAPlainPort has clients start a TLS handshake with a server of plain HTTP.
func TestTLSOnAPlainPort(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&fasthttp.Server{Handler: echo})
		if ts.Engine.TLS {
			t.Skip("it is no plain port")
		}
		client := tls.Client(ts.Dial().Conn, &tls.Config{ServerName: "a"})
		if err := client.Handshake(); err == nil {
			t.Fatal("there was a handshake")
		} else if header, ok := errors.AsType[tls.RecordHeaderError](err); !ok || string(header.RecordHeader[:4]) != "HTTP" {
			t.Errorf("the client got %v", err)
		}
		ts.Log.WaitFor(t, "the client speaks tls to a server of plain http")
		// even if it arrives byte by byte
		for _, hello := range []string{"\x16", "\x16\x03", "\x16\x03\x01\x02\x00\x01"} {
			c := ts.Dial()
			c.Send(hello)
			if resp := c.Next("GET"); resp.StatusCode != 400 || !resp.Close {
				t.Errorf("got %d", resp.StatusCode)
			}
		}
		c := ts.Dial()
		c.Send("\x15\x03\r\n\r\n")
		c.Expect(400, "Error when parsing request")
		lines := ts.Log.All()
		if n := strings.Count(strings.Join(lines, "\n"), "speaks tls"); n != 4 || len(lines) != 5 {
			t.Errorf("logged %q", lines)
		}
	})
}

// TestConnOfAContextAfterItsEnd has a handler keep its connection. Later calls on it
// fail as on a net.Conn that was closed.
func TestConnOfAContextAfterItsEnd(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		kept := make(chan net.Conn, 1)
		ts := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			conn := ctx.Conn()
			if string(ctx.Path()) == "/used" {
				// so that the event engine has a goroutine that waits
				_ = conn.SetReadDeadline(time.Now().Add(servertest.Patience))
				ctx.SetBodyStream(strings.NewReader("used"), -1)
			}
			kept <- conn
		}})
		for _, path := range []string{"/", "/used"} {
			c := ts.Dial()
			c.Get(path)
			_ = c.Next("GET")
			conn := servertest.Receive(t, "the connection", kept)
			_ = c.Close()
			servertest.Eventually(t, "the end of the connection", func() bool { return ts.S.GetOpenConnectionsCount() == 0 })
			for _, check := range []struct {
				name string
				do   func() error
			}{
				{"SetReadDeadline", func() error { return conn.SetReadDeadline(time.Now().Add(servertest.Patience)) }},
				{"SetWriteDeadline", func() error { return conn.SetWriteDeadline(time.Now().Add(servertest.Patience)) }},
				{"SetDeadline", func() error { return conn.SetDeadline(time.Now().Add(servertest.Patience)) }},
				{"Write", func() error { _, err := io.WriteString(conn, "x"); return err }},
				{"Read", func() error { _, err := conn.Read(make([]byte, 1)); return err }},
				{"Close", conn.Close},
			} {
				// crypto/tls returns the error with which the client ended the
				// connection, and connections in memory are tested in fasthttputil
				if !ts.Engine.Sockets || ts.Engine.TLS && check.name == "Read" {
					continue
				}
				if err := check.do(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("%s: %s: %v", path, check.name, err)
				}
			}
			if conn.RemoteAddr() == nil || conn.LocalAddr() == nil {
				t.Error("there are no addresses")
			}
		}
	})
}

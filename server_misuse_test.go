package fasthttp

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
)

// TestServerWithoutHandlerSaysSo has each way to serve fail at once.
func TestServerWithoutHandlerSaysSo(t *testing.T) {
	for _, e := range engines {
		ln, dial := e.listen(t)
		s := &Server{Logger: &testLog{}}
		e.setup(s)
		if err := s.Serve(ln); err == nil || !strings.Contains(err.Error(), "Handler is nil") {
			t.Errorf("%s: Serve: %v", e.name, err)
		}
		if c, err := dial(); err == nil {
			t.Errorf("%s: the listener is open", e.name)
			_ = c.Close()
		}
	}
	c := &fakeConn{pieces: [][]byte{[]byte(get("/"))}}
	if err := (&Server{}).ServeConn(c); err == nil || !strings.Contains(err.Error(), "Handler is nil") || c.closed != 1 {
		t.Errorf("ServeConn: %v, closed %d times", err, c.closed)
	}
	cert, key := testCert()
	ln, _ := listenTCP(t)
	if err := ServeTLSEmbed(ln, cert, key, nil); err == nil || !strings.Contains(err.Error(), "Handler is nil") {
		t.Errorf("ServeTLSEmbed: %v", err)
	}
	// there is one who serves another protocol
	s := &Server{Logger: &testLog{}}
	s.NextProto("other", func(net.Conn) error { return nil })
	ln, _ = listenTCP(t)
	_ = ln.Close()
	if err := s.ServeTLSEmbed(ln, cert, key); err != nil {
		t.Errorf("with another protocol: %v", err)
	}
}

// TestTLSOnAPlainPort has clients begin a TLS handshake with a server of plain HTTP.
func TestTLSOnAPlainPort(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		ts := start(&Server{Handler: echo})
		if ts.engine.tls {
			t.Skip("it is no plain port")
		}
		client := tls.Client(ts.dial().Conn, &tls.Config{ServerName: "a"})
		if err := client.Handshake(); err == nil {
			t.Fatal("there was a handshake")
		} else if header, ok := errors.AsType[tls.RecordHeaderError](err); !ok || string(header.RecordHeader[:4]) != "HTTP" {
			t.Errorf("the client got %v", err)
		}
		ts.log.waitFor(t, "the client speaks tls to a server of plain http")
		// also if it comes bit by bit
		for _, hello := range []string{"\x16", "\x16\x03", "\x16\x03\x01\x02\x00\x01"} {
			c := ts.dial()
			c.send(hello)
			if resp := c.next("GET"); resp.StatusCode != 400 || !resp.Close {
				t.Errorf("got %d", resp.StatusCode)
			}
		}
		c := ts.dial()
		c.send("\x16\x04\r\n\r\n")
		c.expect(400, "Error when parsing request")
		lines := ts.log.all()
		if n := strings.Count(strings.Join(lines, "\n"), "speaks tls"); n != 4 || len(lines) != 5 {
			t.Errorf("logged %q", lines)
		}
	})
}

// TestConnOfAContextAfterItsEnd has a handler keep its connection: what is done
// with it afterwards fails as with a net.Conn that was closed.
func TestConnOfAContextAfterItsEnd(t *testing.T) {
	forEachEngine(t, func(t *testing.T, start starter) {
		kept := make(chan net.Conn, 1)
		ts := start(&Server{Handler: func(ctx *RequestCtx) {
			conn := ctx.Conn()
			if string(ctx.Path()) == "/used" {
				// so that the event engine has one that waits
				_ = conn.SetReadDeadline(afterTimeout(patience))
				ctx.SetBodyStream(strings.NewReader("used"), -1)
			}
			kept <- conn
		}})
		for _, path := range []string{"/", "/used"} {
			c := ts.dial()
			c.get(path)
			_ = c.next("GET")
			conn := receive(t, "the connection", kept)
			_ = c.Close()
			eventually(t, "the end of the connection", func() bool { return ts.s.GetOpenConnectionsCount() == 0 })
			for _, check := range []struct {
				name string
				do   func() error
			}{
				{"SetReadDeadline", func() error { return conn.SetReadDeadline(afterTimeout(patience)) }},
				{"SetWriteDeadline", func() error { return conn.SetWriteDeadline(afterTimeout(patience)) }},
				{"SetDeadline", func() error { return conn.SetDeadline(afterTimeout(patience)) }},
				{"Write", func() error { _, err := io.WriteString(conn, "x"); return err }},
				{"Read", func() error { _, err := conn.Read(make([]byte, 1)); return err }},
				{"Close", conn.Close},
			} {
				// crypto/tls goes on saying how the client has ended the connection, and
				// connections in memory are the business of fasthttputil
				if !ts.engine.sockets || ts.engine.tls && check.name == "Read" {
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

package fasthttp

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/connpool"
	"github.com/valyala/fasthttp/internal/servertest"
)

// makesMistake is a named handler, so that a stack can be searched for its name.
func makesMistake(ctx *RequestCtx) {
	ctx.SetUserValue("id", "7")
	panic("a mistake")
}

// TestPanicsCanBeTracedToTheirHandlers checks the traces of a request whose handler has
// panicked: the stack of the handler in the log, and the values for Server.ResponseSent.
func TestPanicsCanBeTracedToTheirHandlers(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		ids := make(chan any, 1)
		ts := start(withHTTP2(&Server{Handler: makesMistake, ResponseSent: func(ctx *RequestCtx, _ SentResponse) {
			ids <- ctx.UserValue("id")
		}}))
		check := func(protocol string) {
			if id := servertest.Receive(t, protocol+": a call of ResponseSent", ids); id != "7" {
				t.Errorf("%s: ResponseSent got the id %v", protocol, id)
			}
		}

		ts.Dial().Send(servertest.Get("/"))
		check("HTTP/1.1")
		client, base := h2Client(t, ts)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base, http.NoBody)
		servertest.Must(t, err)
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close()
			t.Errorf("HTTP/2: the response is a %d, want none", resp.StatusCode)
		}
		check("HTTP/2")

		var lines []string
		servertest.Eventually(t, "two lines in the log", func() bool {
			lines = ts.Log.All()
			return len(lines) == 2
		})
		for _, line := range lines {
			if !strings.Contains(line, "a mistake") || !strings.Contains(line, "fasthttp.makesMistake(") {
				t.Errorf("the log has no stack of the handler: %q", line)
			}
		}
	})
}

// placelessConn is a connection of the application that panics.
type placelessConn struct{ net.Conn }

func (placelessConn) RemoteAddr() net.Addr { panic("a mistake") }

func (c placelessConn) Close() error {
	_ = c.Conn.Close()
	panic("another mistake")
}

// connsListener is a listener with connections made before.
type connsListener struct {
	net.Listener
	conns []net.Conn
}

func (ln *connsListener) Accept() (net.Conn, error) {
	nc := ln.conns[0]
	ln.conns = ln.conns[1:]
	return nc, nil
}

// TestPanicsOfConnectionsBeforeTheHeaderEndThem has a worker accept a connection that panics, with
// ProxyProtocol.
func TestPanicsOfConnectionsBeforeTheHeaderEndThem(t *testing.T) {
	t.Parallel()
	var log servertest.Log
	s := &Server{Logger: &log, ProxyProtocol: &ProxyProtocol{ServeOthers: true}}
	s.prepare()
	bad, badFar := net.Pipe()
	good, goodFar := net.Pipe()
	defer goodFar.Close()
	ln := s.wrapListener(&connsListener{conns: []net.Conn{placelessConn{bad}, good}})
	if nc, err := ln.Accept(); err != nil || nc != good {
		t.Errorf("Accept returns %v, %v", nc, err)
	}
	_ = badFar.SetDeadline(time.Now().Add(servertest.Patience))
	if _, err := badFar.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the connection that panics is not closed: %v", err)
	}
	log.WaitFor(t, "panic in a connection that is accepted")
}

// TestPanicsOfLateConnectionsKeepNoPlace has a dial return a connection that panics, after its call
// has ended.
func TestPanicsOfLateConnectionsKeepNoPlace(t *testing.T) {
	t.Parallel()
	for _, isTLS := range []bool{false, true} {
		hc := &HostClient{Addr: "a.test:1", IsTLS: isTLS, MaxConns: 1}
		servertest.Must(t, hc.ready())
		if _, ok := hc.pool.TryGet(connpool.Any); !ok {
			t.Fatal("there is no place")
		}
		hc.pool.MarkLate(connpool.Any)
		near, far := net.Pipe()
		hc.keepLate(placelessConn{near}, nil, hc.Addr)
		if n := hc.pool.Open(); n != 0 {
			t.Errorf("TLS %v: %d places are taken", isTLS, n)
		}
		_, _ = near.Close(), far.Close()
	}
}

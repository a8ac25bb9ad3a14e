package http3

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// lossy is the socket of a client. It loses the packets that arrive while it is deaf.
type lossy struct {
	net.PacketConn
	deaf atomic.Bool
	lost atomic.Int32
}

func (l *lossy) ReadFrom(p []byte) (n int, from net.Addr, err error) {
	for {
		if n, from, err = l.PacketConn.ReadFrom(p); err != nil || !l.deaf.Load() {
			return n, from, err
		}
		l.lost.Add(1)
	}
}

// QUIC logs that these are missing otherwise.
func (l *lossy) SetReadBuffer(int) error  { return nil }
func (l *lossy) SetWriteBuffer(int) error { return nil }

// dialLossy is dial for a client that may lose packets.
func dialLossy(t *testing.T, addr string) (raw, *lossy) {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &lossy{PacketConn: pc}
	transport := &quic.Transport{Conn: l}
	t.Cleanup(func() {
		_ = transport.Close()
		_ = pc.Close()
	})
	to, err := net.ResolveUDPAddr("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	within, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{NextProto}}
	q, err := transport.Dial(within, to, config, &quic.Config{HandshakeIdleTimeout: wait, MaxIdleTimeout: wait})
	if err != nil {
		t.Fatal(err)
	}
	return raw{t, q}, l
}

// The end of a connection must not take the last response from a client that gets it late: after it, nothing
// is sent again.
func TestConnectionsEndOnceTheClientHasTheLastResponse(t *testing.T) {
	t.Parallel()
	gate := servertest.NewGate()
	s, addr := run(t, &fasthttp.Server{MaxRequestsPerConn: 1, Handler: func(*fasthttp.RequestCtx) { gate.Pass("") }})
	r, l := dialLossy(t, addr)
	r.control()
	stream := r.stream(true, getHead()...)
	servertest.Receive(t, "the request", gate.Entered)
	l.deaf.Store(true)
	close(gate.Open)
	// The server sends two packets again after each timeout, which doubles. So many are lost after more
	// than the time that the connection waits for packets under way.
	servertest.Eventually(t, "packets that are sent again", func() bool { return l.lost.Load() >= 12 || s.open() == 0 })
	if s.open() == 0 {
		t.Fatalf("the connection has ended after %d packets were lost", l.lost.Load())
	}
	l.deaf.Store(false)
	if got := r.response(stream); got != "200" {
		t.Errorf("the response is %s", got)
	}
	_ = r.q.CloseWithError(0, "")
	servertest.Eventually(t, "the end of the connection", func() bool { return s.open() == 0 })
}

// A client need not close its connection. The end discards a response that it has not read.
func TestConnectionsEndAfterTheirGrace(t *testing.T) {
	t.Parallel()
	servertest.Doubling(t, func(limit time.Duration) error {
		_, addr := runOver(t, &Server{grace: limit, Server: &fasthttp.Server{MaxRequestsPerConn: 1, Handler: func(*fasthttp.RequestCtx) {}}})
		r := dial(t, addr)
		r.control()
		response, end := r.response(r.stream(true, getHead()...)), r.ended()
		if response != "200" || end != "H3_NO_ERROR" {
			return fmt.Errorf("the response is %s, the end of the connection is %s", response, end)
		}
		return nil
	})
}

// A shutdown need not wait for the grace of clients that close their connections.
func TestClientsCloseConnectionsThatEnd(t *testing.T) {
	t.Parallel()
	for name, get := range map[string]func(t *testing.T, url string){
		"Transport": func(t *testing.T, url string) {
			c, _ := newClient(t)
			if _, err := call(t, c, url, nil); err != nil {
				t.Error(err)
			}
		},
		"quic-go": func(t *testing.T, url string) { get(t, client(t), request(t, "GET", url, nil)) },
	} {
		t.Run(name, func(t *testing.T) {
			s, addr := run(t, &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}})
			get(t, "https://"+addr)
			servertest.Soon(t, "Shutdown", func() { servertest.Must(t, s.Shutdown(context.Background())) })
		})
	}
}

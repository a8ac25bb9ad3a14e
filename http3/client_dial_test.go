package http3

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"runtime"
	"testing"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/wire"
	bridge "github.com/valyala/fasthttp/internal/http3"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A Transport keeps the sessions of TLS configurations that are in use, and forgets the ones of others.
func TestSessionsAreForgottenWithTheirConfigurations(t *testing.T) {
	transport := new(Transport)
	transport.prepare()
	sessions := func(config *tls.Config) tls.ClientSessionCache {
		return transport.clientTLS(&bridge.ClientKey{TLS: config}, "a").ClientSessionCache
	}
	kept := new(tls.Config)
	first, ofNone := sessions(kept), sessions(nil)
	for range 10 {
		for range 100 {
			sessions(new(tls.Config))
		}
		runtime.GC()
	}
	if n := len(transport.sessions.caches); n > 500 {
		t.Errorf("there are sessions of %d configurations", n)
	}
	if sessions(kept) != first || sessions(nil) != ofNone || first == ofNone {
		t.Error("sessions in use were forgotten, or are shared")
	}
	runtime.KeepAlive(kept)
}

// Transport.Dial may panic, or end its goroutine.
func TestDialThatDoesNotReturn(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: echo})
	for name, breaks := range map[string]func(){"panic": func() { panic("no dial") }, "exit": runtime.Goexit} {
		broken := true
		c, _ := newClient(t, func(c *fasthttp.Client, transport *Transport) {
			c.MaxIdemponentCallAttempts = 1
			transport.Dial = func(ctx context.Context, addr string, config *tls.Config, quicConfig *quic.Config) (*quic.Conn, error) {
				if broken {
					breaks()
				}
				return quic.DialAddr(ctx, addr, config, quicConfig)
			}
		})
		if _, err := call(t, c, "https://"+addr, nil); err == nil || errors.Is(err, fasthttp.ErrTimeout) {
			t.Errorf("%s: %v", name, err)
		}
		broken = false
		if _, err := call(t, c, "https://"+addr, nil); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
}

// A call does not dial without end if the server ends each connection at once.
func TestClientOfAServerThatEndsNewConnections(t *testing.T) {
	addr := rawServer(t, nil, func(q *quic.Conn) {
		// the client opens two streams at first
		for range 2 {
			s, err := q.AcceptUniStream(context.Background())
			if err != nil {
				return
			}
			_, _ = io.ReadFull(s, make([]byte, 1))
		}
		_ = q.CloseWithError(quic.ApplicationErrorCode(wire.ExcessiveLoad), "")
	})
	dials := 0
	c, _ := newClient(t, func(c *fasthttp.Client, transport *Transport) {
		c.MaxIdemponentCallAttempts = 1
		transport.Dial = func(ctx context.Context, addr string, config *tls.Config, quicConfig *quic.Config) (*quic.Conn, error) {
			if dials++; dials > 20 {
				return nil, errors.New("it was dialed without end")
			}
			q, err := quic.DialAddr(ctx, addr, config, quicConfig)
			if err == nil {
				// the call finds the connection once it has ended
				transport.mu.Lock()
				go func() {
					servertest.Receive(t, "the end of the connection", q.Context().Done())
					transport.mu.Unlock()
				}()
			}
			return q, err
		}
	})
	if _, err := call(t, c, "https://"+addr, nil); !errors.Is(err, fasthttp.ErrConnectionClosed) {
		t.Errorf("after %d dials: %v", dials, err)
	}
}

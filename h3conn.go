package fasthttp

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http3"
	"github.com/valyala/fasthttp/internal/netio"
)

// h3Host is a Server that serves the connections of package http3.
type h3Host Server

var _ http3.Server = (*h3Host)(nil)

func init() {
	http3.Of = func(server any) (http3.Server, error) {
		s := server.(*Server)
		s.prepare()
		return (*h3Host)(s), s.checkHandler()
	}
}

// variantHTTP3 is the engine.Conn.Variant of connections that speak HTTP/3.
const variantHTTP3 = 2

// The defaults of settings.
const (
	h3Table   = 4096
	h3Streams = 250
)

// Limits implements http3.Server. HTTP/3 has settings of HTTP/2.
func (h *h3Host) Limits() http3.Limits {
	c := &h.HTTP2
	limits := http2.Limits{HeaderList: max(h.ReadBufferSize, 0)}
	limits.Fill()
	return http3.Limits{
		Section:     uint32(limits.HeaderList),
		Fields:      limits.Fields,
		Streams:     positive(c.MaxConcurrentStreams, h3Streams),
		Table:       uint32(positive(c.MaxDecoderHeaderTableSize, h3Table)),
		Encoder:     uint32(max(c.MaxEncoderHeaderTableSize, 0)),
		HeadTimeout: h.set.headTimeout,
		IdleTimeout: h.set.idleTimeout,
		Extended:    c.ExtendedConnect,
		KeepNames:   h.DisableHeaderNamesNormalizing,
		Window:      uint64(max(c.MaxReceiveBufferPerStream, 0)),
		ConnWindow:  uint64(max(c.MaxReceiveBufferPerConnection, 0)),
	}
}

// Logf implements http3.Server.
func (h *h3Host) Logf(format string, args ...any) { (*Server)(h).logger().Printf(format, args...) }

// Accept implements http3.Server.
func (h *h3Host) Accept(nc net.Conn) (http3.Conn, error) {
	s := (*Server)(h)
	ip, err := s.admit(nc)
	if err != nil {
		s.logRefusal(nc, err)
		return nil, err
	}
	own := &h3Conn{s: s, ip: ip, c: &engine.Conn{
		Set: &s.conns, NC: nc, ID: engine.NewID(), Opened: clock.Monotonic(), Service: s.conns.Service(),
		IsTLS: true, Concurrent: true, Variant: variantHTTP3,
	}}
	own.c.MarkEscaped()
	begun := false
	defer func() {
		if !begun {
			// a hook of the application has ended the goroutine
			own.Close(nil)
		}
	}()
	(*host)(s).StateChanged(own.c, engine.StateNew)
	begun = true
	return own, nil
}

// h3Conn is a server's HTTP/3 connection. Package http3 has the rest of it: the streams, and the
// goroutines that serve them.
type h3Conn struct {
	s  *Server
	c  *engine.Conn
	ip netip.Addr

	mu sync.Mutex // guards the number of requests in c
}

// StateChanged implements http3.Conn.
func (h *h3Conn) StateChanged(active bool) {
	state := engine.StateIdle
	if active {
		state = engine.StateActive
	}
	(*host)(h.s).StateChanged(h.c, state)
}

// Close implements http3.Conn.
func (h *h3Conn) Close(err error) {
	switch {
	case err == nil:
	case netio.IsTimeout(err):
		h.c.SetEnd(engine.EndTimeout)
	case errors.Is(err, io.EOF):
		h.c.SetEnd(engine.EndPeer)
	default:
		h.c.SetEnd(engine.EndFault)
	}
	h.s.dismiss(h.ip)
	(*host)(h.s).StateChanged(h.c, engine.StateClosed)
}

// h3Exchanges is the pool of exchanges.
var h3Exchanges = sync.Pool{New: func() any { return new(h3Exchange) }}

// Serve implements http3.Conn.
func (h *h3Conn) Serve(stream http3.Stream, r *http3.Request) (lent bool) {
	x := h3Exchanges.Get().(*h3Exchange)
	x.h, x.stream = h, stream
	x.s, x.c, x.t = h.s, h.c, x
	if x.startOf != h.s {
		x.start = nil
	}
	x.ctx = h.s.acquireCtx(h.c)
	x.ctx.Request.isTLS = true
	x.run(r)
	lent = x.in != nil || x.opened
	if !lent && !x.watched {
		*x = h3Exchange{start: x.start, startOf: x.s}
		h3Exchanges.Put(x)
	}
	return lent
}

// faultOf returns the error of a refused request that gets a response: the same error as with HTTP/2.
func faultOf(f http3.Fault) error {
	switch f {
	case http3.LargeHead:
		return errStreamLargeHead
	case http3.ManyFields:
		return errStreamManyFields
	case http3.BadTarget:
		return errStreamTarget
	case http3.BadHost:
		return errStreamHost
	}
	return nil
}

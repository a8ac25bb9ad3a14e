package http3

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/wire"
	bridge "github.com/valyala/fasthttp/internal/http3"
)

// The defaults of a Transport.
const (
	// DefaultMaxConnsPerHost is the default of Transport.MaxConnsPerHost.
	DefaultMaxConnsPerHost = 8
	// DefaultDialTimeout is the default of Transport.DialTimeout.
	DefaultDialTimeout = 10 * time.Second
)

var (
	// ErrTransportClosed is the error of requests after Transport.Close.
	ErrTransportClosed = errors.New("http3: the transport was closed")
	// ErrProtocol is wrapped by the error of a request that has failed because the server has
	// violated HTTP/3 or QPACK.
	ErrProtocol = wire.ErrFault
	// ErrLargeRequest is wrapped by the error of a request that was not sent because the server does
	// not accept header sections of its size.
	ErrLargeRequest = bridge.ErrLargeSection
)

// Transport sends requests by HTTP/3: assign it to Client.Transport or HostClient.Transport. All URIs
// must be https ones. Its zero value is ready for use, and one Transport may serve many
// clients. Its fields must not be changed once it is used.
//
// A connection carries many requests at once. It belongs to an address, a TLS configuration and
// the limits of the client; requests for which these are the same share connections. Another one is
// opened when the server permits no more requests on the first. Retries, time limits,
// MaxResponseBodySize, ReadBufferSize, MaxConnDuration, MaxConnWaitTimeout, streams and traces
// are the client's. Its dial functions, MaxConns and Protocols do not apply, and its methods
// CloseIdleConnections, ConnsCount and IdleConnsCount leave the connections of the Transport out.
//
// A request that the server rejects, or has not processed when it ends a connection by GOAWAY, is sent
// again, unless its body was a stream. When the time of a call is up, or its context ends, the
// stream is reset, and the connection remains.
//
// After a 2xx response to CONNECT, or to extended CONNECT (RFC 9220), with
// fasthttp.Response.StreamBody, the body stream of the response is the tunnel, a net.Conn, as over
// HTTP/2. No request is sent as 0-RTT data, which could be replayed.
type Transport struct {
	// TLSConfig is the configuration of TLS. If it is nil, the client has it. NextProtos and
	// MinVersion are set by this package, and ServerName if it is empty.
	TLSConfig *tls.Config

	// QUICConfig has the settings of QUIC. If it is nil they have their defaults, but for
	// KeepAlivePeriod, which is 10 seconds, so that a request may take longer than the idle
	// timeout. Streams are set by this package, and receive windows by HTTP2Config of the client.
	QUICConfig *quic.Config

	// MaxConnsPerHost is how many connections of the same kind there may be,
	// DefaultMaxConnsPerHost by default. If all of them are busy, calls wait. A connection on which the server
	// accepts no more requests does not count, although it remains until its last one has ended.
	MaxConnsPerHost int

	// MaxIdleConnDuration is how long a connection without requests is kept,
	// fasthttp.DefaultMaxIdleConnDuration by default.
	MaxIdleConnDuration time.Duration

	// DialTimeout limits the time for a connection, with the handshake and all addresses of the host
	// together: DefaultDialTimeout by default. The error is fasthttp.ErrDialTimeout then. A call whose own
	// time is up does not wait longer; the connection is then kept for other ones.
	DialTimeout time.Duration

	// Dial connects to an address of the form "host:port". By default names are resolved by
	// package net, and each connection has a UDP socket of its own.
	Dial func(ctx context.Context, addr string, config *tls.Config, quicConfig *quic.Config) (*quic.Conn, error)

	once    sync.Once
	rt      fasthttp.RoundTripperContext
	life    context.Context // ends with Close
	end     context.CancelFunc
	running sync.WaitGroup // connections and dials

	closeTime time.Duration // for the server to receive the rest of a tunnel before its connection is closed

	mu       sync.Mutex
	hosts    map[bridge.ClientKey]*host
	sessions sessions
	over     bool
}

var _ fasthttp.RoundTripperContext = (*Transport)(nil)

// host has the connections of a key. Transport.mu guards its fields.
type host struct {
	key   bridge.ClientKey
	conns []*clientConn
	dial  *dialing // nil if there is none
	next  int      // the address to try first
}

// dialing is a dial, for which calls wait.
type dialing struct {
	over context.Context // ends with the dial
	end  context.CancelFunc

	// read after the end
	conn *clientConn
	err  error
}

// lost returns why the connection has ended before any request, or nil.
func (d *dialing) lost() error {
	d.conn.mu.Lock()
	used := d.conn.lastUse != 0 || len(d.conn.streams) > 0
	d.conn.mu.Unlock()
	if used {
		return nil
	}
	return context.Cause(d.conn.q.Context())
}

// maxLost is how many connections a call waits for that the server ends before any request.
const maxLost = 3

// prepare prepares t for its first request.
func (t *Transport) prepare() {
	t.once.Do(func() {
		t.life, t.end = context.WithCancel(context.Background())
		t.hosts = make(map[bridge.ClientKey]*host)
		t.rt = bridge.NewTransport((*connections)(t)).(fasthttp.RoundTripperContext)
	})
}

// RoundTrip implements fasthttp.RoundTripper.
func (t *Transport) RoundTrip(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
	t.prepare()
	return t.rt.RoundTrip(hc, req, resp)
}

// RoundTripContext implements fasthttp.RoundTripperContext.
func (t *Transport) RoundTripContext(ctx context.Context, hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (retry bool, err error) {
	t.prepare()
	return t.rt.RoundTripContext(ctx, hc, req, resp)
}

// CloseIdleConnections closes the connections without requests, of all clients that use the Transport.
func (t *Transport) CloseIdleConnections() {
	for _, c := range t.all() {
		c.closeIfIdle()
	}
}

// ConnsCount returns the number of open connections.
func (t *Transport) ConnsCount() int { return len(t.all()) }

// all returns all connections.
func (t *Transport) all() (all []*clientConn) {
	t.prepare() // the first request may be on its way
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range t.hosts {
		all = append(all, h.conns...)
	}
	return all
}

// Close ends all connections, with their requests, and waits for that. Later requests fail with
// ErrTransportClosed.
func (t *Transport) Close() error {
	t.prepare()
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.end()
	for _, c := range t.all() {
		c.close()
	}
	t.running.Wait()
	return nil
}

// connections is a Transport as the root package needs it.
type connections Transport

var _ bridge.Client = (*connections)(nil)

// Open implements bridge.Client.
func (t *connections) Open(key *bridge.ClientKey, wait bridge.ClientWait) (bridge.ClientStream, error) {
	return (*Transport)(t).open(key, wait)
}

func (t *Transport) open(key *bridge.ClientKey, wait bridge.ClientWait) (bridge.ClientStream, error) {
	if t.TLSConfig != nil {
		key.TLS = t.TLSConfig
	}
	var limited context.Context // made when it is needed
	for lost := 0; ; {
		s, busy, d, err := t.get(key, wait.MaxDuration)
		if err != nil {
			return nil, err
		}
		if s != nil {
			return s, nil
		}
		if limited == nil {
			limited = wait.Ctx
			if !wait.Until.IsZero() {
				var cancel context.CancelFunc
				limited, cancel = context.WithDeadline(limited, wait.Until)
				defer cancel()
			}
		}
		if len(busy) > 0 {
			if s, err = t.awaitRoom(limited, busy, d, wait.Room); s != nil || err != nil {
				return s, err
			}
		}
		if d != nil && (len(busy) == 0 || d.over.Err() != nil) {
			select {
			case <-d.over.Done():
				if d.err != nil {
					return nil, d.err
				}
				if err = d.lost(); err != nil {
					if lost++; lost == maxLost {
						return nil, lossOf(err)
					}
				}
			case <-limited.Done():
				return nil, context.Cause(limited)
			}
		}
	}
}

// get returns a stream, or what to wait for: connections without room, and a dial if there is one.
func (t *Transport) get(key *bridge.ClientKey, maxAge time.Duration) (s *clientStream, busy []*clientConn, d *dialing, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, nil, nil, ErrTransportClosed
	}
	h := t.hosts[*key]
	if h == nil {
		h = &host{key: *key}
		t.hosts[*key] = h
	}
	for _, c := range h.conns {
		s, full := c.tryOpen(maxAge)
		if s != nil {
			return s, nil, nil, nil
		}
		if full {
			busy = append(busy, c)
		}
	}
	if h.dial == nil && len(busy) < cmp.Or(max(t.MaxConnsPerHost, 0), DefaultMaxConnsPerHost) {
		d, from := new(dialing), h.next
		d.over, d.end = context.WithCancel(context.Background())
		h.dial = d
		t.running.Go(func() { t.connect(h, d, from) })
	}
	return nil, busy, h.dial, nil
}

// awaitRoom waits for a stream of one of the connections. It returns none if another one is to be used, or
// if the dial has ended, which may be nil. A dial has a limit of its own.
func (t *Transport) awaitRoom(ctx context.Context, busy []*clientConn, d *dialing, limit time.Duration) (*clientStream, error) {
	within := ctx
	if limit > 0 || d != nil {
		var cancel context.CancelFunc
		if d != nil {
			within, cancel = context.WithCancel(ctx)
			defer context.AfterFunc(d.over, cancel)()
		} else {
			within, cancel = context.WithTimeout(ctx, limit)
		}
		defer cancel()
	}
	s, err := awaitStream(within, busy)
	switch {
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case within.Err() != nil && d == nil:
		return nil, bridge.ErrNoRoom
	}
	return nil, nil
}

// awaitStream waits for a stream of one of the connections, whichever has one first.
func awaitStream(ctx context.Context, conns []*clientConn) (s *clientStream, err error) {
	if len(conns) == 1 {
		return conns[0].awaitStream(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		s   *clientStream
		err error
	}
	results := make(chan result, len(conns))
	for _, c := range conns {
		go func() {
			s, err := c.awaitStream(ctx)
			results <- result{s, err}
		}()
	}
	for i := range conns {
		r := <-results
		switch {
		case i == 0:
			s, err = r.s, r.err
			cancel()
		case r.s == nil:
		case s == nil:
			s, err = r.s, nil
		default:
			// two had room at the same time
			r.s.Cancel()
			r.s.Release(false)
		}
	}
	return s, err
}

// connect makes a connection, and serves it.
func (t *Transport) connect(h *host, d *dialing, from int) {
	c := t.finish(h, d, from)
	if c == nil {
		return
	}
	c.mu.Lock()
	// all callers may have left
	if len(c.streams) == 0 && !c.retired {
		c.startIdle()
	}
	c.mu.Unlock()
	c.run()
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(h.conns, c); i >= 0 {
		h.conns = slices.Delete(h.conns, i, i+1)
	}
	t.forget(h)
}

// errNoDial is the error of a dial function that has ended its goroutine.
var errNoDial = errors.New("http3: the dial has ended its goroutine")

// finish makes a connection, and ends the dial. It returns nil if there is no connection. The dial function of the
// application may panic, or end the goroutine.
func (t *Transport) finish(h *host, d *dialing, from int) (c *clientConn) {
	err := errNoDial
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("http3: panic while dialing: %v\n%s", p, debug.Stack())
		}
		t.mu.Lock()
		h.dial, d.conn, d.err = nil, c, err
		if err == nil && t.over {
			d.err = ErrTransportClosed
			c.close()
		}
		if err == nil {
			h.conns = append(h.conns, c)
		} else {
			h.next++
			t.forget(h)
		}
		t.mu.Unlock()
		d.end()
	}()
	c, err = t.dial(h, from)
	return c
}

// forget removes an unused host. mu is held.
func (t *Transport) forget(h *host) {
	if len(h.conns) == 0 && h.dial == nil && t.hosts[h.key] == h {
		delete(t.hosts, h.key)
	}
}

// dial makes a connection, from the address with an index on.
func (t *Transport) dial(h *host, from int) (*clientConn, error) {
	ctx, cancel := context.WithTimeout(t.life, cmp.Or(max(t.DialTimeout, 0), DefaultDialTimeout))
	defer cancel()
	q, err := t.dialHost(ctx, &h.key, from)
	switch {
	case err == nil:
	case t.life.Err() != nil:
		return nil, ErrTransportClosed
	case ctx.Err() != nil, isTimeout(err):
		return nil, fmt.Errorf("%w: %w", fasthttp.ErrDialTimeout, errors.New(err.Error()))
	default:
		return nil, fmt.Errorf("http3: cannot connect: %w", err)
	}
	idle := t.MaxIdleConnDuration
	if idle <= 0 {
		idle = fasthttp.DefaultMaxIdleConnDuration
	}
	c := newClientConn(h, q, &h.key, idle)
	c.closeTime = cmp.Or(t.closeTime, defaultGrace)
	// Close does not see the connection yet
	defer context.AfterFunc(t.life, c.close)()
	if err := c.openStreams(defaultOpenTime); err != nil {
		c.retire()
		c.close()
		if t.life.Err() != nil {
			return nil, ErrTransportClosed
		}
		return nil, lossOf(err)
	}
	return c, nil
}

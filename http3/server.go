// Package http3 serves HTTP/3 with the handlers and settings of a fasthttp.Server, and sends the
// requests of a fasthttp.Client by HTTP/3. It has the connections of github.com/quic-go/quic-go, so it is
// a module of its own.
//
// Server serves requests, and Announce tells clients of the server over TCP about it. Transport is for
// clients that know that their servers speak HTTP/3, and AltTransport for clients that find out.
package http3

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/http2"
	bridge "github.com/valyala/fasthttp/internal/http3"
	"github.com/valyala/fasthttp/internal/workers"
)

// NextProto is the name of HTTP/3 in TLS (ALPN).
const NextProto = "h3"

// ErrNoServer is the error of a Server without fasthttp.Server.
var ErrNoServer = errors.New("http3: Server.Server is nil")

// Server serves HTTP/3. Its fields must not be changed once it serves.
//
// Handlers, limits, timeouts and hooks belong to the fasthttp.Server, which may serve HTTP/1.1
// and HTTP/2 at the same time. Shutdown of the one does not shut down the other. RequestCtx.Done
// is closed by a shutdown of the fasthttp.Server.
//
// Hijack and SwitchProtocols take over the stream of a CONNECT request, with the effect that they have
// over HTTP/2; for other requests the answer is 501 (Not Implemented). HTTP2Config.ExtendedConnect
// permits WebSockets (RFC 9220).
type Server struct {
	// Server has the handler and the settings. Of its HTTP2Config, MaxConcurrentStreams,
	// MaxDecoderHeaderTableSize and the receive buffers apply here as well.
	Server *fasthttp.Server

	// TLSConfig is the configuration of TLS. If it is nil, the fasthttp.Server has it.
	// NextProtos and MinVersion are set by this package.
	TLSConfig *tls.Config

	// QUICConfig has the settings of QUIC. If it is nil they have their defaults, but for KeepAlivePeriod,
	// which is 10 seconds, so that a request may take longer than the idle timeout. Streams are set by this
	// package; so is the idle timeout if the fasthttp.Server has one. Otherwise the idle timeout of QUIC,
	// which is 30 seconds by default, is also how long a connection may have no request, unless
	// KeepAlivePeriod is set here. 0-RTT is refused unless it is allowed here. Its requests are served once
	// the handshake is over, which a replay cannot complete (RFC 8470 section 3), so no handler has to
	// answer 425 (Too Early).
	QUICConfig *quic.Config

	once    sync.Once
	err     error
	host    bridge.Server
	limits  bridge.Limits
	idle    time.Duration // for a connection without requests, or 0
	workers *workers.Pool[*stream]

	openTime           time.Duration // for the client to allow the streams of the server
	wasted, wastedRate int           // of the bucket for aborted requests, as in http2.Limits
	grace              time.Duration // for the client to get the last response, and to close the connection
	quick              time.Duration // a request that the client aborts later does not count

	mu        sync.Mutex
	listeners map[*quic.Listener]struct{}
	conns     map[*conn]struct{}
	stopping  bool
	empty     chan struct{} // closed when there are no listeners and conns any more, if Shutdown waits
}

// ListenAndServe serves HTTP/3 on the UDP address addr, such as ":443", with the certificate and
// the key in two files of PEM. If both names are empty, the certificates of the TLS configuration are
// used. It returns nil after Shutdown, and otherwise an error.
func (s *Server) ListenAndServe(addr, certFile, keyFile string) error {
	config, err := s.tlsConfig(certFile, keyFile)
	if err != nil {
		return err
	}
	pc, err := net.ListenPacket("udp", addr)
	if err != nil {
		return err
	}
	defer pc.Close()
	return s.serve(pc, config)
}

// Serve serves HTTP/3 on pc until Shutdown is called or pc fails. It does not close pc. It returns
// nil after Shutdown, and otherwise an error.
func (s *Server) Serve(pc net.PacketConn) error {
	config, err := s.tlsConfig("", "")
	if err != nil {
		return err
	}
	return s.serve(pc, config)
}

// tlsConfig returns the configuration of TLS.
func (s *Server) tlsConfig(certFile, keyFile string) (*tls.Config, error) {
	config := s.TLSConfig
	if config == nil && s.Server != nil {
		config = s.Server.TLSConfig
	}
	if config == nil {
		config = new(tls.Config)
	}
	config = config.Clone()
	config.NextProtos, config.MinVersion = []string{NextProto}, tls.VersionTLS13
	if certFile == "" && keyFile == "" {
		return config, nil
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("http3: cannot load the certificate: %w", err)
	}
	config.Certificates = append(config.Certificates[:len(config.Certificates):len(config.Certificates)], pair)
	return config, nil
}

// prepare prepares the fasthttp.Server, and gets its settings.
func (s *Server) prepare() error {
	s.once.Do(func() {
		if s.Server == nil {
			s.err = ErrNoServer
			return
		}
		if s.host, s.err = bridge.Of(s.Server); s.err != nil {
			return
		}
		s.limits = s.host.Limits()
		s.idle = s.idleTime()
		if s.openTime == 0 {
			s.openTime = defaultOpenTime
		}
		if s.grace == 0 {
			s.grace = defaultGrace
		}
		if s.wasted == 0 {
			s.wasted, s.wastedRate, s.quick = http2.DefaultWasted, http2.DefaultWastedRate, http2.QuickReset*time.Millisecond
		}
		s.workers = workers.New(10*time.Second, (*stream).serve)
		s.conns, s.listeners = make(map[*conn]struct{}), make(map[*quic.Listener]struct{})
	})
	return s.err
}

const (
	// uniStreams is how many unidirectional streams a client may have: three, and some of unknown
	// types.
	uniStreams = 16
	// verifyFrom is the number of connections from which on clients must prove their addresses
	// first, which takes another round trip.
	verifyFrom = 1000
)

// quicIdle is the default of MaxIdleTimeout of QUIC.
const quicIdle = 30 * time.Second

// idleTime returns how long a connection may have no requests, or 0 if there is no limit.
func (s *Server) idleTime() time.Duration {
	config := s.QUICConfig
	switch {
	case s.limits.IdleTimeout > 0:
		return s.limits.IdleTimeout
	case config == nil:
		return quicIdle
	case config.KeepAlivePeriod > 0:
		// the application keeps idle connections
		return 0
	}
	return cmp.Or(max(config.MaxIdleTimeout, 0), quicIdle)
}

// quicConfig returns the configuration of QUIC.
func (s *Server) quicConfig() *quic.Config {
	config := new(quic.Config)
	if s.QUICConfig != nil {
		config = s.QUICConfig.Clone()
	}
	config.MaxIncomingStreams, config.MaxIncomingUniStreams = int64(s.limits.Streams), uniStreams
	if s.limits.IdleTimeout > 0 {
		config.MaxIdleTimeout = s.limits.IdleTimeout
	}
	if config.KeepAlivePeriod == 0 {
		// QUIC does not know of requests: without a packet it would end a connection that has some
		config.KeepAlivePeriod = keepAlive
	}
	if s.limits.Window > 0 {
		config.InitialStreamReceiveWindow, config.MaxStreamReceiveWindow = s.limits.Window, s.limits.Window
	}
	if s.limits.ConnWindow > 0 {
		config.InitialConnectionReceiveWindow, config.MaxConnectionReceiveWindow = s.limits.ConnWindow, s.limits.ConnWindow
	}
	return config
}

func (s *Server) serve(pc net.PacketConn, config *tls.Config) error {
	if err := s.prepare(); err != nil {
		return err
	}
	var key quic.StatelessResetKey
	_, _ = rand.Read(key[:])
	transport := &quic.Transport{Conn: pc, StatelessResetKey: &key, VerifySourceAddress: func(net.Addr) bool { return s.open() >= verifyFrom }}
	ln, err := transport.Listen(config, s.quicConfig())
	if err != nil {
		return err
	}
	if !s.add(ln) {
		_ = ln.Close()
		_ = transport.Close()
		return nil
	}
	for {
		q, failed := ln.Accept(context.Background())
		if failed != nil {
			err = failed
			break
		}
		go s.serveConn(s.begin(q))
	}
	s.mu.Lock()
	delete(s.listeners, ln)
	s.noteEmpty()
	stopping := s.stopping
	s.mu.Unlock()
	if stopping {
		s.awaitEmpty(context.Background())
		err = nil
	}
	_ = transport.Close()
	return err
}

// add adds a listener, unless the server shuts down.
func (s *Server) add(ln *quic.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopping {
		s.listeners[ln] = struct{}{}
	}
	return !s.stopping
}

// open returns how many connections there are.
func (s *Server) open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// begin makes a connection, for which Shutdown waits from here on.
func (s *Server) begin(q *quic.Conn) *conn {
	c := newConn(s, q)
	s.mu.Lock()
	s.conns[c] = struct{}{}
	stopping := s.stopping
	s.mu.Unlock()
	if stopping {
		c.goAway()
	}
	return c
}

// end forgets a connection that has ended.
func (s *Server) end(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.noteEmpty()
}

// isEmpty reports whether there is nothing for which Shutdown waits. mu is held.
func (s *Server) isEmpty() bool { return len(s.conns) == 0 && len(s.listeners) == 0 }

// noteEmpty wakes Shutdown, if it waits for nothing any more. mu is held.
func (s *Server) noteEmpty() {
	if s.isEmpty() && s.empty != nil {
		close(s.empty)
		s.empty = nil
	}
}

// serveConn serves a connection until it ends.
func (s *Server) serveConn(c *conn) {
	// hooks of the application may end the goroutine
	defer s.end(c)
	defer func() { _ = c.q.CloseWithError(quic.ApplicationErrorCode(wire.NoError), "") }()
	own, err := s.host.Accept(netConn{c.q})
	if err != nil {
		_ = c.q.CloseWithError(quic.ApplicationErrorCode(wire.ExcessiveLoad), "")
		return
	}
	c.own = own
	if err = c.open(); err == nil {
		err = c.run()
	} else {
		_ = c.q.CloseWithError(quic.ApplicationErrorCode(wire.NoError), "")
		err = c.reason(err)
	}
	own.Close(err)
}

// awaitEmpty waits until there is no connection, and no listener that may still have one.
func (s *Server) awaitEmpty(ctx context.Context) error {
	s.mu.Lock()
	if s.isEmpty() {
		s.mu.Unlock()
		return nil
	}
	if s.empty == nil {
		s.empty = make(chan struct{})
	}
	empty := s.empty
	s.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Shutdown ends the server gracefully: it accepts no more connections, makes clients send no more
// requests on the ones that there are, and waits until all requests have ended. After its last response, a
// client has three seconds to close the connection. If ctx ends earlier, Shutdown ends all requests, and
// returns its error.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.prepare(); err != nil {
		return err
	}
	defer s.workers.Stop()
	s.mu.Lock()
	s.stopping = true
	for ln := range s.listeners {
		// it waits for the goroutine that calls open for a new client
		go ln.Close()
	}
	var conns []*conn
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	for _, c := range conns {
		c.goAway()
	}
	err := s.awaitEmpty(ctx)
	if err != nil {
		s.closeAll()
	}
	return err
}

// Close ends the server and all requests at once.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// closeAll closes all connections.
func (s *Server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		go c.fail(&wire.Error{Code: wire.NoError, What: "the server has ended"})
	}
}

// netConn is the connection that handlers see.
type netConn struct{ q *quic.Conn }

var errNoBytes = errors.New("http3: a connection of QUIC has no bytes of its own")

func (n netConn) Read([]byte) (int, error)         { return 0, errNoBytes }
func (n netConn) Write([]byte) (int, error)        { return 0, errNoBytes }
func (n netConn) LocalAddr() net.Addr              { return n.q.LocalAddr() }
func (n netConn) RemoteAddr() net.Addr             { return n.q.RemoteAddr() }
func (n netConn) SetDeadline(time.Time) error      { return errNoBytes }
func (n netConn) SetReadDeadline(time.Time) error  { return errNoBytes }
func (n netConn) SetWriteDeadline(time.Time) error { return errNoBytes }

// Close ends the connection with all of its requests.
func (n netConn) Close() error {
	return n.q.CloseWithError(quic.ApplicationErrorCode(wire.NoError), "")
}

// Handshake does nothing: the connection is served once the handshake is over.
func (n netConn) Handshake() error { return nil }

// ConnectionState returns the state of TLS.
func (n netConn) ConnectionState() tls.ConnectionState { return n.q.ConnectionState().TLS }

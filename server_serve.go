package fasthttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/peers"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// Errors of ServeConn. Serve logs them, at most once a second.
var (
	// ErrPerIPConnLimit reports that the address already has MaxConnsPerIP connections.
	ErrPerIPConnLimit = errors.New("fasthttp: too many connections per ip")

	// ErrConcurrencyLimit reports that Concurrency connections are already being served.
	ErrConcurrencyLimit = errors.New("fasthttp: cannot serve the connection because server.concurrency " +
		"concurrent connections are served")

	// ErrAlreadyServing is never returned.
	//
	// Deprecated: Serve may be called more than once.
	ErrAlreadyServing = errors.New("fasthttp: server is already serving connections")
)

// ListenAndServe serves HTTP on the TCP address addr with handler; see
// Server.ListenAndServe.
func ListenAndServe(addr string, handler RequestHandler) error {
	s := &Server{Handler: handler}
	return s.ListenAndServe(addr)
}

// ListenAndServeUNIX serves HTTP on the Unix socket addr with handler; see
// Server.ListenAndServeUNIX.
func ListenAndServeUNIX(addr string, mode os.FileMode, handler RequestHandler) error {
	s := &Server{Handler: handler}
	return s.ListenAndServeUNIX(addr, mode)
}

// Serve serves HTTP on the connections that ln accepts with handler; see
// Server.Serve.
func Serve(ln net.Listener, handler RequestHandler) error {
	s := &Server{Handler: handler}
	return s.Serve(ln)
}

// ServeConn serves HTTP on the connection c with handler; see Server.ServeConn.
func ServeConn(c net.Conn, handler RequestHandler) error {
	s := &Server{Handler: handler}
	return s.ServeConn(c)
}

// ListenAndServe serves HTTP on the TCP address addr, such as ":8080", over IPv4 only;
// for anything else, create a listener and call Serve. It returns nil after Shutdown,
// and otherwise an error.
func (s *Server) ListenAndServe(addr string) error {
	ln, err := s.listen("tcp4", addr)
	if err != nil {
		return err
	}
	return s.Serve(ln)
}

// listen opens a listener whose connections have the keep-alive settings of
// the server from the start.
func (s *Server) listen(network, addr string) (net.Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: (*host)(s).keepalive()}
	if !config.KeepAliveConfig.Enable {
		config.KeepAlive = -1 // the config alone would leave the default on
	}
	return config.Listen(context.Background(), network, addr)
}

// ListenAndServeUNIX serves HTTP on the Unix socket addr, whose file gets the mode. An
// existing file is removed. It returns nil after Shutdown; otherwise the error of
// removing the file, of creating it, or of Serve. The file is removed when the server
// ends, unless another server has replaced it meanwhile.
func (s *Server) ListenAndServeUNIX(addr string, mode os.FileMode) error {
	if err := os.Remove(addr); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("fasthttp: cannot remove the old socket %q: %w", addr, err)
	}
	ln, err := listenUNIX(addr)
	if err != nil {
		return err
	}
	if err := os.Chmod(addr, mode); err != nil {
		_ = ln.Close()
		return fmt.Errorf("fasthttp: cannot set the mode of %q to %#o: %w", addr, mode, err)
	}
	return s.Serve(ln)
}

// unixListener is a listener that removes only its own file: when it is closed, the path
// may already belong to its successor.
type unixListener struct {
	*net.UnixListener
	path string
	file os.FileInfo
	once sync.Once
	err  error
}

func listenUNIX(path string) (*unixListener, error) {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false)
	// without it the file stays, as it does for a name other than a path
	file, _ := os.Lstat(path)
	return &unixListener{UnixListener: ln, path: path, file: file}, nil
}

// Close removes the file, and closes the listener.
func (ln *unixListener) Close() error {
	ln.once.Do(func() {
		// the system does not use the file's number for another file before the listener is
		// closed
		if there, err := os.Lstat(ln.path); err == nil && ln.file != nil && os.SameFile(there, ln.file) {
			_ = os.Remove(ln.path)
		}
		ln.err = ln.UnixListener.Close()
	})
	return ln.err
}

// Serve serves HTTP on the connections that ln accepts, until ln fails for good, and
// returns that error. It returns nil when Shutdown is called, and when other code
// closes ln. It closes ln. It may be called for more than one listener. Without a
// Handler, and without a protocol of NextProto, it fails at once.
func (s *Server) Serve(ln net.Listener) error {
	s.prepare()
	if err := s.checkHandler(); err != nil {
		_ = ln.Close()
		return err
	}
	below, layer := ln, tlswire.Layer(nil)
	if over, ok := ln.(*tlsListener); ok {
		below, layer = over.Listener, over.layer
	}
	if s.wantsEvents(below) {
		if served, err := s.conns.ServeEvents(below, layer); served {
			return err
		}
	}
	return s.conns.Serve(s.wrapListener(ln))
}

var errNoHandler = errors.New("fasthttp: cannot serve: Server.Handler is nil")

// checkHandler returns an error if there is neither a Handler nor a protocol of
// NextProto.
func (s *Server) checkHandler() error {
	if s.Handler != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.nextProtos) > 0 {
		return nil
	}
	return errNoHandler
}

// admit counts a connection as being served, unless a limit forbids it.
func (s *Server) admit(nc net.Conn) (ip netip.Addr, err error) {
	if !s.awaitsHeader(nc) {
		if ip, err = s.admitAddress(nc); err != nil {
			return ip, err
		}
	}
	if n := s.serving.Add(1); int(n) > s.set.concurrency {
		s.serving.Add(^uint32(0))
		s.rejected.Add(1)
		s.dismissAddress(ip)
		return ip, ErrConcurrencyLimit
	}
	return ip, nil
}

// dismiss records that an admitted connection is no longer served.
func (s *Server) dismiss(ip netip.Addr) {
	s.serving.Add(^uint32(0))
	s.dismissAddress(ip)
}

// dismissAddress undoes admitAddress, if there is an address. Any address of the host will
// do.
func (s *Server) dismissAddress(ip netip.Addr) {
	if ip.IsValid() {
		s.perIP.Release(peers.HostOf(ip))
	}
}

// admitAddress counts a connection as one of its address, unless MaxConnsPerIP
// forbids it.
func (s *Server) admitAddress(nc net.Conn) (ip netip.Addr, err error) {
	if s.MaxConnsPerIP <= 0 {
		return ip, nil
	}
	if ip = peers.HostOf(peers.AddrOf(nc.RemoteAddr())); !ip.IsValid() {
		return ip, nil
	}
	if !s.perIP.Acquire(ip, s.MaxConnsPerIP) {
		return netip.Addr{}, ErrPerIPConnLimit
	}
	return ip, nil
}

// refuseTimeout is how long a refused connection may take to receive the refusal. A
// distant client needs a second for the TLS handshake alone.
var refuseTimeout = 10 * time.Second

// maxRefusals is how many refused connections are sent a response concurrently. Each of
// them holds a descriptor until its client has received it: clients that open too many
// connections must not use up the descriptors of other clients.
const maxRefusals = 1024

// mayRefuse reports whether a refused connection gets a response. If it does, refused
// must be called afterwards.
func (s *Server) mayRefuse(limit int64) bool {
	if int64(s.refusals.Add(1)) <= limit {
		return true
	}
	s.refused()
	return false
}

func (s *Server) refused() { s.refusals.Add(-1) }

// refuseConn answers a connection that the server does not serve, and closes it.
func (s *Server) refuseConn(nc net.Conn, why error) {
	defer s.catchPanic("a connection that is refused")
	defer s.logRefusal(nc, why)
	defer nc.Close()
	limit := int64(maxRefusals)
	if _, ok := nc.(connTLSer); ok {
		limit = maxTLSRefusals
	}
	if !s.mayRefuse(limit) {
		return
	}
	defer s.refused()
	resp := AcquireResponse()
	defer ReleaseResponse(resp)
	s.configureResponse(resp)
	resp.SetStatusCode(StatusServiceUnavailable)
	resp.SetBodyString("The connection cannot be served because Server.Concurrency limit exceeded")
	if why == ErrPerIPConnLimit {
		resp.SetStatusCode(StatusTooManyRequests)
		resp.SetBodyString("The number of connections from your ip exceeds MaxConnsPerIP")
	}
	s.sendRefusal(nc, resp, why)
}

// sendRefusal sends a response that ends the connection, which remains to be
// closed.
func (s *Server) sendRefusal(nc net.Conn, resp *Response, why error) {
	resp.SetConnectionClose()
	_ = nc.SetDeadline(time.Now().Add(refuseTimeout))
	n, err := resp.WriteTo(nc)
	s.reportRefusal(nc, resp, SentResponse{Bytes: n, Refused: why, Err: err})
	if err == nil {
		engine.LingerOn(nc, engine.LingerSmallSize)
	}
}

// mayLogRefusal reports whether a refusal may be logged. An overloaded server must
// not spend its time on logging.
func (s *Server) mayLogRefusal() bool {
	now := time.Now().Unix()
	return s.refusedAt.Swap(now) != now
}

// logRefusal logs that a connection was refused.
func (s *Server) logRefusal(nc net.Conn, why error) {
	if s.mayLogRefusal() {
		s.logger().Printf("fasthttp: refused the connection from %v: %v", nc.RemoteAddr(), why)
	}
}

// ServeConn serves HTTP on the connection c, and closes it. It returns nil if the
// connection was closed cleanly, ErrPerIPConnLimit or ErrConcurrencyLimit if it was
// refused, and otherwise the error that ended it. If a handler hijacks the connection,
// ServeConn returns nil when the response was sent, and leaves the connection to the
// HijackHandler.
//
// A Write on c must send the bytes to the peer at once, without waiting for more.
func (s *Server) ServeConn(c net.Conn) error {
	s.prepare()
	if err := s.checkHandler(); err != nil {
		_ = c.Close()
		return err
	}
	nc, err := s.wrapProxied(c)
	if err != nil {
		s.logRefusal(c, err)
		_ = c.Close()
		return err
	}
	return s.conns.ServeConn(nc)
}

// ConnState is a state of a server's connection, as passed to Server.ConnState.
type ConnState int

const (
	// StateNew is the state of a connection that was accepted and has not sent anything
	// yet. StateActive or StateClosed follows.
	StateNew ConnState = iota

	// StateActive begins with the first byte of a request and ends when it was
	// answered; with HTTP/2, when all requests of the connection were. StateIdle,
	// StateHijacked or StateClosed follows.
	StateActive

	// StateIdle is the state of a connection that waits for its next request.
	// StateActive or StateClosed follows.
	StateIdle

	// StateHijacked is the state of a connection that was handed to a
	// HijackHandler. It is the last one.
	StateHijacked

	// StateClosed is the state of a closed connection. It is the last one.
	StateClosed
)

// String returns the name of the state.
func (c ConnState) String() string {
	switch c {
	case StateNew:
		return "new"
	case StateActive:
		return "active"
	case StateIdle:
		return "idle"
	case StateHijacked:
		return "hijacked"
	case StateClosed:
		return "closed"
	}
	return ""
}

// Engine selects how a Server moves the bytes of its connections.
type Engine int

const (
	// EngineAuto is EngineEvent if the system and the listener allow it, and
	// EnginePortable otherwise.
	EngineAuto Engine = iota

	// EnginePortable runs a goroutine for each connection. It works on every system and
	// with every net.Conn, such as a connection from tls.NewListener.
	EnginePortable

	// EngineEvent serves TCP and Unix sockets of Linux from event loops, with TLS of
	// the server or without: an idle connection has no goroutine, and no buffers except
	// inside crypto/tls. Handlers may block, as they may on the portable engine.
	EngineEvent
)

// engineVariable overrides Server.Engine for all servers of a process, to hunt
// a fault or to compare: "portable" or "event".
const engineVariable = "FASTHTTP_ENGINE"

// wantsEvents reports whether connections of ln should be served by the event engine if
// possible.
func (s *Server) wantsEvents(ln net.Listener) bool {
	engine := s.Engine
	switch os.Getenv(engineVariable) {
	case "portable":
		engine = EnginePortable
	case "event":
		engine = EngineEvent
	}
	if engine == EnginePortable {
		return false
	}
	switch ln.(type) {
	case *net.TCPListener, *net.UnixListener, *unixListener:
		return true
	}
	return false
}

// host is a Server as its engines see it. It has a type of its own since Server must not
// have the methods.
type host Server

var _ engine.Host = (*host)(nil)

var h1Conns = sync.Pool{New: func() any { return newH1Conn() }}

// prepareConns puts the settings into the set of connections.
func (s *Server) prepareConns() {
	s.conns.Host = (*host)(s)
	s.conns.WorkerIdleTimeout = max(s.MaxIdleWorkerDuration, 0)
	s.conns.Limits = engine.Limits{Handshake: s.handshakeTimeout(), First: s.set.firstTimeout, Idle: s.set.idleTimeout, RespondsOnTimeout: s.set.headTimeout > 0, Queue: s.set.maxQueueTime}
	s.conns.TracksState = s.ConnState != nil || s.Trace.tracesConns()
	s.conns.Renew()
}

// AcquireProtocol implements engine.Host.
func (h *host) AcquireProtocol(c *engine.Conn, l engine.Link, last engine.Protocol) engine.Protocol {
	s := (*Server)(h)
	if c.Variant == variantHTTP2 || s.set.onlyHTTP2 && !c.IsTLS {
		return newH2Conn(s, c, l)
	}
	own, _ := last.(*h1Conn)
	switch {
	case own != nil:
	case c.HasReadGoroutine:
		own = s.parkedConn()
	default:
		own = h1Conns.Get().(*h1Conn)
	}
	own.attach(s, c, l)
	return own
}

// ReleaseProtocol implements engine.Host.
func (h *host) ReleaseProtocol(p engine.Protocol, reuse bool) (last engine.Protocol, fault error) {
	switch over := p.(type) {
	case *h2Conn:
		return nil, over.release()
	case *switchedConn:
		return nil, over.conn().release(true)
	}
	own := p.(*h1Conn)
	fault = own.fault
	if reuse && own.reusable() {
		if !own.c.HasReadGoroutine {
			return own, fault
		}
		if own.endCachingCtx(); !(*Server)(h).hasMany() {
			return own, fault
		}
		own.park()
		return nil, fault
	}
	own.release()
	if !own.phases.ReadingDetached() {
		own.clear()
		h1Conns.Put(own)
	}
	return nil, fault
}

// Upgrade implements engine.Host: the handler has called SwitchProtocols or PushBody, such a body
// has ended, or the preface of HTTP/2 was received.
func (h *host) Upgrade(c *engine.Conn, l engine.Link, p engine.Protocol) (next engine.Protocol) {
	if over, ok := p.(*switchedConn); ok {
		return h.resumeHTTP1(c, l, over.conn())
	}
	old := p.(*h1Conn)
	if ctx := old.x.ctx; ctx != nil && ctx.switched != nil {
		next = h.switchProtocols(c, l, old)
	} else {
		next = h.upgradeHTTP2(c, l, old)
	}
	old.release()
	old.clear()
	h1Conns.Put(old)
	return next
}

// ParkProtocol implements engine.Host.
func (h *host) ParkProtocol(p engine.Protocol, bare bool) (space *bufpool.Buffer, until time.Time, ok bool) {
	own, isH1 := p.(*h1Conn)
	if !isH1 || !own.mayPark(bare) {
		return nil, time.Time{}, false
	}
	if !bare {
		space = own.detachReadBuffer()
	}
	own.park()
	return space, afterTimeout(h.set.idleTimeout), true
}

// Dormant implements engine.Host.
func (h *host) Dormant(c *engine.Conn) (size int, until time.Time, ok bool) {
	if !(*Server)(h).hasMany() || h.set.headTimeout > 0 || c.HasEscaped() || c.Variant == variantHTTP2 || h.set.onlyHTTP2 && !c.IsTLS {
		return 0, time.Time{}, false
	}
	return h.set.readSize, afterTimeout(h.set.firstTimeout), true
}

// ResumeProtocol implements engine.Host.
func (h *host) ResumeProtocol(c *engine.Conn, l engine.Link, space *bufpool.Buffer, readUntil, writeUntil time.Time) engine.Protocol {
	own := (*Server)(h).parkedConn()
	own.attach((*Server)(h), c, l)
	own.readUntil, own.writeUntil = readUntil, writeUntil
	if space != nil {
		bufpool.Put(own.in)
		own.in, own.read = space, 0
	}
	return own
}

// Admit implements engine.Host.
func (h *host) Admit(nc net.Conn) (peer netip.Addr, err error) { return (*Server)(h).admit(nc) }

// Refuse implements engine.Host.
func (h *host) Refuse(nc net.Conn, why error) { (*Server)(h).refuseConn(nc, why) }

// OnOverload implements engine.Host.
func (h *host) OnOverload(why error) {
	if why == ErrConcurrencyLimit && h.SleepWhenConcurrencyLimitsExceeded > 0 {
		h.conns.Pause(h.SleepWhenConcurrencyLimitsExceeded)
	}
}

// ConnClosed implements engine.Host.
func (h *host) ConnClosed(peer netip.Addr) { (*Server)(h).dismiss(peer) }

// Prepare implements engine.Host.
func (h *host) Prepare(nc net.Conn) {
	if !h.TCPKeepalive && h.TCPKeepalivePeriod >= 0 {
		return // its listener has set it
	}
	if tcp, ok := transportOf(nc).(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(h.keepalive())
	}
}

// defaultKeepalive is the setting of package net for the connections of its listeners.
const defaultKeepalive = 15 * time.Second

// maxKeepalive is the most that Linux accepts.
const maxKeepalive = (1<<15 - 1) * time.Second

// Keepalive implements engine.Host.
func (h *host) Keepalive() (period time.Duration) {
	switch {
	case h.TCPKeepalivePeriod < 0:
		return 0
	case h.TCPKeepalive && h.TCPKeepalivePeriod > 0:
		return min(h.TCPKeepalivePeriod, maxKeepalive)
	}
	return defaultKeepalive
}

// keepalive is Keepalive for package net.
func (h *host) keepalive() net.KeepAliveConfig {
	period := h.Keepalive()
	return net.KeepAliveConfig{Enable: period > 0, Idle: period, Interval: period}
}

// KindOf implements engine.Host.
func (h *host) KindOf(nc net.Conn) (opening, isTLS bool) {
	_, isTLS = nc.(connTLSer)
	return isTLS || (*Server)(h).awaitsHeader(nc), isTLS
}

// Opening implements engine.Host: the header of a proxy, and then TLS.
func (h *host) Opening(c *engine.Conn) (nc net.Conn, over bool, err error) {
	s := (*Server)(h)
	if s.ProxyProtocol != nil {
		if err := s.awaitHeader(c); err != nil {
			return nil, true, err
		}
	}
	if c.IsTLS {
		return s.beginTLS(c)
	}
	return engine.Unproxied(c.NC), false, nil
}

// Handshake implements engine.Host.
func (h *host) Handshake(c *engine.Conn) (serve func() error, err error) {
	return (*Server)(h).handshake(c)
}

// Transport implements engine.Host.
func (h *host) Transport(nc net.Conn) net.Conn { return transportOf(nc) }

// ExpectsHeader implements engine.Host.
func (h *host) ExpectsHeader(nc net.Conn) (wait time.Duration, expected, served bool) {
	s := (*Server)(h)
	if s.ProxyProtocol == nil {
		return 0, false, true
	}
	peer := nc.RemoteAddr()
	if peer == zeroTCPAddr {
		// it was reset before the system could be asked, as by the health check of a
		// proxy
		return 0, false, false
	}
	expected, err := s.expectsProxyHeader(peer)
	if err != nil {
		s.logRefusal(nc, err)
		return 0, false, false
	}
	return s.proxyTimeout(), expected, true
}

// HeaderFailed implements engine.Host.
func (h *host) HeaderFailed(c *engine.Conn, err error) { _ = (*Server)(h).headerFailed(c, err) }

// AdmitClient implements engine.Host.
func (h *host) AdmitClient(c *engine.Conn) error { return (*Server)(h).admitClient(c) }

// StateChanged implements engine.Host.
func (h *host) StateChanged(c *engine.Conn, state engine.State) {
	if h.Trace != nil && state != engine.StateActive && state != engine.StateIdle {
		(*Server)(h).traceState(c, state)
	}
	if h.ConnState != nil {
		(*Server)(h).reportState(c.NC, ConnState(state))
	}
}

func (s *Server) reportState(nc net.Conn, state ConnState) {
	defer s.catchPanic("ConnState")
	s.ConnState(nc, state)
}

// Logf implements engine.Host.
func (h *host) Logf(format string, args ...any) { (*Server)(h).logger().Printf(format, args...) }

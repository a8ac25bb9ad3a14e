package fasthttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/patience"
	"github.com/valyala/fasthttp/internal/servertls"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// The protocols of application-layer negotiation that the server knows.
const (
	protoHTTP1 = "http/1.1"
	protoHTTP2 = "h2"
)

// ListenAndServeTLS serves HTTPS on the TCP address addr with handler and the
// certificate of the files; see Server.ListenAndServeTLS.
func ListenAndServeTLS(addr, certFile, keyFile string, handler RequestHandler) error {
	s := &Server{Handler: handler}
	return s.ListenAndServeTLS(addr, certFile, keyFile)
}

// ListenAndServeTLSEmbed serves HTTPS on the TCP address addr with handler and
// a certificate in PEM form; see Server.ListenAndServeTLSEmbed.
func ListenAndServeTLSEmbed(addr string, certData, keyData []byte, handler RequestHandler) error {
	s := &Server{Handler: handler}
	return s.ListenAndServeTLSEmbed(addr, certData, keyData)
}

// ServeTLS serves HTTPS on the connections that ln accepts with handler and the
// certificate of the files; see Server.ServeTLS.
func ServeTLS(ln net.Listener, certFile, keyFile string, handler RequestHandler) error {
	s := &Server{Handler: handler}
	return s.ServeTLS(ln, certFile, keyFile)
}

// ServeTLSEmbed serves HTTPS on the connections that ln accepts with handler
// and a certificate in PEM form; see Server.ServeTLSEmbed.
func ServeTLSEmbed(ln net.Listener, certData, keyData []byte, handler RequestHandler) error {
	s := &Server{Handler: handler}
	return s.ServeTLSEmbed(ln, certData, keyData)
}

// ListenAndServeTLS is ServeTLS on the TCP address addr, such as ":8443", over IPv4
// only; for anything else, create a listener and call ServeTLS.
func (s *Server) ListenAndServeTLS(addr, certFile, keyFile string) error {
	return s.listenAndServeTLS(addr, servertls.Source{InFiles: true, Cert: certFile, Key: keyFile})
}

// ListenAndServeTLSEmbed is ServeTLSEmbed on the TCP address addr, such as ":8443",
// over IPv4 only; for anything else, create a listener and call ServeTLSEmbed.
func (s *Server) ListenAndServeTLSEmbed(addr string, certData, keyData []byte) error {
	return s.listenAndServeTLS(addr, servertls.Source{Cert: string(certData), Key: string(keyData)})
}

func (s *Server) listenAndServeTLS(addr string, source servertls.Source) error {
	config, err := s.servingConfig(source)
	if err != nil {
		return err
	}
	ln, err := s.listen("tcp4", addr)
	if err != nil {
		return err
	}
	return s.Serve(&tlsListener{ln, tlswire.With(config)})
}

// ServeTLS serves HTTPS on the connections that ln, a listener of a transport such as
// TCP, accepts. certFile and keyFile are PEM files; their certificate is added after
// the certificates of TLSConfig. If one of the names is empty, only TLSConfig is used,
// and it is an error if that has no certificate.
//
// The listeners of a server share session ticket keys, which change each day; so do the
// children of package prefork. Keys set in TLSConfig stay in use.
//
// The files are read once; to renew a certificate while the server runs, use
// TLSReloader. Otherwise ServeTLS is like Serve: it closes ln, returns nil after
// Shutdown, and may be called more than once, also together with Serve for plain HTTP.
//
// Handshakes do not delay accepting, nor requests on other connections. On the event
// engine, 4 handshakes per processor compute at once, and the others wait for them. A
// client has ReadTimeout for its handshake, or 10 seconds if it is 0. A client that
// speaks plain HTTP gets a 400.
//
// The server offers these protocols to clients (RFC 7301), in this order: h2, if Protocols
// includes HTTP/2; the protocols in TLSConfig.NextProtos; http/1.1, if Protocols includes
// HTTP/1. If NextProtos itself lists h2 or http/1.1, that entry keeps its place. The server
// chooses the first protocol that the client offers as well. h2 is left out of NextProtos if
// neither Protocols nor a handler set by NextProto supports it. A configuration returned by
// TLSConfig.GetConfigForClient offers its own NextProtos.
func (s *Server) ServeTLS(ln net.Listener, certFile, keyFile string) error {
	return s.serveTLS(ln, servertls.Source{InFiles: true, Cert: certFile, Key: keyFile})
}

// ServeTLSEmbed is ServeTLS with the contents of the files: certData is a certificate
// in PEM form, followed by the certificates of its issuers, and keyData its key.
// Neither is kept. If one of them is empty, only TLSConfig is used.
func (s *Server) ServeTLSEmbed(ln net.Listener, certData, keyData []byte) error {
	return s.serveTLS(ln, servertls.Source{Cert: string(certData), Key: string(keyData)})
}

func (s *Server) serveTLS(ln net.Listener, source servertls.Source) error {
	config, err := s.servingConfig(source)
	if err != nil {
		_ = ln.Close()
		return err
	}
	return s.Serve(&tlsListener{ln, tlswire.With(config)})
}

// AppendCert adds the certificate of the PEM files certFile and keyFile to the
// certificates of TLSConfig, which is created if it is nil. A client gets the first
// certificate valid for the requested host, or else the first of all. AppendCert must
// be called before the server is started. It fails if a file cannot be read, or if the
// two do not match.
func (s *Server) AppendCert(certFile, keyFile string) error {
	return s.appendCert(servertls.Source{InFiles: true, Cert: certFile, Key: keyFile})
}

// AppendCertEmbed is AppendCert with the contents of the files.
func (s *Server) AppendCertEmbed(certData, keyData []byte) error {
	return s.appendCert(servertls.Source{Cert: string(certData), Key: string(keyData)})
}

func (s *Server) appendCert(source servertls.Source) error {
	cert, err := source.Load()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ownTLSConfig()
	s.TLSConfig.Certificates = append(s.TLSConfig.Certificates, cert)
	return nil
}

// NextProto makes nph serve the TLS connections whose client has chosen the protocol
// key, such as "acme-tls/1", by ALPN (RFC 7301). It adds key to TLSConfig.NextProtos.
// It must be called before the server is started. If Protocols includes HTTP/2, the
// server speaks it itself, unless a handler is set for "h2".
//
// nph gets the connection, a *tls.Conn unless the listener made another one, after
// its handshake and without deadlines; the server closes it when nph has returned.
// Until then the connection counts as served: it counts for Concurrency and
// MaxConnsPerIP, and Shutdown waits for it. An error that nph returns is logged, and
// so is a panic.
func (s *Server) NextProto(key string, nph ServeHandler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nextProtos == nil {
		s.nextProtos = make(map[string]ServeHandler)
	}
	s.nextProtos[key] = nph
	s.ownTLSConfig()
	if !slices.Contains(s.TLSConfig.NextProtos, key) {
		s.TLSConfig.NextProtos = append(s.TLSConfig.NextProtos, key)
	}
}

// ownTLSConfig makes sure that there is a TLSConfig. mu is held.
func (s *Server) ownTLSConfig() {
	if s.TLSConfig == nil {
		s.TLSConfig = new(tls.Config)
	}
}

// servingConfig returns a copy of TLSConfig fit for serving, with the certificate of
// the source if the source has one.
func (s *Server) servingConfig(source servertls.Source) (*tls.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	config := s.TLSConfig.Clone()
	if config == nil {
		config = new(tls.Config)
	}
	if !source.IsEmpty() {
		cert, err := source.Load()
		if err != nil {
			return nil, err
		}
		config.Certificates = append(slices.Clip(config.Certificates), cert)
	}
	if len(config.Certificates) == 0 && config.GetCertificate == nil && config.GetConfigForClient == nil {
		return nil, servertls.ErrNone
	}
	config.NextProtos = s.offeredProtos(config.NextProtos)
	// each listener has a configuration of its own, and a client may connect to any of
	// them
	if s.tickets == nil {
		s.tickets = servertls.For(s)
	}
	s.tickets.Manage(config)
	return config, nil
}

// offeredProtos returns the protocols that clients may choose from, given the
// configured ones. There is always at least one: a client without a common protocol
// fails in the handshake, and cannot be tricked into mistaking this server for a server
// of another protocol. Configurations that were made for other servers offer HTTP/2; if
// there is no handler for it, each browser would fail.
func (s *Server) offeredProtos(configured []string) []string {
	own := s.Handler != nil && s.Protocols.HTTP2()
	protos := slices.DeleteFunc(slices.Clone(configured), func(proto string) bool {
		return proto == protoHTTP2 && s.nextProtos[protoHTTP2] == nil && !own
	})
	if own && !slices.Contains(protos, protoHTTP2) {
		// the first protocol that the client offers, too, is chosen
		protos = slices.Insert(protos, 0, protoHTTP2)
	}
	if s.Handler != nil && s.Protocols.HTTP1() && !slices.Contains(protos, protoHTTP1) {
		protos = append(protos, protoHTTP1)
	}
	return protos
}

// tlsListener wraps a listener: its connections speak TLS. The goroutine that serves
// a connection does the handshake.
type tlsListener struct {
	net.Listener
	layer tlswire.Layer
}

// Accept implements net.Listener.
func (ln *tlsListener) Accept() (net.Conn, error) {
	nc, err := ln.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return ln.layer(nc, engine.Unproxied(nc)), nil
}

// SetDeadline sets the deadline of Accept if the listener has one.
func (ln *tlsListener) SetDeadline(t time.Time) error {
	own, ok := ln.Listener.(interface{ SetDeadline(t time.Time) error })
	if !ok {
		return errors.ErrUnsupported
	}
	return own.SetDeadline(t)
}

// SyscallConn gives access to the socket of the listener, if it has one.
func (ln *tlsListener) SyscallConn() (syscall.RawConn, error) { return socketOf(ln.Listener) }

// socketOf gives access to the socket of a listener, if it has one.
func socketOf(ln net.Listener) (syscall.RawConn, error) {
	if own, ok := ln.(syscall.Conn); ok {
		return own.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// transportOf returns the connection below the TLS connection nc, or nc itself if it
// does not use TLS.
func transportOf(nc net.Conn) net.Conn {
	switch c := nc.(type) {
	case *tls.Conn:
		nc = c.NetConn()
	case *proxiedTLS:
		nc = c.NetConn()
	}
	nc, _ = tlswire.Transport(nc)
	return engine.Unproxied(nc)
}

// handshakeTimeout returns how long a TLS handshake may take.
func (s *Server) handshakeTimeout() time.Duration {
	if s.ReadTimeout > 0 {
		return s.ReadTimeout
	}
	return patience.Handshake
}

// beginTLS performs the handshake of a TLS connection, and returns the connection for
// HTTP. over reports that there is none, because the handshake failed or a handler of
// another protocol has served the connection.
func (s *Server) beginTLS(c *engine.Conn) (nc net.Conn, over bool, err error) {
	_ = c.NC.SetDeadline(time.Now().Add(s.handshakeTimeout()))
	serve, err := s.handshake(c)
	if err != nil {
		return nil, true, err
	}
	_ = c.NC.SetDeadline(time.Time{})
	if serve != nil {
		return nil, true, serve()
	}
	if view, ok := tlswire.ViewOf(c.NC); ok {
		return view, false, nil
	}
	return engine.Unproxied(c.NC), false, nil
}

// handshake performs the handshake of a TLS connection. If the client has chosen the
// protocol of another handler, serve calls that.
func (s *Server) handshake(c *engine.Conn) (serve func() error, err error) {
	conn := c.NC.(connTLSer)
	err = conn.Handshake()
	if s.Trace != nil {
		s.traceHandshake(c, conn, err)
	}
	if err != nil {
		s.handshakeFailed(c, err)
		return nil, fmt.Errorf("fasthttp: tls handshake: %w", err)
	}
	c.EndOpening()
	if len(s.nextProtos) == 0 && !s.Protocols.HTTP2() && !s.set.onlyHTTP2 {
		return nil, nil
	}
	proto := conn.ConnectionState().NegotiatedProtocol
	if nph := s.nextProtos[proto]; nph != nil {
		return func() error { return s.serveProto(c, nph) }, nil
	}
	switch {
	case proto == protoHTTP2 && s.Protocols.HTTP2():
		c.Variant = variantHTTP2
	case s.set.onlyHTTP2:
		s.handshakeFailed(c, errNoHTTP1)
		return nil, errNoHTTP1
	}
	return nil, nil
}

var errNoHTTP1 = errors.New("fasthttp: http/2 was not agreed on, and the server does not speak http/1")

// serveProto calls the handler of the protocol of a connection.
func (s *Server) serveProto(c *engine.Conn, serve ServeHandler) (err error) {
	if !c.Begin() {
		// the server shuts down
		return nil
	}
	if s.ConnState != nil {
		(*host)(s).StateChanged(c, engine.StateActive)
	}
	defer func() {
		if r := recover(); r != nil {
			c.Abort()
			s.logger().Printf("fasthttp: panic serving another protocol to %v: %v\n%s", c.NC.RemoteAddr(), r, debug.Stack())
			err = fmt.Errorf("fasthttp: panic serving another protocol: %v", r)
		}
	}()
	c.MarkEscaped()
	if err = serve(c.NC); err != nil && (s.LogAllErrors || !isCommon(err)) {
		s.logger().Printf("fasthttp: cannot serve another protocol to %v: %v", c.NC.RemoteAddr(), err)
	}
	return err
}

// handshakeFailed logs why a handshake failed, and answers a client that has sent
// plain HTTP.
func (s *Server) handshakeFailed(c *engine.Conn, err error) {
	if header, ok := errors.AsType[tls.RecordHeaderError](err); ok && header.Conn != nil && startsLikeHTTP(header.RecordHeader) {
		err = errPlainHTTP
		s.respondPlainHTTP(transportOf(header.Conn))
	}
	if isCommon(err) && !s.LogAllErrors {
		return
	}
	s.logger().Printf("fasthttp: tls handshake with %v failed: %v", c.NC.RemoteAddr(), err)
}

var errPlainHTTP = errors.New("the client sent an http request to an https server")

// startsLikeHTTP reports whether the bytes at the position of a record's header are the
// start of an HTTP request. No type of record equals the first letter of a method.
func startsLikeHTTP(header [tlswire.HeaderSize]byte) bool {
	switch string(header[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO", "CONNE", "TRACE", "PRI *",
		"GET h", "PUT h":
		return true
	}
	return false
}

// respondPlainHTTP answers a client that must use TLS with a 400.
func (s *Server) respondPlainHTTP(nc net.Conn) {
	resp := AcquireResponse()
	defer ReleaseResponse(resp)
	s.configureResponse(resp)
	resp.SetStatusCode(StatusBadRequest)
	resp.SetBodyString("Client sent an HTTP request to an HTTPS server.\n")
	s.sendRefusal(nc, resp, errPlainHTTP)
}

// maxTLSRefusals is how many refused TLS connections are sent a response concurrently.
// The response takes a handshake, and an overloaded server cannot do many of them.
const maxTLSRefusals = 64

// defaultReloadInterval is the default of TLSReloader.Interval.
const defaultReloadInterval = 10 * time.Second

// TLSReloader serves certificates from files, and reads them again when they have
// changed, so that a certificate can be renewed without a restart:
//
//	certs, err := fasthttp.NewTLSReloader("cert.pem", "key.pem")
//	if err != nil {
//		return err
//	}
//	server.TLSConfig = &tls.Config{GetCertificate: certs.GetCertificate}
//	return server.ListenAndServeTLS(":443", "", "")
//
// It has no goroutine of its own: a handshake checks the files if the last check was
// Interval ago or more. Existing connections keep their certificate. If the changed
// files cannot be used, for example while only one of the two was replaced, the old
// certificate stays in use, and the next check tries again. The zero value has no
// certificate until Add is called.
//
// Its methods may be called from any goroutine. The fields must not be changed once it
// is in use. It must not be copied.
type TLSReloader struct {
	_ noCopy

	// Interval is the least time between two checks of the files; 10 seconds if it is 0.
	Interval time.Duration

	// Logger gets the errors of reading files that have changed. By default
	// they go to the standard error output.
	Logger Logger

	lastCheck atomic.Int64 // the time of the last check, of clock.Monotonic

	files servertls.Files

	mu   sync.Mutex // guards last
	last string     // the last error that was logged
}

// NewTLSReloader returns a TLSReloader with the certificate in the PEM files certFile and
// keyFile. It returns the errors of Add.
func NewTLSReloader(certFile, keyFile string) (*TLSReloader, error) {
	r := &TLSReloader{}
	r.lastCheck.Store(int64(clock.Monotonic()))
	if err := r.Add(certFile, keyFile); err != nil {
		return nil, err
	}
	return r, nil
}

// Add adds the certificate in two more files, for other hosts or with another type of
// key. It may be called while servers use the reloader. If a file cannot be read or the
// two do not match, it returns an error and changes nothing.
func (r *TLSReloader) Add(certFile, keyFile string) error { return r.files.Add(certFile, keyFile) }

// GetCertificate is for tls.Config.GetCertificate. It returns the first certificate
// that is valid for the requested host and that the client supports, or else the first
// of all. It returns an error only if there is none.
func (r *TLSReloader) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	r.checkIfDue()
	cert := r.files.For(hello)
	if cert == nil {
		return nil, servertls.ErrNone
	}
	return cert, nil
}

// checkIfDue checks the files if the last check was Interval ago. Of several concurrent
// handshakes one does so, and the others do not wait for it.
func (r *TLSReloader) checkIfDue() {
	interval := r.Interval
	if interval <= 0 {
		interval = defaultReloadInterval
	}
	now, looked := clock.Monotonic(), r.lastCheck.Load()
	if now-time.Duration(looked) < interval || !r.lastCheck.CompareAndSwap(looked, int64(now)) {
		return
	}
	err := r.Reload()
	text := ""
	if err != nil {
		text = err.Error()
	}
	r.mu.Lock()
	before := r.last
	r.last = text
	r.mu.Unlock()
	// each check has the same error until the files are right: log it once
	if text != "" && text != before {
		r.logger().Printf("%s; the certificate from before stays in use", text)
	}
}

func (r *TLSReloader) logger() Logger {
	if r.Logger != nil {
		return r.Logger
	}
	return defaultLogger
}

// Reload checks the files at once and reads the changed ones. It returns the first error,
// but reads the other files in any case.
func (r *TLSReloader) Reload() error { return r.files.Reload() }

// GenerateTestCertificate returns a self-signed certificate and its private key, both
// in PEM form, for ServeTLSEmbed and AppendCertEmbed. It is valid for a year, for host:
// a name such as "localhost" or "*.a.test", or an IP address; a port after it is
// ignored. A client accepts it only with this certificate among its root certificates.
//
// It is meant for tests. It returns an error only if the packages of crypto do, for
// example for a name that a certificate cannot contain.
func GenerateTestCertificate(host string) ([]byte, []byte, error) { return servertls.SelfSigned(host) }

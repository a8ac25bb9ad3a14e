package fasthttp

import (
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/certs"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/tickets"
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
	return s.listenAndServeTLS(addr, certs.Source{InFiles: true, Cert: certFile, Key: keyFile})
}

// ListenAndServeTLSEmbed is ServeTLSEmbed on the TCP address addr, such as ":8443",
// over IPv4 only; for anything else, create a listener and call ServeTLSEmbed.
func (s *Server) ListenAndServeTLSEmbed(addr string, certData, keyData []byte) error {
	return s.listenAndServeTLS(addr, certs.Source{Cert: string(certData), Key: string(keyData)})
}

func (s *Server) listenAndServeTLS(addr string, source certs.Source) error {
	config, err := s.servingConfig(source)
	if err != nil {
		return err
	}
	ln, err := s.listen("tcp4", addr)
	if err != nil {
		return err
	}
	return s.Serve(&tlsListener{ln, config})
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
	return s.serveTLS(ln, certs.Source{InFiles: true, Cert: certFile, Key: keyFile})
}

// ServeTLSEmbed is ServeTLS with the contents of the files: certData is a certificate
// in PEM form, followed by the certificates of its issuers, and keyData its key.
// Neither is kept. If one of them is empty, only TLSConfig is used.
func (s *Server) ServeTLSEmbed(ln net.Listener, certData, keyData []byte) error {
	return s.serveTLS(ln, certs.Source{Cert: string(certData), Key: string(keyData)})
}

func (s *Server) serveTLS(ln net.Listener, source certs.Source) error {
	config, err := s.servingConfig(source)
	if err != nil {
		_ = ln.Close()
		return err
	}
	return s.Serve(&tlsListener{ln, config})
}

// AppendCert adds the certificate of the PEM files certFile and keyFile to the
// certificates of TLSConfig, which is created if it is nil. A client gets the first
// certificate valid for the requested host, or else the first of all. AppendCert must
// be called before the server is started. It fails if a file cannot be read, or if the
// two do not match.
func (s *Server) AppendCert(certFile, keyFile string) error {
	return s.appendCert(certs.Source{InFiles: true, Cert: certFile, Key: keyFile})
}

// AppendCertEmbed is AppendCert with the contents of the files.
func (s *Server) AppendCertEmbed(certData, keyData []byte) error {
	return s.appendCert(certs.Source{Cert: string(certData), Key: string(keyData)})
}

func (s *Server) appendCert(source certs.Source) error {
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
func (s *Server) servingConfig(source certs.Source) (*tls.Config, error) {
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
		return nil, certs.ErrNone
	}
	config.NextProtos = s.offeredProtos(config.NextProtos)
	// each listener has a configuration of its own, and a client may connect to any of
	// them
	if s.tickets == nil {
		s.tickets = tickets.For(s)
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
	config *tls.Config
}

// Accept implements net.Listener.
func (ln *tlsListener) Accept() (net.Conn, error) {
	nc, err := ln.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return tlswire.Server(nc, engine.Unproxied(nc), ln.config), nil
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

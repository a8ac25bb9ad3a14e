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

// The protocols of application-layer negotiation that the server knows of.
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

// ListenAndServeTLS is ServeTLS on the TCP address addr, such as ":8443", IPv4
// only: listen yourself and call ServeTLS for anything else.
func (s *Server) ListenAndServeTLS(addr, certFile, keyFile string) error {
	return s.listenAndServeTLS(addr, certs.Source{InFiles: true, Cert: certFile, Key: keyFile})
}

// ListenAndServeTLSEmbed is ServeTLSEmbed on the TCP address addr, such as
// ":8443", IPv4 only: listen yourself and call ServeTLSEmbed for anything else.
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

// ServeTLS serves HTTPS on the connections that ln accepts, which are those of a
// transport such as TCP. certFile and keyFile are PEM files; their certificate comes
// after those that TLSConfig has. If one of the names is empty, only TLSConfig is
// used, and an error is returned if it has no certificate.
//
// The listeners of a server share the keys of session tickets, which change each day, as
// do the children of package prefork. Keys that TLSConfig has remain.
//
// The files are read once: TLSReloader serves a certificate that is renewed while the
// server runs. Otherwise ServeTLS is like Serve: it closes ln, returns nil after
// Shutdown, and may be called more than once, also beside Serve for plain HTTP.
//
// Handshakes do not hold up accepting, nor requests on other connections. On the event
// engine, 4 of them for each processor compute at a time, and the others wait for that.
// A client has ReadTimeout for its handshake, or 10 seconds if that is 0. A client that
// speaks plain HTTP gets a 400.
//
// The protocols offered to clients (RFC 7301) are h2, if Protocols has HTTP/2, then those of
// TLSConfig.NextProtos, then http/1.1, if Protocols has HTTP/1. If NextProtos has one of the
// two itself, that keeps its place; the first protocol counts that the client offers as well.
// h2 is left out of NextProtos if neither Protocols nor a handler set by NextProto has it. A
// configuration that TLSConfig.GetConfigForClient returns offers what its own NextProtos has.
func (s *Server) ServeTLS(ln net.Listener, certFile, keyFile string) error {
	return s.serveTLS(ln, certs.Source{InFiles: true, Cert: certFile, Key: keyFile})
}

// ServeTLSEmbed is ServeTLS with the contents of the files: certData is a certificate
// in PEM form, followed by those of its issuers, and keyData its key. Neither is
// kept. If one of them is empty, only TLSConfig is used.
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

// AppendCert adds the certificate of the PEM files certFile and keyFile to those of
// TLSConfig, which is created if it is nil. A client gets the first one that is valid
// for the host it asks for, or else the very first. AppendCert must be called before
// the server is started. It fails if a file cannot be read, or if the two do not
// belong together.
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

// NextProto makes nph serve the TLS connections whose client has chosen the
// protocol key, such as "acme-tls/1", in application-layer protocol negotiation (RFC
// 7301); key is added to TLSConfig.NextProtos for that. It has to be called
// before the server is started. The server speaks HTTP/2 itself if Protocols says so; a
// handler for "h2" takes the place of that.
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

// servingConfig returns a copy of TLSConfig that is fit for serving, with the
// certificate of the source if that has one.
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
	// each listener has a configuration of its own, and clients come to any of them
	if s.tickets == nil {
		s.tickets = tickets.For(s)
	}
	s.tickets.Manage(config)
	return config, nil
}

// offeredProtos returns the protocols that clients may choose from, given those that
// are configured. There is always at least one: a client without a common protocol
// fails in the handshake, and cannot be tricked into taking this server for one of
// another protocol. Configurations that were made for other servers offer HTTP/2; if
// there is no handler for it, each browser would fail.
func (s *Server) offeredProtos(configured []string) []string {
	own := s.Handler != nil && s.Protocols.HTTP2()
	protos := slices.DeleteFunc(slices.Clone(configured), func(proto string) bool {
		return proto == protoHTTP2 && s.nextProtos[protoHTTP2] == nil && !own
	})
	if own && !slices.Contains(protos, protoHTTP2) {
		// the first one counts that the client has, too
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

// SyscallConn leads to the socket of the listener if it has one.
func (ln *tlsListener) SyscallConn() (syscall.RawConn, error) { return socketOf(ln.Listener) }

// socketOf leads to the socket of a listener if it has one.
func socketOf(ln net.Listener) (syscall.RawConn, error) {
	if own, ok := ln.(syscall.Conn); ok {
		return own.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// transportOf returns the connection below the TLS connection nc, or nc itself if it
// is none.
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

package fasthttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// defaultHandshakeTimeout is how long a TLS handshake may take where
// Server.ReadTimeout is not set.
const defaultHandshakeTimeout = 10 * time.Second

func (s *Server) handshakeTimeout() time.Duration {
	if s.ReadTimeout > 0 {
		return s.ReadTimeout
	}
	return defaultHandshakeTimeout
}

// beginTLS performs the handshake of a TLS connection. over says that HTTP is
// not spoken on it, since the handshake failed or a handler of another protocol
// has served it.
func (p *portable) beginTLS() (over bool, err error) {
	s, c := p.s, p.c
	conn := c.nc.(connTLSer)
	_ = c.nc.SetDeadline(time.Now().Add(s.handshakeTimeout()))
	if err := conn.Handshake(); err != nil {
		s.handshakeFailed(c, err)
		return true, fmt.Errorf("fasthttp: tls handshake: %w", err)
	}
	_ = c.nc.SetDeadline(time.Time{})
	c.waiting.CompareAndSwap(connShaking, connWaiting)
	if len(s.nextProtos) > 0 {
		if serve := s.nextProtos[conn.ConnectionState().NegotiatedProtocol]; serve != nil {
			return true, s.serveProto(c, serve)
		}
	}
	if tc, ok := conn.(*tls.Conn); ok {
		p.tls = tlswire.ViewOf(tc)
		p.nc = p.tls
	}
	return false, nil
}

// awaitTLS waits for the first byte of a request without a buffer for it.
func (p *portable) awaitTLS() error {
	bufpool.Put(p.in)
	p.in, p.read = nil, 0
	return p.tls.Await()
}

// serveProto has a connection served by the handler of its protocol.
func (s *Server) serveProto(c *serverConn, serve ServeHandler) (err error) {
	if !c.waiting.CompareAndSwap(connWaiting, connBusy) {
		// the server shuts down
		return nil
	}
	s.setState(c, StateActive)
	defer func() {
		if r := recover(); r != nil {
			c.aborted = true
			s.logger().Printf("fasthttp: panic serving another protocol to %v: %v\n%s", c.nc.RemoteAddr(), r, debug.Stack())
			err = fmt.Errorf("fasthttp: panic serving another protocol: %v", r)
		}
	}()
	c.pinned.Store(true)
	if err = serve(c.nc); err != nil && (s.LogAllErrors || !isCommon(err)) {
		s.logger().Printf("fasthttp: cannot serve another protocol to %v: %v", c.nc.RemoteAddr(), err)
	}
	return err
}

// handshakeFailed says why a handshake failed: to the log, and to a client that
// had not meant to make one.
func (s *Server) handshakeFailed(c *serverConn, err error) {
	if header, ok := errors.AsType[tls.RecordHeaderError](err); ok && header.Conn != nil && startsLikeHTTP(header.RecordHeader) {
		err = errPlainHTTP
		s.answerPlainHTTP(transportOf(header.Conn))
	}
	if isCommon(err) && !s.LogAllErrors {
		return
	}
	s.logger().Printf("fasthttp: tls handshake with %v failed: %v", c.nc.RemoteAddr(), err)
}

var errPlainHTTP = errors.New("the client sent an http request to an https server")

// startsLikeHTTP reports whether what stands in the place of a record's header is
// the start of an HTTP request. The letters that are the first of a method are
// no types of records.
func startsLikeHTTP(header [tlswire.HeaderSize]byte) bool {
	switch string(header[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO", "CONNE", "TRACE", "PRI *",
		"GET h", "PUT h":
		return true
	}
	return false
}

// answerPlainHTTP tells a client that it has to use TLS.
func (s *Server) answerPlainHTTP(nc net.Conn) {
	resp := AcquireResponse()
	defer ReleaseResponse(resp)
	s.configureResponse(resp)
	resp.SetStatusCode(StatusBadRequest)
	resp.SetBodyString("Client sent an HTTP request to an HTTPS server.\n")
	s.sendRefusal(nc, resp, errPlainHTTP)
}

// maxTLSRefusals is how many TLS connections are told at a time that they are
// refused. Telling takes a handshake, of which a server that has too much to do
// cannot make any number.
const maxTLSRefusals = 64

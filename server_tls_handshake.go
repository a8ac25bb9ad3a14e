package fasthttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// defaultHandshakeTimeout is how long a TLS handshake may take if Server.ReadTimeout
// is not set.
const defaultHandshakeTimeout = 10 * time.Second

func (s *Server) handshakeTimeout() time.Duration {
	if s.ReadTimeout > 0 {
		return s.ReadTimeout
	}
	return defaultHandshakeTimeout
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
	if tc, ok := c.NC.(*tls.Conn); ok {
		return tlswire.ViewOf(tc), false, nil
	}
	return engine.Unproxied(c.NC), false, nil
}

// handshake performs the handshake of a TLS connection. If the client has chosen the
// protocol of another handler, serve calls that.
func (s *Server) handshake(c *engine.Conn) (serve func() error, err error) {
	conn := c.NC.(connTLSer)
	if err := conn.Handshake(); err != nil {
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
		(*host)(s).StateChanged(c.NC, engine.StateActive)
	}
	defer func() {
		if r := recover(); r != nil {
			c.Abort()
			s.logger().Printf("fasthttp: panic serving another protocol to %v: %v\n%s", c.NC.RemoteAddr(), r, debug.Stack())
			err = fmt.Errorf("fasthttp: panic serving another protocol: %v", r)
		}
	}()
	c.PinOnly()
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
		s.answerPlainHTTP(transportOf(header.Conn))
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

// answerPlainHTTP answers a client that must use TLS with a 400.
func (s *Server) answerPlainHTTP(nc net.Conn) {
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

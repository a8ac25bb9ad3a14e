package fasthttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"time"
)

// errDialNil says that a dial function has returned neither a connection nor an
// error.
var errDialNil = errors.New("fasthttp: the dial function returned no connection")

// connect makes a connection that HTTP can be spoken through.
func (c *PipelineClient) connect() (conn net.Conn, err error) {
	addr := c.Addr
	if c.Dial == nil {
		addr = AddMissingPort(addr, c.IsTLS)
	}
	defer func() {
		if p := recover(); p != nil {
			conn, err = nil, fmt.Errorf("fasthttp: panic while dialing %s: %v\n%s", addr, p, debug.Stack())
		}
	}()
	if c.Dial != nil {
		conn, err = c.Dial(addr)
	} else {
		conn, err = DialDualStack(addr)
	}
	if err != nil {
		return nil, err
	}
	if conn == nil {
		return nil, errDialNil
	}
	if !c.IsTLS {
		return conn, nil
	}
	return c.handshake(conn)
}

// tlsConfig returns the configuration for all connections. They share the
// sessions of TLS.
func (c *PipelineClient) tlsConfig() *tls.Config {
	config := &tls.Config{}
	if c.TLSConfig != nil {
		config = c.TLSConfig.Clone()
	}
	if config.ServerName == "" {
		config.ServerName = serverName(AddMissingPort(c.Addr, true))
	}
	if config.ClientSessionCache == nil {
		config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	if config.NextProtos == nil {
		config.NextProtos = []string{"http/1.1"}
	}
	return config
}

func (c *PipelineClient) handshake(conn net.Conn) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	secure := tls.Client(conn, c.tls)
	err := secure.HandshakeContext(ctx)
	if p := secure.ConnectionState().NegotiatedProtocol; err == nil && p != "" && p != "http/1.1" {
		err = fmt.Errorf("fasthttp: the server speaks %s, not HTTP/1.1", p)
	}
	if err == nil {
		err = secure.SetDeadline(time.Time{})
	}
	if err == nil {
		return secure, nil
	}
	_ = conn.Close()
	if ctx.Err() != nil {
		err = ErrTLSHandshakeTimeout
	}
	return nil, err
}

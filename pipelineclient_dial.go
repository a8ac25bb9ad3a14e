package fasthttp

import (
	"fmt"
	"net"
	"runtime/debug"
	"time"
)

// connect makes a connection that HTTP can be spoken through.
func (c *PipelineClient) connect() (cc *clientConn, err error) {
	addr := c.Addr
	if c.Dial == nil {
		addr = AddMissingPort(addr, c.IsTLS)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("fasthttp: panic while dialing %s: %v\n%s", addr, p, debug.Stack())
		}
		if err != nil && cc != nil {
			_ = cc.Close()
			cc = nil
		}
	}()
	conn, err := c.dial(addr)
	if err != nil {
		return nil, err
	}
	if conn == nil {
		return nil, errNoConn
	}
	cc = adoptConn(conn, addr, c.readSize())
	if c.IsTLS {
		_, err = cc.handshake(noContext, c.tls, time.Time{})
	}
	return cc, err
}

func (c *PipelineClient) dial(addr string) (net.Conn, error) {
	switch {
	case c.Dial != nil:
		return c.Dial(addr)
	case c.DialDualStack:
		return DialDualStack(addr)
	}
	return Dial(addr)
}

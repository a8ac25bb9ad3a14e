package fasthttp

import (
	"fmt"
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
	dial := c.Dial
	if dial == nil {
		dial = DialDualStack
	}
	conn, err := dial(addr)
	if err != nil {
		return nil, err
	}
	if conn == nil {
		return nil, errNoConn
	}
	cc = adoptConn(conn, addr, c.readSize())
	if c.IsTLS {
		_, err = cc.handshake(noContext, c.tls, time.Now().Add(handshakeTimeout))
	}
	return cc, err
}

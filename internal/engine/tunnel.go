package engine

import (
	"net"
	"runtime/debug"
)

// ServeTunnel drives a protocol on nc, which is a part of the connection of, such as a stream of
// HTTP/2: as the portable engine does, on the calling goroutine, until the protocol ends, and
// closes nc. nc is not in the Set, so it is not counted, and no shutdown waits for it alone.
// protocol returns the protocol, which is Concurrent and not Idle. If nc is to be reset, its
// method Reset is called.
func (s *Set) ServeTunnel(nc net.Conn, of *Conn, protocol func(c *Conn, l Link) Protocol) error {
	e := &portable{nc: nc}
	e.Set, e.NC, e.ID = s, nc, NewID()
	e.Opened, e.Service, e.IsTLS, e.Concurrent, e.HasReadGoroutine = of.Opened, of.Service, of.IsTLS, true, true
	e.MarkEscaped()
	ended := false
	defer func() {
		if !ended {
			e.abortTunnel(recover())
		}
	}()
	e.p = protocol(&e.Conn, e)
	end, err := e.perform(false)
	ended = true
	if _, fault := s.Host.ReleaseProtocol(e.p, end == Close || end == Linger); err == nil {
		err = fault
	}
	e.closeTunnel()
	return err
}

// closeTunnel closes the connection of ServeTunnel.
func (e *portable) closeTunnel() {
	if t, ok := e.nc.(interface{ Reset() error }); ok && e.IsAborted() {
		_ = t.Reset()
		return
	}
	_ = e.nc.Close()
}

// abortTunnel ends a tunnel whose goroutine has ended early, as abortProtocol does.
func (e *portable) abortTunnel(panicked any) {
	defer func() {
		e.Abort()
		e.closeTunnel()
	}()
	if e.p != nil {
		defer e.p.Abandoned()
	}
	if panicked != nil {
		e.Set.Host.Logf("fasthttp: panic serving a tunnel: %v\n%s", panicked, debug.Stack())
	}
}

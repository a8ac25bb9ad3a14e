package engine

import (
	"net"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// unlimited is a Host without limits and hooks, for embedding. It lacks AcquireProtocol and ReleaseProtocol.
type unlimited struct{}

// Admit implements Host.
func (unlimited) Admit(net.Conn) (peer netip.Addr, err error) { return peer, nil }

// Refuse implements Host.
func (unlimited) Refuse(nc net.Conn, _ error) { _ = nc.Close() }

// OnOverload implements Host.
func (unlimited) OnOverload(error) {}

// Prepare implements Host.
func (unlimited) Prepare(net.Conn) {}

// Keepalive implements Host.
func (unlimited) Keepalive() (period time.Duration) { return 0 }

// KindOf implements Host.
func (unlimited) KindOf(net.Conn) (opening, isTLS bool) { return false, false }

// Opening implements Host.
func (unlimited) Opening(c *Conn) (nc net.Conn, over bool, err error) { return c.NC, false, nil }

// Handshake implements Host.
func (unlimited) Handshake(*Conn) (serve func() error, err error) { return nil, nil }

// Transport implements Host.
func (unlimited) Transport(nc net.Conn) net.Conn { return nc }

// Upgrade implements Host.
func (unlimited) Upgrade(_ *Conn, _ Link, p Protocol) Protocol { return p }

// ParkProtocol implements Host.
func (unlimited) ParkProtocol(Protocol, bool) (space *bufpool.Buffer, until time.Time, ok bool) {
	return nil, until, false
}

// Dormant implements Host.
func (unlimited) Dormant(*Conn) (size int, until time.Time, ok bool) { return 0, until, false }

// ResumeProtocol implements Host.
func (unlimited) ResumeProtocol(*Conn, Link, *bufpool.Buffer, time.Time, time.Time) Protocol {
	return nil
}

// ConnClosed implements Host.
func (unlimited) ConnClosed(netip.Addr) {}

// ExpectsHeader implements Host.
func (unlimited) ExpectsHeader(net.Conn) (wait time.Duration, expected, served bool) {
	return 0, false, true
}

// HeaderFailed implements Host.
func (unlimited) HeaderFailed(*Conn, error) {}

// AdmitClient implements Host.
func (unlimited) AdmitClient(*Conn) error { return nil }

// StateChanged implements Host.
func (unlimited) StateChanged(*Conn, State) {}

// Logf implements Host.
func (unlimited) Logf(string, ...any) {}

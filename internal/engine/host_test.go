package engine

import (
	"net"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// unlimited is a Host without limits and hooks, for embedding. It lacks Lend and Return.
type unlimited struct{}

// Admit implements Host.
func (unlimited) Admit(net.Conn) (peer netip.Addr, err error) { return peer, nil }

// Refuse implements Host.
func (unlimited) Refuse(nc net.Conn, _ error) { _ = nc.Close() }

// Crowded implements Host.
func (unlimited) Crowded(error) {}

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

// PutAway implements Host.
func (unlimited) PutAway(Protocol, bool) (space *bufpool.Buffer, until time.Time, ok bool) {
	return nil, until, false
}

// Dormant implements Host.
func (unlimited) Dormant(*Conn) (size int, until time.Time, ok bool) { return 0, until, false }

// TakeUp implements Host.
func (unlimited) TakeUp(*Conn, Link, *bufpool.Buffer, time.Time, time.Time) Protocol { return nil }

// Gone implements Host.
func (unlimited) Gone(netip.Addr) {}

// ExpectsHeader implements Host.
func (unlimited) ExpectsHeader(net.Conn) (wait time.Duration, expected, served bool) {
	return 0, false, true
}

// HeaderFailed implements Host.
func (unlimited) HeaderFailed(*Conn, error) {}

// AdmitClient implements Host.
func (unlimited) AdmitClient(*Conn) error { return nil }

// StateChanged implements Host.
func (unlimited) StateChanged(net.Conn, State) {}

// Logf implements Host.
func (unlimited) Logf(string, ...any) {}

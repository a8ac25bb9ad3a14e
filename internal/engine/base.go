package engine

import (
	"errors"
	"net"
	"net/netip"
	"time"
)

// Unlimited is a Host but for Lend and Return, without limits and hooks. It is for
// embedding.
type Unlimited struct{}

// Admit implements Host.
func (Unlimited) Admit(net.Conn) (peer netip.Addr, err error) { return peer, nil }

// Refuse implements Host.
func (Unlimited) Refuse(nc net.Conn, _ error) { _ = nc.Close() }

// Crowded implements Host.
func (Unlimited) Crowded(error) {}

// Prepare implements Host.
func (Unlimited) Prepare(net.Conn) {}

// Keepalive implements Host.
func (Unlimited) Keepalive() (on bool, period time.Duration) { return false, 0 }

// KindOf implements Host.
func (Unlimited) KindOf(net.Conn) (opening, isTLS bool) { return false, false }

// Opening implements Host.
func (Unlimited) Opening(c *Conn) (nc net.Conn, over bool, err error) { return c.NC, false, nil }

// Transport implements Host.
func (Unlimited) Transport(nc net.Conn) net.Conn { return nc }

// Gone implements Host.
func (Unlimited) Gone(netip.Addr) {}

// ExpectsHeader implements Host.
func (Unlimited) ExpectsHeader(net.Conn) (wait time.Duration, expected, served bool) {
	return 0, false, true
}

// HeaderFailed implements Host.
func (Unlimited) HeaderFailed(*Conn, error) {}

// AdmitClient implements Host.
func (Unlimited) AdmitClient(*Conn) error { return nil }

// StateChanged implements Host.
func (Unlimited) StateChanged(net.Conn, State) {}

// Logf implements Host.
func (Unlimited) Logf(string, ...any) {}

// isTimeout reports whether err is that something took too long.
func isTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

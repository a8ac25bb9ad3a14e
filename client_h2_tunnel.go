package fasthttp

import (
	"errors"
	"net"
	"time"
)

// ErrNoExtendedConnect is the error of an extended CONNECT request, see
// RequestHeader.SetConnectProtocol, that was not sent because the server speaks neither HTTP/2
// nor HTTP/3, or has not announced that it accepts such requests.
var ErrNoExtendedConnect = errors.New("fasthttp: the server does not accept extended CONNECT requests")

// awaitSettings waits for the settings of the server: an extended CONNECT must not be sent before
// the server has permitted it (RFC 8441 section 3).
func (x *h2Call) awaitSettings() error {
	settled := x.p.conn.Settled()
	if settled == nil {
		return nil
	}
	// a server may send nothing before the preface has arrived
	x.p.conn.Wake()
	var expired <-chan time.Time
	if deadline := x.call.deadline; !deadline.IsZero() {
		timer := time.NewTimer(max(time.Until(deadline), 0))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-settled:
		return nil
	case <-expired:
		if canceled := x.call.canceled(); canceled != nil {
			return canceled
		}
		return ErrTimeout
	case <-x.call.done():
		return x.call.canceled()
	}
}

// h2ClientTunnel is the body of a 2xx response to CONNECT, which is a net.Conn. Reading does not
// end it: the other direction may still be used.
type h2ClientTunnel struct {
	*h2Stream
	nc net.Conn // below
}

var _ net.Conn = (*h2ClientTunnel)(nil)

// tunnelCloseTime is how long a closed tunnel may take to send the bytes that were written.
const tunnelCloseTime = 5 * time.Second

// Read implements net.Conn.
func (t *h2ClientTunnel) Read(p []byte) (int, error) { return t.tunnel.Read(p) }

// Write implements net.Conn.
func (t *h2ClientTunnel) Write(p []byte) (int, error) { return t.tunnel.Write(p) }

// Close implements net.Conn. Bytes that were written are still sent.
func (t *h2ClientTunnel) Close() error { return t.tunnel.Close() }

// CloseWithError is Close.
func (t *h2ClientTunnel) CloseWithError(error) error { return t.Close() }

// CloseWrite ends the direction to the server.
func (t *h2ClientTunnel) CloseWrite() error { return t.tunnel.CloseWrite() }

// Reset ends both directions at once.
func (t *h2ClientTunnel) Reset() error { return t.tunnel.Reset() }

// SetDeadline implements net.Conn. It also ends the effect of the time limits of the call.
func (t *h2ClientTunnel) SetDeadline(at time.Time) error {
	t.stopLimits()
	return t.tunnel.SetDeadline(at)
}

// SetReadDeadline implements net.Conn.
func (t *h2ClientTunnel) SetReadDeadline(at time.Time) error { return t.tunnel.SetReadDeadline(at) }

// SetWriteDeadline implements net.Conn.
func (t *h2ClientTunnel) SetWriteDeadline(at time.Time) error { return t.tunnel.SetWriteDeadline(at) }

// LocalAddr implements net.Conn.
func (t *h2ClientTunnel) LocalAddr() net.Addr { return t.nc.LocalAddr() }

// RemoteAddr implements net.Conn.
func (t *h2ClientTunnel) RemoteAddr() net.Addr { return t.nc.RemoteAddr() }

// leaveTunnel is called when the tunnel was closed.
func (s *h2Stream) leaveTunnel() {
	if s.tunnel.HasUnsent() {
		go func() {
			s.tunnel.AwaitSent(tunnelCloseTime)
			_ = s.guard.Close(s, 0)
		}()
		return
	}
	_ = s.guard.Close(s, 0)
}

package fasthttp

import (
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/http3"
)

// awaitExtended waits until the server has permitted extended CONNECT (RFC 9220 section 3). If it returns
// an error, the stream has ended.
func awaitExtended(stream http3.ClientStream, wait http3.ClientWait) error {
	accepts, err := stream.AwaitExtended(wait)
	if accepts {
		return nil
	}
	stream.Cancel()
	stream.ReleaseSending()
	stream.Release(false)
	if err == nil {
		err = ErrNoExtendedConnect
	}
	return err
}

// sendConnect sends the head of a CONNECT request. The direction to the server stays open.
func (x *h3Call) sendConnect() error {
	err := x.stream.Flush()
	x.traceWrote(wroteRequest, err)
	x.sentHead(err)
	return err
}

// opens reports whether the response has opened a tunnel.
func (x *h3Call) opens() bool { return x.tunnel && x.resp.Header.head.Status/100 == 2 }

// endConnect ends a CONNECT request that has opened no tunnel.
func (x *h3Call) endConnect() {
	if x.tunnel && !x.opens() {
		_ = x.stream.End()
		x.stream.ReleaseSending()
	}
}

// h3ClientTunnel is the body of a 2xx response to CONNECT, which is a net.Conn.
type h3ClientTunnel struct {
	http3.Tunnel
	x         *h3Call     // without its request and response
	unlimited atomic.Bool // the time limits of the call have no effect
}

var (
	_ net.Conn            = (*h3ClientTunnel)(nil)
	_ ReadCloserWithError = (*h3ClientTunnel)(nil)
)

// startTunnel leaves the tunnel to the caller. Of the time limits, only the one of the call applies to it.
func (x *h3Call) startTunnel() {
	t := &h3ClientTunnel{x: x}
	_ = x.stream.SetReadDeadline(x.call.deadline)
	_ = x.stream.SetWriteDeadline(x.call.deadline)
	x.stream.BeginTunnel()
	t.Init(x.stream, t.unused)
	x.resp.body.SetStream(t, -2)
	x.outlive(x.call.deadline)
}

// unused ends the stream. Bytes that were written are still sent.
func (t *h3ClientTunnel) unused() {
	t.x.stream.ReleaseSending()
	t.x.finish(true)
}

// Read implements net.Conn.
func (t *h3ClientTunnel) Read(p []byte) (int, error) {
	n, err := t.Tunnel.Read(p)
	return n, t.reason(err)
}

// Write implements net.Conn.
func (t *h3ClientTunnel) Write(p []byte) (int, error) {
	n, err := t.Tunnel.Write(p)
	return n, t.reason(err)
}

// reason returns the error for the caller: the time limits of the call may be the reason for err.
func (t *h3ClientTunnel) reason(err error) error {
	if err == nil || err == io.EOF || err == net.ErrClosed || t.unlimited.Load() {
		return err
	}
	if canceled := t.x.call.canceled(); canceled != nil {
		return canceled
	}
	if isTimeout(err) && t.x.call.expired() {
		return ErrTimeout
	}
	return err
}

// CloseWithError is Close.
func (t *h3ClientTunnel) CloseWithError(error) error { return t.Close() }

// SetDeadline implements net.Conn. It also ends the effect of the time limits of the call.
func (t *h3ClientTunnel) SetDeadline(at time.Time) error {
	t.unlimited.Store(true)
	if t.x.stop != nil {
		t.x.stop()
	}
	return t.Tunnel.SetDeadline(at)
}

// LocalAddr implements net.Conn.
func (t *h3ClientTunnel) LocalAddr() net.Addr { return t.x.stream.Conn().LocalAddr() }

// RemoteAddr implements net.Conn.
func (t *h3ClientTunnel) RemoteAddr() net.Addr { return t.x.stream.Conn().RemoteAddr() }

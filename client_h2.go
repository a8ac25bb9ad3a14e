package fasthttp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/connpool"
	"github.com/valyala/fasthttp/internal/failover"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2body"
	"github.com/valyala/fasthttp/internal/http2client"
	"github.com/valyala/fasthttp/internal/http3"
	"github.com/valyala/fasthttp/internal/sender"
)

// The windows of a client, unless HTTP2Config sets others. The window of the connection is
// so large that an unread response does not block other responses.
const (
	h2ClientWindow     = 1 << 20
	h2ClientConnWindow = 1 << 30
)

// usesHTTP2 reports whether connections may speak HTTP/2.
func (c *HostClient) usesHTTP2() bool {
	if c.IsTLS {
		return c.Protocols.HTTP2()
	}
	// there is no negotiation
	return c.Protocols.UnencryptedHTTP2() && !c.Protocols.HTTP1() && c.proxy == nil
}

// prepareHTTP2 puts the settings of HTTP/2 into c.h2.
func (c *HostClient) prepareHTTP2() {
	if !c.usesHTTP2() {
		return
	}
	s := &c.HTTP2
	c.h2 = &http2client.Config{
		Limits: http2.Limits{
			HeaderList:   max(c.ReadBufferSize, 0),
			Frame:        max(s.MaxReadFrameSize, 0),
			ConnWindow:   positive(s.MaxReceiveBufferPerConnection, h2ClientConnWindow),
			Window:       positive(s.MaxReceiveBufferPerStream, h2ClientWindow),
			DecoderTable: max(s.MaxDecoderHeaderTableSize, 0),
			EncoderTable: max(s.MaxEncoderHeaderTableSize, 0),
			// an aborted stream costs the server a request
			Wasted:    -1,
			KeepNames: c.DisableHeaderNamesNormalizing,
		},
		Ping:  max(s.SendPingTimeout, 0),
		Pong:  positive(s.PingTimeout, h2WriteTime),
		Write: positive(s.WriteByteTimeout, h2WriteTime),
	}
	if c.ReadBufferSize > 0 {
		c.h2.Limits.Fields = c.ReadBufferSize
	}
	c.h2.Limits.Fill()
	if count := s.CountError; count != nil {
		c.h2.Count = func(code http2.Code) { count(strings.ToLower(code.String())) }
	}
	c.pool.OpenSerially(true)
}

// errHTTP1Only reports that a server offers a version that the client must not use.
var errHTTP1Only = errors.New("fasthttp: the server does not speak HTTP/2, and the client nothing else")

// agree reports whether TLS has negotiated HTTP/2. The name is empty for a server that does
// not negotiate. Only a handshake that has offered HTTP/2 shows whether the server speaks it.
func (c *HostClient) agree(negotiated string, need connpool.Need) (http2 bool, err error) {
	if negotiated == "h2" && c.h2 != nil {
		c.pool.OpenSerially(true)
		return true, nil
	}
	if err := agreeOnHTTP1(negotiated); err != nil {
		return false, err
	}
	if !c.Protocols.HTTP1() {
		return false, errHTTP1Only
	}
	if c.h2 != nil && need == connpool.Any {
		c.pool.OpenSerially(false)
	}
	return false, nil
}

// beginHTTP2 makes cc speak HTTP/2, as was negotiated, or is known.
func (c *HostClient) beginHTTP2(cc *clientConn) {
	p := &http2Client{hc: c, cc: cc}
	cc.protocol, cc.shared = p, true
	p.conn = http2client.Begin(&cc.line, c.h2, p)
}

// protocolNames returns the names of base for the handshake, with the names of the versions
// that the client speaks.
func (c *HostClient) protocolNames(base []string) []string {
	if c.h2 == nil {
		return base
	}
	names := []string{"h2"}
	if c.Protocols.HTTP1() {
		names = append(names, "http/1.1")
	}
	for _, name := range base {
		if name != "http/1.1" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// h2CallReset reports that a stream was reset: by the server or, if fault is not nil,
// because of this fault of the server.
type h2CallReset struct {
	code  http2.Code
	fault *http2.Error
}

func (e h2CallReset) Error() string {
	if e.fault != nil {
		return e.fault.Error()
	}
	return fmt.Sprintf("fasthttp: the server has reset the stream: %v", e.code)
}

// isRefusal reports whether err means that the server has not processed the request.
func isRefusal(err error) bool {
	if reset, ok := errors.AsType[h2CallReset](err); ok {
		return reset.code == http2.RefusedStream && reset.fault == nil
	}
	return errors.Is(err, http3.ErrRejected)
}

// backoff waits before a request is sent again that servers have refused the given
// number of times, and reports whether it is sent: at once the first time, since the end of
// the connection may have been the reason.
func (c *callState) backoff(times, most int) bool {
	if times >= most {
		return false
	}
	wait := time.Duration(0)
	if times > 1 {
		wait = failover.Backoff(refusedWait, maxRefusedWait, times-1)
	}
	if !c.deadline.IsZero() && time.Until(c.deadline) <= wait {
		return false
	}
	return wait == 0 || c.sleep(wait)
}

const (
	refusedWait    = 10 * time.Millisecond
	maxRefusedWait = time.Second
)

// errH2NoStream reports that the connection accepts no more streams. Callers never see it: the
// request goes through another connection.
var errH2NoStream = errors.New("fasthttp: the connection takes no more requests")

// h2Sender sends the content of a request on a goroutine of its own, while the call waits for
// the response: a stream, or content followed by trailers.
//
// Once it has ended, it uses no memory of the caller except for a body stream, which is
// closed then, or was given to it for good.
type h2Sender struct {
	c   *http2client.Conn
	x   *h2Call // another call's, or none's, once out is cut
	out http2body.Outgoing

	outgoingContent // the lock of the connection guards its section
}

// newH2Sender makes a sender for the content of x. The lock is held.
func newH2Sender(x *h2Call, e http1.Encoding, content []byte) *h2Sender {
	s := &h2Sender{c: x.p.conn, x: x}
	s.take(&x.streamCall, e, content)
	s.out.Init(x.p.conn, x.stream)
	return s
}

// run sends everything.
func (s *h2Sender) run() {
	defer close(s.done)
	err := s.sendSafely(&s.out, s.finish)
	c := s.c
	c.Lock()
	if x := s.x; s.out.Err() == nil {
		if err != nil {
			// the stream has failed, so the response may be to something other than the
			// request
			x.fail(err)
			x.failBody(err)
			c.HTTP2().Reset(x.stream, http2.Cancel)
		} else {
			x.sent()
		}
	}
	c.UnlockAndWake()
	s.out.Release()
}

// finish sends the trailer section, and the end.
func (s *h2Sender) finish() error {
	s.c.Lock()
	// once out is cut, the header belongs to the caller
	hasSection := s.out.Err() == nil && s.hasSection()
	s.c.Unlock()
	if !hasSection {
		return s.out.End(nil)
	}
	return s.out.End(s.appendSection)
}

// endSender ends the sending, when nothing waits for the rest of the request. The stream is
// reset.
func (x *h2Call) endSender() {
	c, s := x.p.conn, x.sender
	c.Lock()
	s.out.Fail(sender.ErrAbandoned)
	// the sender gives back memory that would be sent otherwise
	c.HTTP2().Reset(x.stream, http2.Cancel)
	x.stopReadingConn()
	c.Unlock()
	s.end()
}

// finishBorrowed ends the sending of a form, which reads memory that belongs to the caller again
// once the call has returned. The rest has a moment to be sent. An unsent rest is then
// dropped, but the response continues.
func (x *h2Call) finishBorrowed() {
	c, s := x.p.conn, x.sender
	c.Lock()
	x.stopReadingConn()
	c.Unlock()
	if s.endsSoon() {
		return
	}
	c.Lock()
	s.out.Fail(sender.ErrAbandoned)
	c.HTTP2().Own(x.stream)
	c.Unlock()
	s.end()
}

// h2Stream is the callBody of HTTP/2. Other calls use the connection meanwhile. If the request was
// CONNECT, it belongs to an h2ClientTunnel.
type h2Stream struct {
	callBody
	x    *h2Call // has the reservation, until Release
	c    *http2client.Conn
	in   http2body.Incoming
	done bool // trailerTarget has got the trailer section

	tunnel *http2body.Tunnel // nil unless the request was CONNECT
	sender *h2Sender         // of the request, if it is still being sent
	stream *http2.Stream     // nil after Release; guarded by the lock of c

	timer *time.Timer // of the deadline, or nil
	stop  func() bool // of watching the context, or nil
}

// newH2Stream makes the body of the response of x, whose head has arrived. The lock is
// held.
func newH2Stream(x *h2Call, opens, end bool) *h2Stream {
	s := &h2Stream{x: x, c: x.p.conn, stream: x.stream}
	s.guarded, s.trailerTarget = s, &x.resp.Header.head
	framing := x.framing
	if opens {
		framing = http1.Framing{Kind: http1.UntilClose}
		s.tunnel = new(http2body.Tunnel)
		s.tunnel.Init(x.p.conn, x.stream, &s.in, s.leaveTunnel)
	}
	s.in.Init(x.p.conn, x.stream, framing)
	if end {
		s.in.End()
	}
	return s
}

// cancel ends the stream early.
func (s *h2Stream) cancel(err error) {
	c := s.c
	c.Lock()
	if s.stream != nil {
		s.in.Fail(err)
		s.failWrites(err)
		c.HTTP2().Reset(s.stream, http2.Cancel)
	}
	c.UnlockAndWake()
}

// beforeRelease is called before the stream of HTTP/2 is released. The lock is held.
func (s *h2Stream) beforeRelease() {
	s.stream = nil
	s.in.Detach(errStreamClosed)
	s.failWrites(errStreamClosed)
}

// failWrites records that nothing more can be sent. The lock is held.
func (s *h2Stream) failWrites(err error) {
	if s.tunnel != nil {
		s.tunnel.Fail(err)
	}
	if s.sender != nil {
		s.sender.out.Fail(err)
	}
}

// Next implements bodyio.GuardedStream.
func (s *h2Stream) Next(p []byte) (n int, done bool, err error) {
	n, err = s.in.Read(p)
	done = s.in.Ended()
	if done && !s.done && (err == nil || err == io.EOF) {
		s.done = true
		if bad := s.trailerTarget.AddSection(s.in.Section(), nil); bad != nil {
			return n, true, bad
		}
	}
	return n, done, err
}

// Release implements bodyio.GuardedStream: it gives the reservation back.
func (s *h2Stream) Release(bool) {
	s.stopLimits()
	x := s.x
	s.x = nil
	trace, traced, err := x.call.trace, x.trace, error(nil)
	s.c.Lock()
	if !x.isSent() {
		err = sender.ErrAbandoned
	}
	s.c.Unlock()
	x.leave(nil)
	if trace != nil && traced < wroteRequest {
		traced.report(trace, wroteRequest, err)
	}
	if s.tunnel != nil {
		s.c.Lock()
		s.tunnel.Release()
		s.c.Unlock()
	}
}

// stopLimits ends the effect of the time limits of the call.
func (s *h2Stream) stopLimits() {
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.stop != nil {
		s.stop()
	}
}

// Discard implements bodyio.GuardedStream. Unread content does not block other calls.
func (s *h2Stream) Discard(time.Duration) { _ = s.in.Close() }

// Interrupt implements bodyio.GuardedStream.
func (s *h2Stream) Interrupt() error {
	c := s.c
	c.Lock()
	s.in.Fail(errStreamClosed)
	c.Unlock()
	return nil
}

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

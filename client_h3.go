package fasthttp

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http3"
)

// h3Connector connects calls by HTTP/3. Package http3 has the connections.
type h3Connector struct{ client http3.Client }

func init() {
	http3.NewTransport = func(c http3.Client) any { return &transport{h3: &h3Connector{c}} }
}

// errH3NeedsTLS reports a request for http: URIs.
var errH3NeedsTLS = errors.New("fasthttp: HTTP/3 is for https URIs")

// connect opens a stream for a call.
func (t *h3Connector) connect(hc *HostClient, req *Request) (attempter, time.Duration, error) {
	call := &req.call
	if !hc.IsTLS {
		return nil, 0, errH3NeedsTLS
	}
	if call.trace != nil {
		traceGetConn(call, hc.Addr)
	}
	hc.lastUse.Store(int64(clock.Elapsed()))
	wait := http3.ClientWait{Ctx: call.ctx, Until: call.deadline, Room: hc.MaxConnWaitTimeout, MaxDuration: hc.MaxConnDuration}
	if wait.Ctx == nil {
		wait.Ctx = context.Background()
	}
	stream, err := t.client.Open(hc.h3Key(), wait)
	if err == nil && req.Header.head.IsExtended() {
		err = awaitExtended(stream, wait)
	}
	switch {
	case err == nil:
	case call.canceled() != nil:
		return nil, 0, call.canceled()
	case call.expired(), errors.Is(err, context.DeadlineExceeded):
		return nil, 0, ErrTimeout
	case err == http3.ErrNoRoom:
		return nil, 0, ErrNoFreeConns
	default:
		return nil, 0, err
	}
	if remote := stream.Conn().RemoteAddr(); remote != nil && call.trace != nil {
		call.upstream = remote.String()
	} else {
		call.upstream = hc.Addr
	}
	return &h3Call{stream: stream}, stream.IdleSince(), nil
}

// h3Key returns the key of the connections of c.
func (c *HostClient) h3Key() *http3.ClientKey {
	limits := http2.Limits{HeaderList: max(c.ReadBufferSize, 0)}
	if c.ReadBufferSize > 0 {
		limits.Fields = c.ReadBufferSize
	}
	limits.Fill()
	return &http3.ClientKey{
		Addrs: c.Addr, TLS: c.TLSConfig,
		Section: uint32(limits.HeaderList), Fields: limits.Fields,
		Table:      uint32(positive(c.HTTP2.MaxDecoderHeaderTableSize, h3ClientTable)),
		Encoder:    uint32(max(c.HTTP2.MaxEncoderHeaderTableSize, 0)),
		KeepNames:  c.DisableHeaderNamesNormalizing,
		Window:     uint64(max(c.HTTP2.MaxReceiveBufferPerStream, 0)),
		ConnWindow: uint64(max(c.HTTP2.MaxReceiveBufferPerConnection, 0)),
	}
}

// h3ClientTable is the default of the largest QPACK table of a decoder.
const h3ClientTable = 4096

// h3Messages is the pool of messages into which heads are read.
var h3Messages = sync.Pool{New: func() any { return new(http2.Message) }}

// h3Sender sends the content of a request on a goroutine of its own, while the call waits for
// the response: a stream, large content, or content followed by trailers.
//
// Once it has ended, it uses no memory of the caller except for a body stream, which is closed then.
type h3Sender struct {
	stream   http3.ClientStream
	times    *h3Times
	writeErr error // of stream

	outgoingContent

	mu    sync.Mutex // guards the fields below, and the section of the content
	err   error      // why the call has failed, or nil
	ended bool       // all was sent
}

var _ flushWriter = (*h3Sender)(nil)

// newH3Sender makes a sender for the content of x.
func newH3Sender(x *h3Call, e http1.Encoding, content []byte) *h3Sender {
	s := &h3Sender{stream: x.stream, times: x.times}
	s.take(&x.streamCall, e, content)
	return s
}

// run sends everything.
func (s *h3Sender) run() {
	defer close(s.done)
	err := s.sendSafely(s, s.finish)
	s.stream.ReleaseSending()
	if err == nil {
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
		s.times.sent()
		return
	}
	if s.writeErr != nil && !isTimeout(s.writeErr) {
		// the response tells why
		s.times.sent()
		return
	}
	// the stream has failed, so the response may be to something other than the request
	if s.writeErr != nil {
		err = ErrTimeout
	}
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.stream.Cancel()
}

// failure returns why the call has failed, or nil.
func (s *h3Sender) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// isSent reports whether all was sent.
func (s *h3Sender) isSent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// finish sends the trailer section, if there is one, and the end.
func (s *h3Sender) finish() error {
	s.mu.Lock()
	if !s.hasSection() {
		s.mu.Unlock()
		return s.note(s.stream.End())
	}
	b, enc := s.stream.BeginSection()
	b = s.appendSection(b, enc)
	s.mu.Unlock()
	if err := s.stream.SendSection(b); err != nil {
		return err
	}
	return s.note(s.stream.End())
}

// note records an error of the stream.
func (s *h3Sender) note(err error) error {
	if err != nil && s.writeErr == nil {
		s.writeErr = err
	}
	return err
}

// Write implements flushWriter.
func (s *h3Sender) Write(p []byte) (int, error) {
	n, err := s.stream.Write(p)
	return n, s.note(err)
}

// Flush implements flushWriter.
func (s *h3Sender) Flush() error { return s.note(s.stream.Flush()) }

// end ends the sending, when nothing waits for the rest of the request.
func (s *h3Sender) end() {
	s.mu.Lock()
	sent := s.ended
	s.trailers = nil // the header belongs to the caller
	s.mu.Unlock()
	if !sent {
		s.stream.StopSending()
	}
	s.outgoingContent.end()
}

// detach copies the memory of the caller that the sender still needs.
func (s *h3Sender) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outgoingContent.detach()
}

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

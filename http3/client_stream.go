package http3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	bridge "github.com/valyala/fasthttp/internal/http3"
)

// clientStream is the stream of a request of a client.
type clientStream struct {
	message
	c         *clientConn
	idleSince time.Duration
	rejected  atomic.Bool // by GOAWAY
}

var _ bridge.ClientStream = (*clientStream)(nil)

// Conn implements bridge.ClientStream.
func (s *clientStream) Conn() net.Conn { return netConn{s.c.q} }

// IdleSince implements bridge.ClientStream.
func (s *clientStream) IdleSince() time.Duration { return s.idleSince }

// Write implements bridge.ClientStream.
func (s *clientStream) Write(p []byte) (int, error) {
	n, err := s.message.Write(p)
	return n, s.sendError(err)
}

// Flush implements bridge.ClientStream.
func (s *clientStream) Flush() error { return s.sendError(s.message.Flush()) }

// End implements bridge.ClientStream.
func (s *clientStream) End() error { return s.sendError(s.message.End()) }

// StopSending implements bridge.ClientStream.
func (s *clientStream) StopSending() { s.q.CancelWrite(quic.StreamErrorCode(wire.RequestCancelled)) }

// ReleaseSending implements bridge.ClientStream.
func (s *clientStream) ReleaseSending() { s.release() }

// Head implements bridge.ClientStream.
func (s *clientStream) Head(m *http2.Message, expectsNone bool) error {
	f, err := s.frame()
	switch {
	case err == io.EOF:
		return s.malformed("a stream ends without a response")
	case err != nil:
		return s.receiveError(err)
	case f.TooLarge:
		return bridge.ErrLargeHead
	}
	m.Prepare(s.c.max.keepNames, false)
	switch err := s.c.decode(&m.Fields, &s.message, f.Payload); {
	case err == errTooLarge:
		return bridge.ErrLargeHead
	case err != nil:
		return s.receiveError(err)
	}
	if fault := m.CheckResponse(expectsNone); fault != nil {
		return s.malformed(fault.Error())
	}
	if m.Head.Status < fasthttp.StatusOK {
		s.r.Interim()
		return nil
	}
	framing := &m.Head.Framing
	s.left = -1
	switch framing.Kind {
	case http1.NoBody:
		s.left = 0
	case http1.Length:
		s.left = framing.Length
	default:
		if s.eof && s.at == len(s.in.B) {
			framing.Kind = http1.NoBody
		}
	}
	return nil
}

// Next implements bridge.ClientStream.
func (s *clientStream) Next(n int) ([]byte, error) {
	p, err := s.message.Next(n)
	return p, s.receiveError(err)
}

// AwaitExtended implements bridge.ClientStream.
func (s *clientStream) AwaitExtended(wait bridge.ClientWait) (accepts bool, err error) {
	ctx := wait.Ctx
	if !wait.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, wait.Until)
		defer cancel()
	}
	select {
	case <-s.c.settled:
		return s.c.extended.Load(), nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case <-s.c.q.Context().Done():
		return false, lossOf(context.Cause(s.c.q.Context()))
	}
}

// BeginTunnel implements bridge.ClientStream.
func (s *clientStream) BeginTunnel() { s.beginTunnel() }

// Cancel implements bridge.ClientStream.
func (s *clientStream) Cancel() {
	s.gone.Store(true)
	// first, since a write after a read that has failed must fail, too
	s.q.CancelWrite(quic.StreamErrorCode(wire.RequestCancelled))
	s.q.CancelRead(quic.StreamErrorCode(wire.RequestCancelled))
	s.c.wakeBlocked()
}

// reject ends a stream that the server does not serve (RFC 9114 section 5.2).
func (s *clientStream) reject() {
	s.rejected.Store(true)
	s.Cancel()
}

// Release implements bridge.ClientStream.
func (s *clientStream) Release(retire bool) {
	ended := s.eof && s.at == len(s.in.B) && !s.undecoded
	if !ended {
		s.q.CancelRead(quic.StreamErrorCode(wire.RequestCancelled))
	}
	if s.in != nil {
		bufpool.Put(s.in)
		s.in, s.data = nil, nil
	}
	s.c.end(s, retire, !ended)
}

// sendError returns the error for the caller for one of sending.
func (s *clientStream) sendError(err error) error {
	if e, ok := errors.AsType[cancelled](err); ok && e.remote && !s.rejected.Load() && !s.tunnel {
		// the response, or its error, tells why
		return bridge.ErrStopped
	}
	return s.receiveError(err)
}

// receiveError returns the error for the caller for one of receiving.
func (s *clientStream) receiveError(err error) error {
	switch {
	case err == nil, err == io.EOF:
		return err
	case s.rejected.Load():
		return rejection{"it has sent GOAWAY"}
	}
	if e, ok := errors.AsType[cancelled](err); ok {
		switch {
		case e.remote && e.code == wire.RequestRejected:
			return rejection{e.code.String()}
		case e.remote:
			return &resetByServer{e.code}
		}
		return errStreamCancelled
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, wire.ErrFault) || err == errCancelled {
		return err
	}
	return lossOf(err)
}

// errStreamCancelled is the error of a stream that this side has ended.
var errStreamCancelled = errors.New("http3: the request was cancelled")

// resetByServer is the error of a response that the server has cut off.
type resetByServer struct{ code wire.Code }

func (e *resetByServer) Error() string {
	return fmt.Sprintf("http3: the server has reset the stream: %v", e.code)
}

// Unwrap makes errors.Is find the errors of a connection that was reset, and of an incomplete
// message, as with other versions.
func (e *resetByServer) Unwrap() []error {
	return []error{cancelled{code: e.code}, io.ErrUnexpectedEOF}
}

// rejection is the error of a request that the server has not processed.
type rejection struct{ why string }

func (e rejection) Error() string {
	return bridge.ErrRejected.Error() + ": " + e.why
}

func (e rejection) Unwrap() error { return bridge.ErrRejected }

// loss is the error of a request whose connection has ended.
type loss struct{ cause error }

func (e loss) Error() string { return bridge.ErrLost.Error() + ": " + e.cause.Error() }

// Unwrap leaves out a timeout as the cause: it is not one of the call.
func (e loss) Unwrap() []error {
	all := []error{bridge.ErrLost, fasthttp.ErrConnectionClosed}
	if !isTimeout(e.cause) {
		all = append(all, e.cause)
	}
	return all
}

// lossOf returns the loss for the end of a connection. A fault of the server that this side has found is
// an error of ErrProtocol.
func lossOf(err error) error {
	if e, ok := errors.AsType[*quic.ApplicationError](err); ok && !e.Remote && wire.Code(e.ErrorCode) != wire.NoError {
		return loss{&wire.Error{Code: wire.Code(e.ErrorCode), What: e.ErrorMessage}}
	}
	return loss{err}
}

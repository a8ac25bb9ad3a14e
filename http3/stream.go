package http3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp/http3/internal/qpack"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	bridge "github.com/valyala/fasthttp/internal/http3"
)

// stream is the stream of a request of the server.
type stream struct {
	message
	c        *conn
	begun    time.Time
	headTill time.Time
	request  bridge.Request
	watched  atomic.Bool  // the function of OnCancel may still use the stream
	users    atomic.Int32 // serve, and the owner of the tunnel
}

// streams is the pool of streams.
var streams = sync.Pool{New: func() any { return new(stream) }}

// message is the stream of a request in either role. The fields of each direction belong to one
// goroutine at a time.
type message struct {
	link *session
	q    *quic.Stream

	// receiving
	r        wire.Reader
	in       *bufpool.Buffer
	at       int // the bytes of in before it were used
	eof      bool
	data     []byte // content that was read and not returned
	left     int64  // how much content follows according to Content-Length, or -1
	trailers *field.List
	over     error // why nothing more is received
	tunnel   bool  // the stream is a tunnel, see beginTunnel

	undecoded bool // a section was read, but not decoded, since its entries have not arrived

	// sending
	room *bufpool.Buffer // of out
	out  []byte
	from int   // where the section that was begun is in out
	lost error // why nothing more is sent: a part of a frame may have been

	section *qpack.Section // the section that was begun, if it uses a dynamic table

	finished atomic.Bool // this side has ended
	gone     atomic.Bool // this side does not wait for the peer any more
	received atomic.Bool // all of the peer's message was received
	aborted  atomic.Bool // by the peer
	faulty   atomic.Bool // the peer has made a fault

	cancelled bool         // no more sections are decoded, see session.cancel; guarded by the mutex of link
	readBy    atomic.Int64 // the deadline for reading in nanoseconds of Unix time, or 0
}

var _ bridge.Stream = (*stream)(nil)

// messages is the pool of messages into which header sections are read.
var messages = sync.Pool{New: func() any { return new(http2.Message) }}

// encoder encodes the sections of all connections whose peers have no dynamic table.
var encoder = func() *hpack.Encoder {
	e := new(hpack.Encoder)
	e.InitForm(qpack.Encoder{})
	return e
}()

// cancelled is the error of a stream that was reset, mostly by the client.
type cancelled struct {
	code   wire.Code
	remote bool
}

func (c cancelled) Error() string {
	return fmt.Sprintf("http3: the request was cancelled: %v", c.code)
}

// Unwrap returns the error of a connection that was reset, as with TCP.
func (c cancelled) Unwrap() error { return syscall.ECONNRESET }

// serve reads the head of the request, and serves it.
func (s *stream) serve() {
	c, lent := s.c, true
	s.begun = time.Now()
	s.users.Store(1)
	reported := false
	defer func() {
		if !reported {
			// a hook of the application has ended the goroutine
			s.fault(wire.InternalError)
		}
		s.leave(!lent)
	}()
	c.reportState()
	reported = true
	if timeout := c.s.limits.HeadTimeout; timeout > 0 {
		s.headTill = s.begun.Add(timeout)
		_ = s.SetReadDeadline(s.headTill)
	}
	s.r.Init(wire.Request, int(c.s.limits.Section))
	m := messages.Get().(*http2.Message)
	defer messages.Put(m)
	s.request.Message = m
	if err := s.head(); err != nil {
		s.blame(wire.RequestIncomplete)
		return
	}
	if !s.headTill.IsZero() {
		_ = s.SetReadDeadline(time.Time{})
	}
	if lent = c.own.Serve(s, &s.request); !lent {
		// no other goroutine reads
		bufpool.Put(s.in)
		s.in = nil
	}
}

// leave is called when a user of the stream has ended. The last one ends the stream. reuse reports whether
// no other goroutine uses it then.
func (s *stream) leave(reuse bool) {
	if s.users.Add(-1) > 0 {
		return
	}
	c := s.c
	defer c.requests.Done()
	s.release()
	if !s.received.Load() {
		c.cancel(s.q.StreamID(), &s.message)
	}
	c.judge(s.faulty.Load() || s.aborted.Load() && time.Since(s.begun) <= c.s.quick)
	c.end()
	c.reportState()
	if reuse && !s.watched.Load() {
		*s = stream{}
		streams.Put(s)
	}
}

// release releases the memory for sending.
func (s *message) release() {
	if s.room != nil {
		s.room.B = s.out
		bufpool.Put(s.room)
		s.room, s.out = nil, nil
	}
}

// head reads the head. If it returns an error the request is not served.
func (s *stream) head() error {
	f, err := s.frame()
	if err != nil {
		return err
	}
	r := &s.request
	m := r.Message
	m.Prepare(s.c.max.keepNames, s.c.max.extended)
	s.left = -1
	if f.TooLarge {
		r.Fault = bridge.LargeHead
		return nil
	}
	switch err = s.c.decode(&m.Fields, &s.message, f.Payload); {
	case err == errTooLarge:
		m.NoteMethod()
		r.Fault = bridge.LargeHead
		if m.StoresFields(s.c.s.limits.Fields) {
			r.Fault = bridge.ManyFields
		}
		return nil
	case err != nil:
		return err
	}
	if r.End, err = s.ends(&m.Fields); err != nil {
		return err
	}
	flaw, fault := m.CheckRequest(r.End)
	switch {
	case fault != nil:
		s.blame(wire.MessageError)
		return fault
	case flaw == http2.ErrTarget:
		r.Fault = bridge.BadTarget
	case flaw != nil:
		r.Fault = bridge.BadHost
	}
	if flaw != nil {
		s.faulty.Store(true)
	}
	if m.Head.Framing.Kind == http1.Length {
		s.left = m.Head.Framing.Length
	}
	return nil
}

// ends reports whether the request ends with its head. One with a method that implies no content
// mostly does, but its end may arrive a little later.
func (s *stream) ends(fields *field.List) (bool, error) {
	if !s.eof && s.at == len(s.in.B) && isPlain(fields) {
		until := time.Now().Add(endTime)
		if s.headTill.IsZero() || until.Before(s.headTill) {
			_ = s.q.SetReadDeadline(until)
		}
		err := s.fill(0)
		_ = s.q.SetReadDeadline(s.headTill)
		if err != nil && !isTimeout(err) {
			return false, err
		}
	}
	ends := s.eof && s.at == len(s.in.B)
	if ends {
		s.received.Store(true)
	}
	return ends, nil
}

// endTime is how long the end of a request without content may take to follow its head, before it
// is served as one with content.
const endTime = 10 * time.Millisecond

// isPlain reports whether a request is GET or HEAD, and nothing announces content.
func isPlain(fields *field.List) (plain bool) {
	for i, e := range fields.Entries {
		switch e.ID {
		case hpack.Method:
			method := string(fields.Value(i))
			plain = method == "GET" || method == "HEAD"
		case field.ContentLength, field.Expect:
			return false
		}
	}
	return plain
}

// readSize is the size of a read.
const readSize = 4 << 10

// fill reads more. Need is how many bytes the frame has that has begun, if it is not 0.
func (s *message) fill(need int) error {
	if s.in == nil {
		s.in = bufpool.Get(readSize)
	}
	b := s.in
	if s.at > 0 {
		b.B = b.B[:copy(b.B, b.B[s.at:])]
		s.at = 0
	}
	if need > cap(b.B) {
		b.Grow(need - len(b.B))
	}
	if len(b.B) == cap(b.B) {
		b.Grow(readSize)
	}
	n, err := s.q.Read(b.B[len(b.B):cap(b.B)])
	b.B = b.B[:len(b.B)+n]
	if err == io.EOF {
		s.eof = true
		return nil
	}
	if n > 0 {
		return nil
	}
	err = s.resetError(err)
	if e, ok := err.(cancelled); ok && e.remote && s.tunnel {
		// A reset ends both directions (RFC 9114 section 4.4). The peer's STOP_SENDING may arrive later.
		s.q.CancelWrite(quic.StreamErrorCode(e.code))
	}
	return err
}

// resetError returns the error for one of QUIC.
func (s *message) resetError(err error) error {
	if e, ok := errors.AsType[*quic.StreamError](err); ok {
		if e.Remote {
			s.aborted.Store(true)
		}
		// if the peer has reset a tunnel, fill ends the other direction: the error of a write is then one
		// of this side
		remote := e.Remote || s.tunnel && s.aborted.Load()
		return cancelled{wire.Code(e.ErrorCode), remote}
	}
	return err
}

// frame returns the next frame. Its payload is valid until the next call. The error is io.EOF at the
// end of the stream.
func (s *message) frame() (wire.Frame, error) {
	if s.in == nil {
		if err := s.fill(0); err != nil {
			return wire.Frame{}, err
		}
	}
	for {
		n, f, ok, need, e := s.r.Next(s.in.B[s.at:])
		s.at += n
		switch {
		case e != nil:
			s.link.fail(e)
			return f, e
		case ok:
			return f, nil
		case s.eof && (s.r.Pending() || s.at < len(s.in.B)):
			e = &wire.Error{Code: wire.FrameError, What: "a stream ends in the middle of a frame"}
			s.link.fail(e)
			return f, e
		case s.eof:
			s.received.Store(true)
			return f, io.EOF
		}
		if err := s.fill(need); err != nil {
			return f, err
		}
	}
}

// blame resets both sides of the stream because of a fault of the peer.
func (s *message) blame(code wire.Code) {
	s.faulty.Store(true)
	s.fault(code)
}

// fault resets both sides of the stream.
func (s *message) fault(code wire.Code) {
	s.finished.Store(true)
	s.q.CancelRead(quic.StreamErrorCode(code))
	s.q.CancelWrite(quic.StreamErrorCode(code))
}

// Next implements bridge.Stream.
func (s *message) Next(n int) ([]byte, error) {
	for len(s.data) == 0 {
		if s.over != nil {
			return nil, s.over
		}
		if err := s.receive(); err != nil {
			if !isTimeout(err) {
				s.over = err
			}
			return nil, err
		}
	}
	p := s.data[:min(n, len(s.data))]
	s.data = s.data[len(p):]
	return p, nil
}

func isTimeout(err error) bool {
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && t.Timeout()
}

// receive receives a piece of content, or trailers. It checks Content-Length.
func (s *message) receive() error {
	f, err := s.frame()
	switch {
	case err == io.EOF && s.left > 0:
		return s.malformed("the content is shorter than Content-Length")
	case err != nil:
		return err
	case f.Type == wire.TypeHeaders:
		return s.receiveTrailers(f)
	}
	s.data = f.Payload
	if s.left >= 0 {
		if s.left -= int64(len(f.Payload)); s.left < 0 {
			s.data = nil
			return s.malformed("the content is longer than Content-Length")
		}
	}
	return nil
}

// malformed resets the stream.
func (s *message) malformed(what string) error {
	s.blame(wire.MessageError)
	return &wire.Error{Code: wire.MessageError, What: what}
}

// largeTrailers resets the stream.
func (s *message) largeTrailers() error {
	s.blame(wire.ExcessiveLoad)
	return &wire.Error{Code: wire.ExcessiveLoad, What: "the trailer section is too large"}
}

// receiveTrailers decodes the trailer section.
func (s *message) receiveTrailers(f wire.Frame) error {
	if f.TooLarge {
		return s.largeTrailers()
	}
	var m http2.Message
	m.Prepare(s.link.max.keepNames, false)
	switch err := s.link.decode(&m.Fields, s, f.Payload); {
	case err == errTooLarge:
		return s.largeTrailers()
	case err != nil:
		// the section cannot be read again
		s.over = err
		return err
	case s.link.max.server && m.HasLargeTrailers():
		return s.largeTrailers()
	}
	if e := m.CheckTrailers(); e != nil {
		return s.malformed(e.Error())
	}
	s.trailers = &m.Fields
	return nil
}

// until returns the deadline for reading, or zero.
func (s *message) until() (until time.Time) {
	if by := s.readBy.Load(); by != 0 {
		until = time.Unix(0, by)
	}
	return until
}

// waitEnded returns why a section no longer waits for entries, or nil.
func (s *message) waitEnded() error {
	until := s.until()
	switch {
	case s.gone.Load():
		return errCancelled
	case !until.IsZero() && !time.Now().Before(until):
		return os.ErrDeadlineExceeded
	}
	return nil
}

// Trailers implements bridge.Stream.
func (s *message) Trailers() *field.List { return s.trailers }

// BeginSection implements bridge.Stream.
func (s *message) BeginSection() ([]byte, *hpack.Encoder) {
	if s.out == nil {
		s.room = bufpool.Get(outSize)
		s.out = s.room.B
	}
	s.from = len(s.out)
	var room [wire.MaxFrameHead]byte
	b := append(s.out, room[:]...)
	if t := s.link.table.Load(); t != nil {
		b, s.section = t.Begin(b, uint64(s.q.StreamID()))
		return b, &s.section.Encoder
	}
	return qpack.Encoder{}.Begin(b), encoder
}

// SendSection implements bridge.Stream.
func (s *message) SendSection(b []byte) error {
	section, ok := s.endSection(b)
	if !ok {
		s.out = b[:s.from]
		return bridge.ErrLargeSection
	}
	var room [wire.MaxFrameHead]byte
	head := wire.AppendFrame(room[:0], wire.TypeHeaders, len(section))
	n := s.from + copy(b[s.from:], head)
	n += copy(b[n:], section)
	s.out = b[:n]
	return nil
}

// endSection returns the section at the end of b, unless it is larger than the peer accepts.
func (s *message) endSection(b []byte) (section []byte, ok bool) {
	limit := s.link.peerSection.Load()
	own := s.section
	if own == nil {
		section = b[s.from+wire.MaxFrameHead:]
		return section, uint64(len(section))*qpack.MostExpansion <= limit || qpack.SectionSize(section) <= limit
	}
	s.section = nil
	starts := false
	if ok = own.Size() <= limit; ok {
		section, starts = own.End(b)
	} else {
		starts = own.Drop()
	}
	if starts {
		go s.link.writeInserts(s.link.table.Load())
	}
	return section, ok
}

// outSize is the size of the first buffer for the output.
const outSize = 1 << 10

// keepSize is how many bytes are kept until Flush.
const keepSize = 16 << 10

// Write implements bridge.Stream.
func (s *message) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.out = wire.AppendFrame(s.out, wire.TypeData, len(p))
	if len(s.out)+len(p) <= keepSize {
		s.out = append(s.out, p...)
		return len(p), nil
	}
	if err := s.Flush(); err != nil {
		return 0, err
	}
	n, err := s.q.Write(p)
	s.lost = s.resetError(err)
	return n, s.lost
}

// Flush implements bridge.Stream.
func (s *message) Flush() error {
	if s.lost != nil || len(s.out) == 0 {
		return s.lost
	}
	_, err := s.q.Write(s.out)
	s.out = s.out[:0]
	s.lost = s.resetError(err)
	return s.lost
}

// End implements bridge.Stream.
func (s *message) End() error {
	if err := s.Flush(); err != nil {
		return err
	}
	s.finished.Store(true)
	return s.q.Close()
}

// Reset implements bridge.Stream.
func (s *message) Reset() { s.fault(wire.InternalError) }

// StopReading implements bridge.Stream.
func (s *message) StopReading() { s.q.CancelRead(quic.StreamErrorCode(wire.NoError)) }

// SetReadDeadline implements bridge.Stream.
func (s *message) SetReadDeadline(t time.Time) error {
	by := int64(0)
	if !t.IsZero() {
		by = t.UnixNano()
	}
	s.readBy.Store(by)
	if s.link.blocked.Load() > 0 {
		s.link.wakeBlocked()
	}
	return s.q.SetReadDeadline(t)
}

// SetWriteDeadline implements bridge.Stream.
func (s *message) SetWriteDeadline(t time.Time) error { return s.q.SetWriteDeadline(t) }

// OnCancel implements bridge.Stream.
func (s *stream) OnCancel(f func()) (stop func() bool) {
	s.watched.Store(true)
	return context.AfterFunc(s.q.Context(), func() {
		if !s.finished.Load() {
			f()
		}
	})
}

// GoAway implements bridge.Stream.
func (s *stream) GoAway() { s.c.goAway() }

// BeginTunnel implements bridge.Stream.
func (s *stream) BeginTunnel() {
	s.users.Add(1)
	s.beginTunnel()
}

// beginTunnel makes the reader accept content alone. The caller receives.
func (s *message) beginTunnel() {
	s.tunnel = true
	s.r.Tunnel()
	s.left = -1
}

// EndTunnel implements bridge.Stream.
func (s *stream) EndTunnel() { s.leave(false) }

// Cancel implements bridge.Stream.
func (s *stream) Cancel() { s.fault(wire.RequestCancelled) }

package fasthttp

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/http1"
)

// bodySender sends the content of a request on a goroutine of its own, while the
// call watches for the answer: that may come early, and a peer that waits for its
// answer to be read may not read on before.
//
// It touches nothing of the caller's after abandon or detach has returned, except
// for a body stream, which is closed then, or was given to it for good.
type bodySender struct {
	cc  *clientConn
	out *bufpool.Buffer // the head, and what is collected behind it
	// hc and deadline, that of the call, say how long the answer may take once the
	// request is written
	hc       *HostClient
	deadline time.Time
	// detaches says that the call may return before everything is written, so
	// that nothing is written from the caller's memory
	detaches bool

	writing sync.Mutex // held during each write
	mu      sync.Mutex // guards what follows
	// phase is Sending, Sent, SendFailed, or SendStopped if the call does not want
	// it any more
	phase   http1.SendPhase
	err     error          // why it failed
	content []byte         // of a request without a stream
	h       *RequestHeader // for the trailers; nil once they are copied
	tail    []byte         // the copy
	stream  *sentStream
	// callers says that the stream reads what stays the caller's
	callers bool
	body    body          // of the goroutine alone: the stream with its size
	done    chan struct{} // closed at the end
}

// startSender leaves out and the content to a bodySender.
func (x *clientExchange) startSender(out *bufpool.Buffer, content []byte) {
	req := x.req
	s := &bodySender{cc: x.cc, out: out, hc: x.hc, deadline: x.call.deadline, h: &req.Header,
		phase: http1.Sending, detaches: x.mayStream(), done: make(chan struct{})}
	if req.body.stream != nil {
		x.call.usedUp = true
		s.body, s.stream = takeStream(&req.body)
		_, s.callers = s.stream.Reader.(*formStream)
	} else {
		s.content = content
	}
	x.sender, x.cc.line.Duplex = s, true
	go s.run()
}

func (s *bodySender) run() {
	defer close(s.done)
	err := s.sendSafely()
	bufpool.Put(s.out)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.phase == http1.SendStopped:
	case err == nil:
		s.phase = http1.Sent
		_ = s.hc.limitAnswer(&s.cc.line.Guard, s.deadline)
	case s.cc.line.WriteErr != nil && !isTimeout(s.cc.line.WriteErr):
		// the answer may have come before the connection broke
		s.phase, s.err = http1.SendFailed, err
		_ = s.hc.limitDraining(&s.cc.line.Guard, s.deadline)
	case s.cc.line.WriteErr != nil:
		s.phase, s.err = http1.SendFailed, ErrTimeout
		s.cc.line.Guard.Cancel(ErrTimeout)
	default:
		s.phase, s.err = http1.SendFailed, err
		s.cc.line.Guard.Cancel(err)
	}
}

// sendSafely is send that makes an error of a panic: nobody could recover from
// one on this goroutine.
func (s *bodySender) sendSafely() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = streamPanic("panic while sending a request", p)
		}
	}()
	return s.send()
}

// send writes everything.
func (s *bodySender) send() error {
	w := &clientWriter{w: s, out: s.out}
	if s.stream == nil {
		return s.sendBytes(w)
	}
	if s.body.size >= 0 {
		return s.body.writeFixed(w)
	}
	if err := s.body.writeChunked(w); err != nil {
		return err
	}
	if err := s.collectTail(w); err != nil {
		return err
	}
	return w.Flush()
}

// collectTail puts the end of a chunked body behind what was collected.
func (s *bodySender) collectTail(w *clientWriter) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.phase == http1.SendStopped:
		return errSendAbandoned
	case s.h == nil:
		w.out.B = append(w.out.B, s.tail...)
	default:
		w.out.B = appendChunkedEnd(w.out.B, s.h)
	}
	return nil
}

func appendChunkedEnd(dst []byte, h *RequestHeader) []byte {
	return h.appendTrailers(http1.AppendLastChunk(dst))
}

// sendBytes sends a content that is no stream.
func (s *bodySender) sendBytes(w *clientWriter) error {
	s.mu.Lock()
	chunked := s.phase != http1.SendStopped && s.h != nil && s.h.contentLength < 0
	if chunked {
		// in one chunk, since trailers follow
		w.out.B = http1.AppendChunkStart(w.out.B, len(s.content))
		s.tail = appendChunkedEnd(append(s.tail[:0], strCRLF...), s.h)
		s.h = nil
	}
	s.mu.Unlock()
	var err error
	if s.detaches {
		err = s.sendPieces(w)
	} else {
		err = s.sendAtOnce()
	}
	if err == nil && chunked {
		_, err = s.Write(s.tail)
	}
	return err
}

// sendAtOnce writes from the caller's memory.
func (s *bodySender) sendAtOnce() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	content, phase := s.content, s.phase
	s.mu.Unlock()
	if phase == http1.SendStopped {
		return errSendAbandoned
	}
	return s.cc.line.WriteBoth(s.out.B, content)
}

// sendPieces writes copies of what is in the caller's memory, which may become a
// copy itself between two of them.
func (s *bodySender) sendPieces(w *clientWriter) error {
	piece := bufpool.Get(oneWrite)
	defer bufpool.Put(piece)
	if err := w.Flush(); err != nil {
		return err
	}
	for {
		s.mu.Lock()
		n := min(len(s.content), oneWrite)
		piece.B = append(piece.B[:0], s.content[:n]...)
		s.content = s.content[n:]
		s.mu.Unlock()
		if n == 0 {
			return nil
		}
		if _, err := s.Write(piece.B); err != nil {
			return err
		}
	}
}

// errSendAbandoned is what the sender gets when nobody wants it to go on.
var errSendAbandoned = errors.New("fasthttp: the response came before the request was sent to its end")

// Write implements io.Writer for the goroutine of s.
func (s *bodySender) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	phase := s.phase
	s.mu.Unlock()
	if phase == http1.SendStopped {
		return 0, errSendAbandoned
	}
	return s.cc.line.Write(p)
}

// sendPatience is how long a request may still be on its way when its response is
// complete, for the connection to be of use afterwards.
const sendPatience = 50 * time.Millisecond

// settle ends the sending, and returns how that went. If wait is set, it is given
// a moment to end by itself.
func (s *bodySender) settle(wait bool) (http1.SendPhase, error) {
	if wait {
		timer := AcquireTimer(sendPatience)
		defer ReleaseTimer(timer)
		select {
		case <-s.done:
		case <-timer.C:
		}
	}
	s.abandon()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase, s.err
}

// ended reports whether there is nothing more to send, and why.
func (s *bodySender) ended() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase != http1.Sending, s.err
}

// abandon makes the sender stop, if it has not, and closes the stream. A stream
// that hangs in a Read is left to its goroutine.
func (s *bodySender) abandon() {
	s.mu.Lock()
	stops := s.phase == http1.Sending
	if stops {
		s.phase = http1.SendStopped
	}
	s.mu.Unlock()
	if !stops {
		return
	}
	_ = s.cc.line.Guard.LimitWrite(clientconn.Past)
	// a write that is under way may be one of the caller's memory
	s.writing.Lock()
	s.forget()
	s.writing.Unlock()
	if s.stream != nil {
		s.stream.closeQuietly()
	}
	if s.callers {
		<-s.done
	}
}

// forget lets go of what is the caller's.
func (s *bodySender) forget() {
	s.mu.Lock()
	s.h, s.content = nil, nil
	s.mu.Unlock()
}

// detach copies what is still needed of the caller's, so that the sender can go on
// after the call.
func (s *bodySender) detach() {
	if s.callers {
		_, _ = s.settle(true)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != http1.Sending {
		return
	}
	s.content = bytes.Clone(s.content)
	if s.h != nil && s.stream != nil && s.body.size < 0 {
		s.tail = appendChunkedEnd(s.tail[:0], s.h)
	}
	s.h = nil
}

// sentStream is the body stream of a request that is being sent. Whoever is first
// closes it.
type sentStream struct {
	io.Reader
	once sync.Once
	err  error
}

// takeStream takes the stream out of b. What the application has set goes into a
// sentStream, below what the package has put around it, which belongs to the
// goroutine that reads.
func takeStream(b *body) (body, *sentStream) {
	taken := body{stream: b.stream, size: b.size}
	b.stream = nil
	place := &taken.stream
	for {
		switch s := (*place).(type) {
		case *bodyio.Exact:
			place = &s.Reader
			continue
		case *bodyio.Encoded:
			place = s.Source()
			continue
		}
		s := &sentStream{Reader: *place}
		*place = s
		return taken, s
	}
}

// Waits implements bodyio.Waiter.
func (s *sentStream) Waits() bool {
	p, ok := s.Reader.(bodyio.Waiter)
	return ok && p.Waits()
}

// Close implements io.Closer.
func (s *sentStream) Close() error {
	s.once.Do(func() {
		if c, ok := s.Reader.(io.Closer); ok {
			s.err = c.Close()
		}
	})
	return s.err
}

// closeQuietly is Close for who cannot do anything about a panic in it.
func (s *sentStream) closeQuietly() {
	defer func() { _ = recover() }()
	_ = s.Close()
}

// SupportsBodyWriteTo implements BodyWriterTo.
func (s *sentStream) SupportsBodyWriteTo() bool {
	c, ok := s.Reader.(BodyWriterTo)
	return ok && c.SupportsBodyWriteTo()
}

// WriteTo implements io.WriterTo, if SupportsBodyWriteTo says so.
func (s *sentStream) WriteTo(w io.Writer) (int64, error) { return s.Reader.(BodyWriterTo).WriteTo(w) }

// SendsPieces implements PiecewiseStream.
func (s *sentStream) SendsPieces() bool {
	p, ok := s.Reader.(PiecewiseStream)
	return ok && p.SendsPieces()
}

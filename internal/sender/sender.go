// Package sender sends the content of a request on a separate goroutine, while its call
// watches for the answer (Sender), and closes body streams that two goroutines may want
// to close (Stream).
//
// It knows neither requests nor responses: a Call represents them. Start with Sender.
package sender

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
	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/netio"
)

const (
	// OneWrite is the size up to which the content of a request fits into a socket at
	// once, so that the call need not watch for the response meanwhile.
	OneWrite = 64 << 10

	// ReuseTimeout is how long the writing of a request may continue after its response is
	// complete, if the connection is to be reused.
	ReuseTimeout = 50 * time.Millisecond
)

// ErrAbandoned is the error of a sender that was stopped before it was done.
var ErrAbandoned = errors.New("fasthttp: the response came before the request was sent to its end")

// crlf ends a chunk.
const crlf = "\r\n"

// Call is the call that a Sender sends for. Its methods are called on the goroutine of
// the Sender, at any time until that goroutine ends.
type Call interface {
	// WriteStream writes the stream of the request, in chunks if Request.Chunked is
	// set, up to the last chunk, and closes it.
	WriteStream(w bodyio.Writer) error
	// LimitResponse sets the deadline of the answer: the request is written.
	LimitResponse()
	// LimitDraining is LimitAnswer for a request that the connection does not accept.
	LimitDraining()
	// Panicked returns the error for a panic with value.
	Panicked(value any) error
}

// Trailers holds the trailer section of a request. The caller keeps it.
type Trailers interface {
	// AppendTrailers appends the section with the empty line that ends it.
	AppendTrailers(dst []byte) []byte
}

// Request describes what a Sender sends.
type Request struct {
	// Conn is the connection.
	Conn *clientconn.Conn
	// Out is the head; content may be collected after it. The Sender releases it.
	Out *bufpool.Buffer
	// Content is the content of a request without a stream. The caller keeps it.
	Content []byte
	// Stream is the stream that Call.WriteStream writes; nil if there is none.
	Stream *Stream
	// Trailers is the trailer section, which follows if the content is chunked.
	Trailers Trailers
	// ErrTimeout is the error for a connection that does not accept everything in time.
	ErrTimeout error
	// OwnTrailers means that the section belongs to the stream, which may still add to it, rather
	// than to the caller.
	OwnTrailers bool
	// Chunked means that the content is sent in chunks.
	Chunked bool
	// Borrowed means that the stream reads memory that the caller keeps.
	Borrowed bool
	// Detaches means that the call may return before everything is written, so that
	// nothing is written from the caller's memory.
	Detaches bool
}

// Sender sends a request that does not fit into one write: the answer may arrive early,
// and a peer that waits for its answer to be read may not read on before.
//
// After Abandon or Detach has returned, it touches nothing of the caller's, except for
// a body stream. The stream is then closed, or belongs to the Sender for good.
//
// The methods may be called from the goroutine of the call. Start must be called first.
type Sender struct {
	Request
	call    Call
	writing lockorder.Mutex[lockorder.SenderWrite] // held during each write
	mu      lockorder.Mutex[lockorder.Sender]      // guards the following fields, and Content and Trailers
	// phase is Sending, Sent, SendFailed, or SendStopped if the call has stopped the
	// sending
	phase http1.SendPhase
	err   error         // why it failed
	tail  []byte        // the end of a chunked content, once copied
	done  chan struct{} // closed at the end
}

// Start starts sending.
func (s *Sender) Start(r Request, owner Call) {
	s.Request, s.call = r, owner
	s.phase, s.done = http1.Sending, make(chan struct{})
	if s.Chunked && s.Stream == nil {
		// in one chunk, since trailers follow
		s.Out.B = http1.AppendChunkStart(s.Out.B, len(s.Content))
		s.tail = s.appendEnd(append(s.tail, crlf...))
	}
	go s.run()
}

func (s *Sender) appendEnd(dst []byte) []byte {
	return s.Trailers.AppendTrailers(http1.AppendLastChunk(dst))
}

func (s *Sender) run() {
	defer close(s.done)
	err := s.sendSafely()
	bufpool.Put(s.Out)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.phase == http1.SendStopped:
	case err == nil:
		s.phase = http1.Sent
		s.call.LimitResponse()
	case s.Conn.WriteErr != nil && !netio.IsTimeout(s.Conn.WriteErr):
		// the answer may have arrived before the connection broke
		s.phase, s.err = http1.SendFailed, err
		s.call.LimitDraining()
	case s.Conn.WriteErr != nil:
		s.phase, s.err = http1.SendFailed, s.ErrTimeout
		s.Conn.Guard.Cancel(s.ErrTimeout)
	default:
		s.phase, s.err = http1.SendFailed, err
		s.Conn.Guard.Cancel(err)
	}
}

// sendSafely is send that turns a panic into an error: the caller could not recover
// from a panic on this goroutine.
func (s *Sender) sendSafely() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = s.call.Panicked(p)
		}
	}()
	return s.send()
}

// send writes everything.
func (s *Sender) send() error {
	if s.Stream == nil {
		return s.sendBytes()
	}
	w := &bodyio.Collector{W: s, Out: s.Out}
	if err := s.call.WriteStream(w); err != nil || !s.Chunked {
		return err
	}
	if err := s.collectTail(); err != nil {
		return err
	}
	return w.Flush()
}

// collectTail appends the end of a chunked stream to the collected bytes.
func (s *Sender) collectTail() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.phase == http1.SendStopped:
		return ErrAbandoned
	case s.Trailers == nil:
		s.Out.B = append(s.Out.B, s.tail...)
	default:
		s.Out.B = s.appendEnd(s.Out.B)
	}
	return nil
}

// sendBytes sends the content of a request without a stream.
func (s *Sender) sendBytes() (err error) {
	if s.Detaches {
		err = s.sendPieces()
	} else {
		err = s.sendAtOnce()
	}
	if err == nil && s.Chunked {
		_, err = s.Write(s.tail)
	}
	return err
}

// sendAtOnce writes from the caller's memory.
func (s *Sender) sendAtOnce() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	content, phase := s.Content, s.phase
	s.mu.Unlock()
	if phase == http1.SendStopped {
		return ErrAbandoned
	}
	return s.Conn.WriteBoth(s.Out.B, content)
}

// sendPieces writes copies of the content in the caller's memory; between two pieces
// Detach may replace that memory by a copy.
func (s *Sender) sendPieces() error {
	piece := bufpool.Get(OneWrite)
	defer bufpool.Put(piece)
	if len(s.Out.B) > 0 {
		if _, err := s.Write(s.Out.B); err != nil {
			return err
		}
	}
	for {
		s.mu.Lock()
		n := min(len(s.Content), OneWrite)
		piece.B = append(piece.B[:0], s.Content[:n]...)
		s.Content = s.Content[n:]
		s.mu.Unlock()
		if n == 0 {
			return nil
		}
		if _, err := s.Write(piece.B); err != nil {
			return err
		}
	}
}

// Write implements io.Writer for the goroutine of s.
func (s *Sender) Write(p []byte) (int, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	phase := s.phase
	s.mu.Unlock()
	if phase == http1.SendStopped {
		return 0, ErrAbandoned
	}
	return s.Conn.Write(p)
}

// Finish ends the sending, and returns how it ended. If moment is not nil, the sending
// may end by itself until moment fires.
func (s *Sender) Finish(moment <-chan time.Time) (http1.SendPhase, error) {
	if moment != nil {
		select {
		case <-s.done:
		case <-moment:
		}
	}
	s.Abandon()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase, s.err
}

// Ended reports whether the sending has ended, and why.
func (s *Sender) Ended() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase != http1.Sending, s.err
}

// Abandon stops the sender, and closes the stream. If the stream blocks in a Read, its
// goroutine closes it later.
func (s *Sender) Abandon() {
	s.mu.Lock()
	stops := s.phase == http1.Sending
	if stops {
		s.phase = http1.SendStopped
	}
	s.mu.Unlock()
	if !stops {
		return
	}
	s.Conn.Guard.StopWriting()
	// a running write may use the caller's memory
	s.writing.Lock()
	s.dropReferences()
	s.writing.Unlock()
	if s.Stream != nil {
		s.Stream.CloseQuietly()
	}
	if s.Borrowed {
		<-s.done
	}
}

// dropReferences drops the references to memory of the caller.
func (s *Sender) dropReferences() {
	s.mu.Lock()
	s.Trailers, s.Content = nil, nil
	s.mu.Unlock()
}

// Detach copies the caller's memory that it still needs, so that the sender can
// continue after the call. It is not for a Borrowed stream: call Finish for that.
func (s *Sender) Detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != http1.Sending {
		return
	}
	s.Content = bytes.Clone(s.Content)
	if s.OwnTrailers {
		return
	}
	if s.Trailers != nil && s.Stream != nil && s.Chunked {
		s.tail = s.appendEnd(s.tail[:0])
	}
	s.Trailers = nil
}

// Stream is the body stream of a request that is being sent. The first call of Close
// closes it.
type Stream struct {
	io.Reader
	once sync.Once
	err  error
}

// WrapStream wraps the reader that the application has set in place into a Stream, below
// existing wrappers, which belong to the reading goroutine.
func WrapStream(place *io.Reader) *Stream {
	for {
		switch s := (*place).(type) {
		case *bodyio.Exact:
			place = &s.Reader
			continue
		case *bodyio.Encoded:
			place = s.Source()
			continue
		}
		s := &Stream{Reader: *place}
		*place = s
		return s
	}
}

// Waits implements bodyio.Waiter.
func (s *Stream) Waits() bool {
	p, ok := s.Reader.(bodyio.Waiter)
	return ok && p.Waits()
}

// Close implements io.Closer.
func (s *Stream) Close() error {
	s.once.Do(func() {
		if c, ok := s.Reader.(io.Closer); ok {
			s.err = c.Close()
		}
	})
	return s.err
}

// CloseQuietly is Close for callers that cannot handle a panic in it.
func (s *Stream) CloseQuietly() {
	defer func() { _ = recover() }()
	_ = s.Close()
}

// SupportsBodyWriteTo reports whether WriteTo may be called.
func (s *Stream) SupportsBodyWriteTo() bool {
	c, ok := s.Reader.(bodyio.WriterTo)
	return ok && c.SupportsBodyWriteTo()
}

// WriteTo implements io.WriterTo. It may be called if SupportsBodyWriteTo returns
// true.
func (s *Stream) WriteTo(w io.Writer) (int64, error) {
	return s.Reader.(bodyio.WriterTo).WriteTo(w)
}

// SendsPieces reports whether each piece is sent as soon as it was read.
func (s *Stream) SendsPieces() bool {
	p, ok := s.Reader.(interface{ SendsPieces() bool })
	return ok && p.SendsPieces()
}

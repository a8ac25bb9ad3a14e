package bodyio

import (
	"io"
	"math"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// Incoming is the content of an HTTP/1 message, read while it arrives.
//
// The zero value has ended. Only one goroutine may use an Incoming at a time, except for
// Ended and Closed. It must not be copied once it was started.
type Incoming struct {
	in      recvbuf.Source
	to      Recipient
	decoder http1.Body
	phase   atomic.Uint32
	err     error // returned by Read in the phase incomingFailed
	room    int64 // bytes that Read may still return
}

// Recipient receives the parts of a message other than its content.
type Recipient interface {
	// FeedTrailers reads the trailer section at the beginning of b, and returns its
	// length, or 0 if it is not complete.
	FeedTrailers(b []byte) (n int, err error)
	// BrokenChunk returns the error for a chunked coding malformed because of err.
	BrokenChunk(err error) error
}

// The phases of an Incoming.
const (
	incomingEnded  uint32 = iota // the message was read to its end
	incomingOpen                 // content, or the trailer section, is still to be read
	incomingClosed               // the reader wants no more; draining is still possible
	incomingFailed               // err is the reason why no more can be read
)

// Start makes s the content that begins in in and has the framing f.
func (s *Incoming) Start(in recvbuf.Source, f http1.Framing, to Recipient) {
	var d http1.Body
	d.Start(f)
	s.Resume(in, d, to)
	if f.Kind == http1.NoBody {
		s.phase.Store(incomingEnded)
	}
}

// Resume is Start for content that decoder has decoded in part.
func (s *Incoming) Resume(in recvbuf.Source, decoder http1.Body, to Recipient) {
	s.in, s.to, s.decoder = in, to, decoder
	s.err, s.room = nil, math.MaxInt64
	s.phase.Store(incomingOpen)
}

// Ended reports whether the message was read to its end. It may be called while
// another goroutine reads.
func (s *Incoming) Ended() bool { return s.phase.Load() == incomingEnded }

// Closed reports whether the reader has closed s before the end of the message.
func (s *Incoming) Closed() bool { return s.phase.Load() == incomingClosed }

// Remaining returns the number of bytes of content that are left to read, if it is known.
func (s *Incoming) Remaining() (n int64, known bool) {
	if s.decoder.Kind() != http1.Length {
		return 0, false
	}
	return s.decoder.Remaining(), true
}

// Read reads content. It returns io.EOF after the last byte of the message, and
// io.ErrUnexpectedEOF if the connection ends before that.
func (s *Incoming) Read(p []byte) (int, error) {
	for s.phase.Load() == incomingOpen {
		if n, ok := s.next(p); ok {
			return n, nil
		}
		if s.phase.Load() == incomingOpen {
			s.wait()
		}
	}
	switch s.phase.Load() {
	case incomingEnded:
		return 0, io.EOF
	case incomingClosed:
		return 0, ErrClosed
	}
	return 0, s.err
}

// next reads from the bytes that have arrived. ok is false if there is no content among
// them, because of the phase or because more has to arrive.
func (s *Incoming) next(p []byte) (n int, ok bool) {
	for !s.decoder.Done() {
		if len(p) == 0 {
			return 0, true
		}
		b := s.in.Peek()
		if len(b) == 0 {
			return 0, false
		}
		n, err := s.decode(p, b)
		if err != nil {
			s.fail(err)
			return 0, false
		}
		if int64(n) > s.room {
			n = int(s.room)
			s.fail(http1.ErrBodyTooLarge)
		}
		s.room -= int64(n)
		if n > 0 {
			if s.decoder.Kind() == http1.Length && s.decoder.Done() {
				s.phase.Store(incomingEnded)
			}
			return n, true
		}
		if s.phase.Load() != incomingOpen {
			return 0, false
		}
	}
	s.endContent()
	return 0, false
}

// decode decodes content from b, the bytes that have arrived, into p.
func (s *Incoming) decode(p, b []byte) (int, error) {
	if s.decoder.Remaining() > 0 || s.decoder.Kind() == http1.UntilClose {
		b = b[:min(len(b), len(p))]
	}
	content, used, err := s.decoder.Next(b)
	if err != nil {
		s.in.Discard(used)
		return 0, s.to.BrokenChunk(err)
	}
	n := copy(p, content)
	if n < len(content) {
		// only a chunk that begins in b can be longer than p
		s.decoder.PutBack(len(content) - n)
		used -= len(content) - n
	}
	s.in.Discard(used)
	return n, nil
}

// endContent ends the message after its content, if its trailer section has arrived.
func (s *Incoming) endContent() {
	if s.decoder.Kind() == http1.Chunks {
		n, err := s.to.FeedTrailers(s.in.Peek())
		if err != nil {
			s.fail(err)
			return
		}
		if n == 0 {
			return
		}
		s.in.Discard(n)
	}
	s.phase.Store(incomingEnded)
}

// wait blocks until more has arrived, or all of a trailer section.
func (s *Incoming) wait() {
	if s.decoder.Done() {
		if err := recvbuf.ReadSection(s.in, s.to.FeedTrailers); err != nil {
			s.fail(err)
			return
		}
		s.phase.Store(incomingEnded)
		return
	}
	err := s.in.Fill()
	switch {
	case err == io.EOF && s.decoder.Kind() == http1.UntilClose:
		s.phase.Store(incomingEnded)
	case err != nil:
		s.fail(err)
	}
}

// fail ends the reading because of err. If err is io.EOF, the message is cut off.
func (s *Incoming) fail(err error) {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	s.err = err
	s.phase.Store(incomingFailed)
}

// Limit limits the bytes that can still be read to n. If the content is known to be
// larger, no byte of it can be read, and the error is http1.ErrBodyTooLarge.
func (s *Incoming) Limit(n int64) error {
	if s.phase.Load() != incomingOpen {
		return nil
	}
	if left, known := s.Remaining(); known && left > n {
		s.fail(http1.ErrBodyTooLarge)
		return s.err
	}
	s.room = min(s.room, n)
	return nil
}

// Close ends the reading. Bytes that were not read stay on the connection.
func (s *Incoming) Close() error { return s.CloseWithError(nil) }

// CloseWithError ends the reading as Close does.
func (s *Incoming) CloseWithError(error) error {
	s.phase.CompareAndSwap(incomingOpen, incomingClosed)
	return nil
}

// Detach drops the source and the recipient of s, after Close. Read returns the same error
// as before; there is no more draining.
func (s *Incoming) Detach() { s.in, s.to = nil, nil }

// Drained is the result of draining content.
type Drained uint8

const (
	DrainedAll   Drained = iota // the message was read to its end
	DrainedNever                // there is too much of it, or it never arrives
	DrainedLater                // the rest has not arrived
)

// Drain reads and discards the rest of the message, also after Close. It reads at most
// limit bytes, which it subtracts from limit, and none if the rest is certainly longer.
func (s *Incoming) Drain(limit *int) Drained { return s.drain(limit, true) }

// DrainArrived is Drain for the bytes that have arrived already.
func (s *Incoming) DrainArrived(limit *int) Drained { return s.drain(limit, false) }

func (s *Incoming) drain(limit *int, mayWait bool) Drained {
	if s.phase.CompareAndSwap(incomingClosed, incomingOpen) {
		// s stays closed for its reader
		defer s.Close()
	}
	var discarded [512]byte
	for s.phase.Load() == incomingOpen && *limit > 0 && s.decoder.Remaining() <= int64(*limit) {
		n, ok := s.next(discarded[:min(*limit, len(discarded))])
		*limit -= n
		if ok || s.phase.Load() != incomingOpen {
			continue
		}
		if !mayWait {
			return DrainedLater
		}
		s.wait()
	}
	if s.Ended() {
		return DrainedAll
	}
	return DrainedNever
}

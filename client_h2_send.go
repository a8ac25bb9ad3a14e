package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2body"
	"github.com/valyala/fasthttp/internal/http2client"
	"github.com/valyala/fasthttp/internal/sender"
)

// appendHead appends the header section of the request.
func (x *h2Call) appendHead(dst []byte, e http1.Encoding) []byte {
	req, enc := x.req, x.p.conn.HTTP2().Encoder()
	target := req.Header.target()
	if req.uriParsed {
		switch {
		case req.sendsAuthority() || req.keepsTarget():
			req.prepareTarget()
			target = req.Header.target()
		default:
			x.pathed = req.appendPath(x.pathed[:0])
			target = x.pathed
		}
	}
	scheme := "http"
	if x.hc.IsTLS {
		scheme = "https"
	}
	h := req.sentHeader()
	dst = h.appendBlock(dst, enc, scheme, target, e)
	req.sent(h)
	return dst
}

// h2Sender sends the content of a request on a goroutine of its own, while the call waits for
// the response: a stream, or content followed by trailers.
//
// Once it has ended, it uses no memory of the caller except for a body stream, which is
// closed then, or was given to it for good.
type h2Sender struct {
	c      *http2client.Conn
	x      *h2Call // another call's, or none's, once out is cut
	out    http2body.Outgoing
	body   body // a stream, with its size; or nothing
	stream *sender.Stream
	lent   bool          // the stream reads memory that belongs to the caller
	done   chan struct{} // closed at the end

	content []byte
	trails  bool

	// guarded by the lock
	trailers *header    // of the request, nil once the call has left it
	fields   field.List // the trailer section, then
}

// newH2Sender makes a sender for the content of x. The lock is held.
func newH2Sender(x *h2Call, e http1.Encoding, content []byte, trailers bool) *h2Sender {
	s := &h2Sender{c: x.p.conn, x: x, done: make(chan struct{}), trails: trailers}
	if x.keeps == h2Streams {
		// the call may return before all of it was sent
		content = bytes.Clone(content)
	}
	s.content = content
	if trailers {
		s.trailers = &x.req.Header.header
	}
	s.out.Init(x.p.conn, x.stream)
	if req := x.req; req.body.stream != nil {
		x.call.usedUp = true
		if e.Kind == http1.Chunks {
			req.body.unsize()
		}
		s.body = body{stream: req.body.stream, size: req.body.size}
		req.body.stream = nil
		s.stream = sender.Take(&s.body.stream)
		_, s.lent = s.stream.Reader.(*formStream)
	}
	return s
}

// run sends everything.
func (s *h2Sender) run() {
	defer close(s.done)
	err := s.sendSafely()
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
	wake := c.Wakes()
	c.Unlock()
	s.out.Release()
	if wake {
		c.Wake()
	}
}

// sendSafely is send that turns a panic into an error.
func (s *h2Sender) sendSafely() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = streamPanic("panic while sending a request", p)
		}
	}()
	return s.send()
}

func (s *h2Sender) send() error {
	var err error
	switch {
	case s.stream == nil:
		_, err = s.out.Write(s.content)
	case s.body.size >= 0:
		err = s.body.writeFixed(&s.out)
	default:
		err = s.body.writePlain(&s.out)
	}
	if err != nil {
		return err
	}
	if !s.trails {
		return s.out.End(nil)
	}
	return s.out.End(func(dst []byte, enc *hpack.Encoder) []byte {
		if s.trailers != nil {
			return s.trailers.appendTrailerBlock(dst, enc)
		}
		for i := range s.fields.Entries {
			dst = appendBlockField(dst, enc, s.fields.Entries[i].ID, s.fields.Name(i), s.fields.Value(i))
		}
		return dst
	})
}

// endSender ends the sending, when nothing waits for the rest of the request. The stream is
// reset.
func (x *h2Call) endSender() {
	c, s := x.p.conn, x.sender
	c.Lock()
	s.out.Cut(sender.ErrAbandoned)
	// the sender gives back memory that would be sent otherwise
	c.HTTP2().Reset(x.stream, http2.Cancel)
	x.stopLeading()
	c.Unlock()
	s.end()
}

// finishLent ends the sending of a form, which reads memory that belongs to the caller again
// once the call has returned. The rest has a moment to be sent. An unsent rest is then
// dropped, but the response continues.
func (x *h2Call) finishLent() {
	c, s := x.p.conn, x.sender
	c.Lock()
	x.stopLeading()
	c.Unlock()
	timer := AcquireTimer(sender.Patience)
	defer ReleaseTimer(timer)
	select {
	case <-s.done:
		return
	case <-timer.C:
	}
	c.Lock()
	s.out.Cut(sender.ErrAbandoned)
	c.HTTP2().Own(x.stream)
	c.Unlock()
	s.end()
}

// end completes the end of the sending, once out is cut. It may take as long as closing the
// stream takes.
func (s *h2Sender) end() {
	if s.stream != nil {
		s.stream.CloseQuietly()
	}
	if s.lent || s.stream == nil {
		<-s.done
	}
}

// detach copies the memory of the caller that the sender still needs. The lock is held.
func (s *h2Sender) detach() {
	if s.trailers != nil {
		for name, value := range s.trailers.eachTrailer {
			s.fields.Add(bytesconv.String(name), bytesconv.String(value)).ID = field.Lookup(name)
		}
		s.trailers = nil
	}
}

package fasthttp

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/forms"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/sender"
)

// send writes the request: its head alone if the request expects 100 (Continue), to find out
// first whether the server wants the content (RFC 9110 section 10.1.1), and all of it otherwise. A
// bodySender sends content that does not fit one write.
func (x *clientExchange) send() error {
	if err := x.limitWrite(); err != nil {
		return err
	}
	content, streams := x.req.content(), x.req.body.Stream != nil
	expects := (streams || len(content) > 0) && x.req.MayContinue()
	atOnce := !expects && !streams && len(content) <= copyLimit && x.encoding.Kind != http1.Chunks &&
		x.call.trace == nil && x.cc.line.CanRoundTrip()
	if !atOnce && x.probe == probePending && x.isStale() {
		return errStale
	}
	out := bufpool.Get(x.hc.writeSize())
	out.B = x.req.appendHead(out.B, x.encoding)
	if atOnce {
		out.Grow(len(content))
		out.B = append(out.B, content...)
		return x.roundTrip(out)
	}
	if !expects {
		return x.sendContent(out, content)
	}
	x.cc.phases.Advance(http1.SendsHead)
	_, err := x.cc.line.Write(out.B)
	x.cc.line.Recv.Adopt(out)
	if err != nil {
		x.stopSending()
	}
	x.traceWrote(wroteHeaders, err)
	return err
}

// isStale checks an idle connection, and reports whether it is no longer usable.
func (x *clientExchange) isStale() bool {
	x.probe = probeDone
	if !x.cc.line.IsQuiet() {
		x.probe = probeStale
	}
	return x.probe == probeStale
}

// errStale reports that nothing was written because the connection was no longer
// usable. Callers never see it: the request goes through another connection.
var errStale = errors.New("fasthttp: the connection was closed by the peer, or it said something unasked")

// roundTrip sends the request, all of which is in out, and waits for the answer.
func (x *clientExchange) roundTrip(out *bufpool.Buffer) error {
	cc := x.cc
	if x.hc.limitsResponses() {
		if canceled := x.hc.limitResponse(&x.cc.line.Guard, x.call.deadline); canceled != nil {
			bufpool.Put(out)
			return canceled
		}
	}
	asked := cc.line.RoundTrip(out)
	if asked.State != clientconn.Quiet && x.probe == probePending && (asked.State != clientconn.Unknown || x.isStale()) {
		x.probe = probeStale
		bufpool.Put(out)
		return errStale
	}
	cc.phases.Advance(http1.SendsRequest)
	err := asked.SendErr
	all := asked.Sent == len(out.B)
	if !all && err == nil {
		_, err = cc.line.Write(out.B[asked.Sent:])
	}
	if asked.Got > 0 {
		x.call.outcome = attemptResponded
		cc.line.Recv.Hold(out, asked.Got)
	} else {
		cc.line.Recv.Adopt(out)
	}
	switch {
	case err != nil:
		x.stopSending()
		return err
	case all:
		cc.phases.Advance(http1.SendEnds)
		return nil
	}
	return x.endSending()
}

// endSending records that the request was written to its end; the deadlines of the
// response are counted from then.
func (x *clientExchange) endSending() error {
	x.cc.phases.Advance(http1.SendEnds)
	if x.hc.limitsResponses() {
		return x.hc.limitResponse(&x.cc.line.Guard, x.call.deadline)
	}
	return nil
}

// stopSending records that the request could not be written to its end.
func (x *clientExchange) stopSending() {
	event := http1.SendFails
	switch err := x.cc.line.WriteErr; {
	case err == nil:
		// the content has failed, not the connection
		event = http1.SendStops
	case isTimeout(err):
		event = http1.SendTimesOut
	}
	x.cc.phases.Advance(event)
}

// sendContent writes out, and then the content of the request: content, unless it is
// a stream.
func (x *clientExchange) sendContent(out *bufpool.Buffer, content []byte) error {
	x.cc.phases.Advance(http1.SendsRequest)
	if x.blocks(len(content)) {
		x.startSender(out, content)
		return nil
	}
	err := x.write(out, content)
	x.cc.line.Recv.Adopt(out)
	x.traceWrote(wroteRequest, err)
	if err != nil {
		x.stopSending()
		return err
	}
	return x.endSending()
}

// blocks reports whether sending the content may have to wait, for the peer or for a
// stream of the application. size is how long the content is, if it is not a stream.
func (x *clientExchange) blocks(size int) bool {
	if stream := x.req.body.Stream; stream != nil {
		size = -1
		switch s := stream.(type) {
		case *bytes.Reader:
			size = s.Len()
		case *bytes.Buffer:
			size = s.Len()
		case *strings.Reader:
			size = s.Len()
		}
	}
	return size < 0 || size > copyLimit && size > x.oneWrite()
}

// oneWrite is how much goes out at once. Connections other than sockets have less
// room.
func (x *clientExchange) oneWrite() int {
	if !x.cc.line.Probeable() {
		return copyLimit
	}
	return sender.OneWrite
}

// write is sendContent for content that fits one write.
func (x *clientExchange) write(out *bufpool.Buffer, content []byte) error {
	req, cc := x.req, x.cc
	var err error
	switch {
	case req.body.Stream != nil || x.encoding.Kind == http1.Chunks:
		x.call.bodyConsumed = req.body.Stream != nil
		w := &bodyio.Collector{W: &cc.line, Out: out}
		if err = req.writeContent(w, x.encoding); err == nil {
			err = w.Flush()
		}
	case len(content) <= copyLimit:
		out.Grow(len(content))
		out.B = append(out.B, content...)
		_, err = cc.line.Write(out.B)
	case len(out.B) == 0:
		_, err = cc.line.Write(content)
	default:
		err = cc.line.WriteBoth(out.B, content)
	}
	return err
}

// defaultExpectTimeout is how long the client waits for a server to ask for the
// content of a request: a server that ignores expectations does not answer before it
// has all of it.
const defaultExpectTimeout = time.Second

func (c *HostClient) expectTimeout() time.Duration {
	if c.ExpectContinueTimeout <= 0 {
		return defaultExpectTimeout
	}
	return c.ExpectContinueTimeout
}

// awaitContinue waits until the server asks for the content, responds without it, or
// has sent nothing for too long.
func (x *clientExchange) awaitContinue() error {
	if trace := x.call.trace; trace != nil && trace.Wait100Continue != nil {
		trace.Wait100Continue()
	}
	cc, call := x.cc, x.call
	until := time.Now().Add(x.hc.expectTimeout())
	for x.awaitsHead() {
		if len(cc.line.Recv.Peek()) == 0 {
			if err := cc.line.Guard.LimitRead(clock.Earliest(call.deadline, until)); err != nil {
				return err
			}
			err := x.receive()
			if isTimeout(err) && !call.expired() && cc.line.Guard.Err() == nil {
				return x.sendExpected()
			}
			if err != nil {
				return err
			}
		}
		// a response that has begun to arrive has the usual time
		if err := x.hc.limitResponse(&x.cc.line.Guard, x.call.deadline); err != nil {
			return err
		}
		if err := x.nextHead(); err != nil {
			return err
		}
		if x.resp.Header.head.Status == StatusContinue {
			return x.sendExpected()
		}
	}
	cc.phases.Advance(http1.SendStops)
	x.traceWrote(wroteRequest, nil)
	if x.hc.limitsResponses() {
		return x.hc.limitResponse(&x.cc.line.Guard, x.call.deadline)
	}
	return nil
}

// sendExpected writes the content of a request whose head was written before.
func (x *clientExchange) sendExpected() error {
	if err := x.limitWrite(); err != nil {
		return err
	}
	return x.sendContent(bufpool.Get(x.hc.writeSize()), x.req.content())
}

// bodySender sends the content of a request while the call watches for the answer.
type bodySender struct {
	sender.Sender
	// hc and deadline, the deadline of the call, determine how long the response may
	// take once the request is written
	hc       *HostClient
	deadline time.Time
	header   *RequestHeader // has the trailers: the one of the request, or of its stream
	body     content.Body   // of the goroutine alone: the stream with its size
}

// startSender leaves out and p, the content, to a bodySender.
func (x *clientExchange) startSender(out *bufpool.Buffer, p []byte) {
	req := x.req
	s := &bodySender{hc: x.hc, deadline: x.call.deadline, header: &req.Header}
	r := sender.Request{
		Conn: &x.cc.line, Out: out, Trailers: s, ErrTimeout: ErrTimeout, Detaches: x.mayStream(),
		Chunked: x.encoding.Kind == http1.Chunks,
	}
	if req.body.Stream != nil {
		x.call.bodyConsumed = true
		if r.Chunked {
			req.body.Unsize()
		}
		s.body = content.Body{Stream: req.body.Stream, Size: req.body.Size}
		if own, ok := s.body.Stream.(bridge.TrailerSource); ok {
			s.header, r.OwnTrailers = own.Trailers().(*RequestHeader), true
		}
		req.body.Stream = nil
		r.Stream = sender.WrapStream(&s.body.Stream)
		_, r.Borrowed = r.Stream.Reader.(*forms.Stream)
	} else {
		r.Content = p
	}
	x.sender, x.cc.line.Duplex = s, true
	s.Start(r, s)
}

// WriteStream implements sender.Call.
func (s *bodySender) WriteStream(w flushWriter) error {
	if s.body.Size >= 0 {
		return s.body.WriteFixed(w)
	}
	return s.body.WriteChunked(w)
}

// LimitResponse implements sender.Call.
func (s *bodySender) LimitResponse() { _ = s.hc.limitResponse(&s.Conn.Guard, s.deadline) }

// LimitDraining implements sender.Call.
func (s *bodySender) LimitDraining() { _ = s.hc.limitDraining(&s.Conn.Guard, s.deadline) }

// Panicked implements sender.Call.
func (s *bodySender) Panicked(value any) error {
	return streamPanic("panic while sending a request", value)
}

// AppendTrailers implements sender.Trailers.
func (s *bodySender) AppendTrailers(dst []byte) []byte { return s.header.head.AppendTrailers(dst) }

// finish ends the sending, and returns how that went. If wait is set, it is given
// a moment to end by itself.
func (s *bodySender) finish(wait bool) (http1.SendPhase, error) {
	if !wait {
		return s.Finish(nil)
	}
	timer := time.NewTimer(sender.ReuseTimeout)
	defer timer.Stop()
	return s.Finish(timer.C)
}

// detach lets the sender continue after the call, if it can.
func (s *bodySender) detach() {
	if s.Borrowed {
		_, _ = s.finish(true)
		return
	}
	s.Detach()
}

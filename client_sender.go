package fasthttp

import (
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/sender"
)

// bodySender sends the content of a request while the call watches for the answer.
type bodySender struct {
	sender.Sender
	// hc and deadline, the deadline of the call, determine how long the response may
	// take once the request is written
	hc       *HostClient
	deadline time.Time
	body     body // of the goroutine alone: the stream with its size
}

// startSender leaves out and the content to a bodySender.
func (x *clientExchange) startSender(out *bufpool.Buffer, content []byte) {
	req := x.req
	s := &bodySender{hc: x.hc, deadline: x.call.deadline}
	r := sender.Request{
		Line: &x.cc.line, Out: out, Trailers: (*sentTrailers)(&req.Header), ErrTimeout: ErrTimeout, Detaches: x.mayStream(),
		Chunked: x.encoding.Kind == http1.Chunks,
	}
	if req.body.stream != nil {
		x.call.usedUp = true
		if r.Chunked {
			req.body.unsize()
		}
		s.body = body{stream: req.body.stream, size: req.body.size}
		req.body.stream = nil
		r.Stream = sender.Take(&s.body.stream)
		_, r.Lent = r.Stream.Reader.(*formStream)
	} else {
		r.Content = content
	}
	x.sender, x.cc.line.Duplex = s, true
	s.Start(r, (*senderOwner)(s))
}

// senderOwner is a bodySender as its goroutine sees it.
type senderOwner bodySender

// WriteStream implements sender.Owner.
func (o *senderOwner) WriteStream(w flushWriter) error {
	if o.body.size >= 0 {
		return o.body.writeFixed(w)
	}
	return o.body.writeChunked(w)
}

// LimitAnswer implements sender.Owner.
func (o *senderOwner) LimitAnswer() { _ = o.hc.limitAnswer(&o.Line.Guard, o.deadline) }

// LimitDraining implements sender.Owner.
func (o *senderOwner) LimitDraining() { _ = o.hc.limitDraining(&o.Line.Guard, o.deadline) }

// Panicked implements sender.Owner.
func (o *senderOwner) Panicked(value any) error {
	return streamPanic("panic while sending a request", value)
}

// sentTrailers is the header of a request whose trailers follow the content.
type sentTrailers RequestHeader

// AppendTrailers implements sender.Trailers.
func (t *sentTrailers) AppendTrailers(dst []byte) []byte {
	return (*RequestHeader)(t).appendTrailers(dst)
}

// finish ends the sending, and returns how that went. If wait is set, it is given
// a moment to end by itself.
func (s *bodySender) finish(wait bool) (http1.SendPhase, error) {
	if !wait {
		return s.Finish(nil)
	}
	timer := AcquireTimer(sender.Patience)
	defer ReleaseTimer(timer)
	return s.Finish(timer.C)
}

// detach lets the sender continue after the call, if it can.
func (s *bodySender) detach() {
	if s.Lent {
		_, _ = s.finish(true)
		return
	}
	s.Detach()
}

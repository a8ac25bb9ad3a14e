package fasthttp

import (
	"errors"
	"io"
	"net"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/http1"
)

// pipelineReader gives the calls that were sent on a connection their responses.
// It never waits for the network while it holds a response.
type pipelineReader struct {
	p    *pipeline
	conn net.Conn
	in   *bufpool.Buffer // received; what lies before read is consumed
	read int

	// of the current response
	call    *pipelineCall
	head    *ResponseHeader // that its head is being read into
	hints   int             // informational responses that came before it
	inBody  bool
	recv    receiver
	untilIs bool // its end is that of the connection
	closes  bool // it is the last one

	waste *Response // takes what nobody wants
}

// errUnasked says that the server has sent what no request asked for.
var errUnasked = errors.New("fasthttp: the server has sent bytes that belong to no response")

// read is the reader. It returns why it has ended: io.EOF where the server has
// closed the connection, or has announced that with a response.
func (p *pipeline) read(conn net.Conn) (err error) {
	r := &pipelineReader{p: p, conn: conn, in: bufpool.Get(p.c.readSize())}
	defer func() {
		bufpool.Put(r.in)
		if r.waste != nil {
			ReleaseResponse(r.waste)
		}
		p.hangUp()
	}()
	for {
		over, err := r.consume()
		if err != nil {
			r.fail(err)
			return err
		}
		if over {
			return io.EOF
		}
		n, err := readSome(conn, r.space())
		if n == 0 {
			return r.inputEnds(err)
		}
		r.in.B = r.in.B[:len(r.in.B)+n]
	}
}

// space returns where the next bytes go.
func (r *pipelineReader) space() []byte {
	b := r.in
	if r.read > 0 {
		b.B = b.B[:copy(b.B, b.B[r.read:])]
		r.read = 0
	}
	if cap(b.B)-len(b.B) < minSpace {
		b.Grow(max(cap(b.B), minSpace))
	}
	return b.B[len(b.B):cap(b.B)]
}

// consume goes as far as the received bytes reach. over says that the last
// response of the connection was read.
func (r *pipelineReader) consume() (over bool, err error) {
	for r.read < len(r.in.B) {
		if r.call == nil && !r.next() {
			return false, errUnasked
		}
		n, done, err := r.feed(r.in.B[r.read:])
		r.read += n
		if err != nil {
			return false, err
		}
		if done {
			over = r.closes
			r.done()
			if over {
				return true, nil
			}
		} else if n == 0 {
			break
		}
	}
	return false, nil
}

// next finds the call that the next response is for.
func (r *pipelineReader) next() bool {
	r.p.mu.Lock()
	defer r.p.mu.Unlock()
	r.call = r.p.sent.first
	return r.call != nil
}

// feed gives bytes to the current response and returns how many it took.
func (r *pipelineReader) feed(b []byte) (n int, done bool, err error) {
	call := r.call
	call.mu.Lock()
	defer call.mu.Unlock()
	resp := call.resp
	if resp == nil {
		resp = r.wasted()
	}
	if !r.inBody {
		if n, err = r.feedHead(&resp.Header, b); err != nil || !r.inBody {
			return n, false, err
		}
		resp.ParseNetConn(r.conn)
		if call.isHead {
			resp.skipHead()
			resp.Header.setState(closing, r.closes)
		}
	}
	dst := &resp.body
	dst.limit = r.p.c.MaxResponseBodySize
	if resp.SkipBody {
		dst = &r.wasted().body
	}
	used, done, err := r.recv.feed(b[n:], dst, &resp.Header.header)
	return n + used, done, err
}

// wasted returns an empty response for what nobody wants.
func (r *pipelineReader) wasted() *Response {
	if r.waste == nil {
		r.waste = AcquireResponse()
	}
	r.waste.ResetBody()
	return r.waste
}

// feedHead reads a head, and decides how the content behind it ends.
func (r *pipelineReader) feedHead(h *ResponseHeader, b []byte) (int, error) {
	if r.head != h {
		r.head = h
		h.begin()
		h.head.Limits = responseLimits(r.p.c.ReadBufferSize)
	}
	n, err := h.feed(http1.Response, b)
	if err != nil {
		return n, headerError("response", err)
	}
	if n == 0 {
		return 0, nil
	}
	r.head = nil
	h.status = h.head.Status
	switch {
	case h.status < firstStatus:
		// there is no class of responses that begins with 0
		return n, headerError("response", http1.ErrStatusLine)
	case h.status/100 == 1 && h.status != StatusSwitchingProtocols:
		r.hints++
		if r.hints > maxInformational {
			return n, errTooManyInformational
		}
		return n, nil
	}
	frame, err := h.head.Frame(http1.Response, http1.Exchange{Head: r.call.isHead, Connect: r.call.isConnect})
	if err != nil {
		return n, headerError("response", err)
	}
	switched := h.status == StatusSwitchingProtocols || r.call.isConnect && h.status/100 == 2
	r.closes = r.call.closes || switched || frame.MustClose || !h.head.KeepsAlive()
	r.inBody, r.untilIs = true, frame.Kind == http1.UntilClose
	return n, r.recv.start(frame, r.p.c.MaxResponseBodySize)
}

// done ends the current call.
func (r *pipelineReader) done() {
	r.p.respond(r.conn, r.closes)
	r.call, r.inBody, r.hints = nil, false, 0
}

// begun tells whether the server has begun to answer the current call.
func (r *pipelineReader) begun() bool {
	return r.call != nil && (r.inBody || r.hints > 0 || r.read < len(r.in.B))
}

// inputEnds says that nothing more comes, and returns why the reader ends.
func (r *pipelineReader) inputEnds(err error) error {
	switch {
	case err == io.EOF && r.inBody && r.untilIs:
		r.call.mu.Lock()
		if resp := r.call.resp; resp != nil && !resp.SkipBody {
			resp.Header.SetContentLength(len(resp.body.bytes()))
		}
		r.call.mu.Unlock()
		r.closes = true
		r.done()
	case isTimeout(err):
		r.p.expire()
	case r.begun() && err == io.EOF:
		// no request of this kind is sent twice: a server has worked on it
		err = io.ErrUnexpectedEOF
		if r.inBody {
			r.p.fail(err)
		} else {
			r.p.fail(headerError("response", err))
		}
	case r.begun():
		r.p.fail(err)
	}
	return err
}

// fail ends the current call, whose response is wrong.
func (r *pipelineReader) fail(err error) {
	if r.call == nil {
		r.p.c.logf("PipelineClient: %s: %v", r.p.c.Addr, err)
		return
	}
	r.p.fail(err)
}

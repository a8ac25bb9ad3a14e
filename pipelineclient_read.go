package fasthttp

import (
	"errors"
	"io"

	"github.com/valyala/fasthttp/internal/http1"
)

// pipelineReader gives the calls that were sent on a connection their responses.
// It never waits for the network while it holds a response.
type pipelineReader struct {
	p    *pipeline
	conn *clientConn

	// of the current response
	call   *pipelineCall // nil if no call was known when the last response ended
	heads  headReader
	inBody bool
	recv   receiver
	closes bool // it is the last one

	waste *Response // takes what nobody wants
}

// errUnasked says that the server has sent what no request asked for.
var errUnasked = errors.New("fasthttp: the server has sent bytes that belong to no response")

// read is the reader. It returns why it has ended: io.EOF where the server has
// closed the connection, or has announced that with a response.
func (p *pipeline) read(conn *clientConn) (err error) {
	r := &pipelineReader{p: p, conn: conn}
	defer func() {
		if r.waste != nil {
			ReleaseResponse(r.waste)
		}
		p.hangUp(conn)
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
		if err := conn.fill(); err != nil {
			return r.inputEnds(err)
		}
	}
}

// consume goes as far as the received bytes reach. over says that the last
// response of the connection was read.
func (r *pipelineReader) consume() (over bool, err error) {
	for {
		b := r.conn.peek()
		if len(b) == 0 {
			return false, nil
		}
		if r.call == nil && !r.next() {
			return false, errUnasked
		}
		n, done, err := r.feed(b)
		r.conn.discard(n)
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
			return false, nil
		}
	}
}

// next finds the call that the next response is for.
func (r *pipelineReader) next() bool {
	r.p.mu.Lock()
	r.call = r.p.sent.first
	r.p.mu.Unlock()
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
		resp.ParseNetConn(r.conn.line.Net())
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
	n, final, err := r.heads.feed(h, &r.conn.past.memo, r.p.c.ReadBufferSize, b)
	if err != nil || !final {
		return n, err
	}
	frame, err := h.head.Frame(http1.Response, http1.Exchange{Head: r.call.isHead, Connect: r.call.isConnect})
	if err != nil {
		return n, headerError("response", err)
	}
	switched := h.status == StatusSwitchingProtocols || r.call.isConnect && h.status/100 == 2
	r.closes = r.call.closes || switched || frame.MustClose || !h.head.KeepsAlive()
	r.inBody = true
	return n, r.recv.start(frame, r.p.c.MaxResponseBodySize)
}

// done ends the current call.
func (r *pipelineReader) done() {
	r.call = r.p.respond(r.conn, r.closes)
	r.inBody, r.heads = false, headReader{}
}

// begun reports whether the server has begun to answer the current call.
func (r *pipelineReader) begun() bool {
	return r.call != nil && (r.inBody || r.heads.hints > 0 || len(r.conn.peek()) > 0)
}

// inputEnds says that nothing more comes, and returns why the reader ends.
func (r *pipelineReader) inputEnds(err error) error {
	switch {
	case err == io.EOF && r.inBody && r.recv.decoder.Kind() == http1.UntilClose:
		r.call.mu.Lock()
		if resp := r.call.resp; resp != nil && !resp.SkipBody {
			resp.Header.SetContentLength(len(resp.body.bytes()))
		}
		r.call.mu.Unlock()
		r.closes = true
		r.done()
	case isTimeout(err):
		r.p.expire(r.conn)
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

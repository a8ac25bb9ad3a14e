package fasthttp

import (
	"errors"
	"io"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/pipeline"
)

// pipelineReader gives the calls that were sent on a connection their responses. It
// does not wait for the network while it holds a response.
type pipelineReader struct {
	c    *PipelineClient
	lane *pipeline.Lane[Response]
	conn *clientConn

	// of the current response
	call   *pipelineCall // nil if no call was known when the last response ended
	heads  headReader
	inBody bool
	recv   receiver
	closes bool // it is the last one

	spare *Response // takes responses that no caller wants
}

// errUnasked reports that the server has sent unsolicited bytes.
var errUnasked = errors.New("fasthttp: the server has sent bytes that belong to no response")

// open establishes a connection, and returns a function that reads responses from it.
func (c *PipelineClient) open(lane *pipeline.Lane[Response]) (*clientconn.Conn, func() error, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, nil, err
	}
	return &conn.line, (&pipelineReader{c: c, lane: lane, conn: conn}).read, nil
}

// read gives calls their responses until the connection ends, and returns the reason:
// io.EOF if the server has closed the connection, or has announced that with a
// response.
func (r *pipelineReader) read() error {
	defer func() {
		if r.spare != nil {
			ReleaseResponse(r.spare)
		}
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
		if err := r.conn.fill(); err != nil {
			return r.inputEnds(err)
		}
	}
}

// consume processes all received bytes. over reports that the last response of the
// connection was read.
func (r *pipelineReader) consume() (over bool, err error) {
	for {
		b := r.conn.peek()
		if len(b) == 0 {
			return false, nil
		}
		if r.call == nil {
			if r.call = r.lane.Next(); r.call == nil {
				return false, errUnasked
			}
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

// feed gives bytes to the current response and returns how many it took.
func (r *pipelineReader) feed(b []byte) (n int, done bool, err error) {
	call := r.call
	call.Lock()
	defer call.Unlock()
	resp := call.Response
	if resp == nil {
		resp = r.discarded()
	}
	if !r.inBody {
		if n, err = r.feedHead(&resp.Header, b); err != nil || !r.inBody {
			return n, false, err
		}
		resp.ParseNetConn(r.conn.line.Net())
		if call.Exchange.Head {
			resp.skipHead()
			resp.Header.setState(closing, r.closes)
		}
	}
	dst := &resp.body
	dst.limit = r.c.MaxResponseBodySize
	if resp.SkipBody {
		dst = &r.discarded().body
	}
	used, done, err := r.recv.feed(b[n:], dst, &resp.Header.header)
	return n + used, done, err
}

// discarded returns an empty response for content that no caller wants.
func (r *pipelineReader) discarded() *Response {
	if r.spare == nil {
		r.spare = AcquireResponse()
	}
	r.spare.ResetBody()
	return r.spare
}

// feedHead reads a head, and decides how the content after it ends.
func (r *pipelineReader) feedHead(h *ResponseHeader, b []byte) (int, error) {
	n, final, err := r.heads.feed(h, &r.conn.head, r.c.ReadBufferSize, b)
	if err != nil || !final {
		return n, err
	}
	frame := r.conn.head.FrameAnswer(r.call.Exchange)
	switched := h.status == StatusSwitchingProtocols || r.call.Exchange.Connect && h.status/100 == 2
	r.closes = r.call.Closes || switched || frame.MustClose || !r.conn.head.KeepsAlive()
	r.inBody = true
	return n, r.recv.start(frame, r.c.MaxResponseBodySize)
}

// done ends the current call.
func (r *pipelineReader) done() {
	r.call = r.lane.Respond(r.closes)
	r.inBody, r.heads = false, headReader{}
}

// begun reports whether the server has begun to answer the current call.
func (r *pipelineReader) begun() bool {
	return r.call != nil && (r.inBody || r.heads.hints > 0 || len(r.conn.peek()) > 0)
}

// inputEnds handles the end of the input, and returns the error with which the reader
// ends.
func (r *pipelineReader) inputEnds(err error) error {
	switch {
	case err == io.EOF && r.inBody && r.recv.decoder.Kind() == http1.UntilClose:
		r.call.Lock()
		if resp := r.call.Response; resp != nil && !resp.SkipBody {
			resp.Header.SetContentLength(len(resp.body.bytes()))
		}
		r.call.Unlock()
		r.closes = true
		r.done()
	case isTimeout(err):
		r.lane.Expire()
	case r.begun() && err == io.EOF:
		// no request of this kind is sent twice: a server has processed it
		err = io.ErrUnexpectedEOF
		if r.inBody {
			r.lane.Fail(err)
		} else {
			r.lane.Fail(headerError("response", err))
		}
	case r.begun():
		r.lane.Fail(err)
	}
	return err
}

// fail ends the current call, whose response is malformed.
func (r *pipelineReader) fail(err error) {
	if r.call == nil {
		r.c.logf("PipelineClient: %s: %v", r.c.Addr, err)
		return
	}
	r.lane.Fail(err)
}

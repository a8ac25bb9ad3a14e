package fasthttp

import "github.com/valyala/fasthttp/internal/http1"

// headReader reads the heads of the responses to one request: informational ones,
// of which there may be maxInformational, and the final one. It never waits.
type headReader struct {
	h     *ResponseHeader // that a head is being read into, nil between two
	hints int             // informational responses that came
}

// feed reads a head into h from the beginning of b, which holds all of it that
// was received so far, and returns its length, or 0 for need more. m is the memo of
// the connection, and bufferSize the ReadBufferSize of the client. final is false for
// the head of an informational response.
func (r *headReader) feed(h *ResponseHeader, m *memo, bufferSize int, b []byte) (n int, final bool, err error) {
	if r.h != h {
		r.begin(h, bufferSize)
	}
	h.memo = m
	n, err = h.feed(http1.Response, b)
	h.memo = nil
	if err != nil {
		return n, false, headerError("response", err)
	}
	if n == 0 {
		return 0, false, nil
	}
	h.learn(m)
	r.h = nil
	h.status = h.head.Status
	switch {
	case h.status < http1.FirstStatus:
		// there is no class of responses that begins with 0
		return n, false, headerError("response", http1.ErrStatusLine)
	case h.status/100 != 1 || h.status == StatusSwitchingProtocols:
		return n, true, nil
	case r.hints == maxInformational:
		return n, false, errTooManyInformational
	}
	r.hints++
	return n, false, nil
}

// begin makes h ready for a head.
func (r *headReader) begin(h *ResponseHeader, bufferSize int) {
	r.h = h
	h.begin()
	h.status = 0
	h.head.Limits = responseLimits(bufferSize)
}

package accesslog

import (
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"
)

// The texts of an entry.
const (
	textMethod = iota
	textTarget
	textReferer
	textAgent
	textID
	texts
)

// entry is a request and its response. Its texts are elsewhere, one after the other.
type entry struct {
	at       time.Time
	taken    time.Duration
	client   netip.Addr
	protocol string // empty if the request could not be read
	status   int
	bytes    int64
	refused  error
	err      error
	lengths  [texts]int // of the texts
}

// record is an entry with its texts.
type record struct {
	entry
	text []byte
}

// capture records a request.
func (r *record) capture(ctx *fasthttp.RequestCtx) {
	h := &ctx.Request.Header
	r.at = ctx.Time()
	r.client = ctx.ClientIP()
	switch {
	case ctx.IsHTTP2():
		r.protocol = "HTTP/2.0"
	case string(h.Protocol()) == "HTTP/3.0":
		r.protocol = "HTTP/3.0"
	case h.IsHTTP11():
		r.protocol = "HTTP/1.1"
	default:
		r.protocol = "HTTP/1.0"
	}
	r.set(textMethod, h.Method())
	r.set(textTarget, h.RequestURI())
	r.set(textReferer, h.Referer())
	r.set(textAgent, h.UserAgent())
}

// captureRefused records a request that no handler has got. Of one that could not be read, and of
// a refused connection, only the address and the time are known.
func (r *record) captureRefused(ctx *fasthttp.RequestCtx, refused error) {
	if refused == nil || ctx.Request.Header.Len() > 0 {
		r.capture(ctx)
		return
	}
	r.at = ctx.Time()
	r.client = ctx.ClientIP()
}

// finish records a response.
func (r *record) finish(sent fasthttp.SentResponse) {
	r.taken = max(time.Since(r.at), 0)
	r.status, r.bytes, r.refused, r.err = sent.StatusCode, sent.Bytes, sent.Refused, sent.Err
}

// set adds a text. They are added in their order.
func (r *record) set(text int, value []byte) {
	from := len(r.text)
	if len(value) <= MaxValue {
		r.text = append(r.text, value...)
	} else {
		r.text = append(r.text, value[:MaxValue-3]...)
		r.text = append(r.text, "..."...)
	}
	r.lengths[text] = len(r.text) - from
}

// reset empties the record. It keeps no references to a request.
func (r *record) reset() { r.entry, r.text = entry{}, r.text[:0] }

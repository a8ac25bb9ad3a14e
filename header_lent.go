package fasthttp

import "github.com/valyala/fasthttp/internal/field"

// lent is a text that headers do not hold, but hand out: a default, or the name of
// a field that has a place of its own.
type lent uint8

const (
	lentMethod lent = iota
	lentTarget
	lentVersion
	lentType
	lentClose
	lentConnection
	lentContentEncoding
	lentContentLength
	lentContentType
	lentCookie
	lentHost
	lentServer
	lentSetCookie
	lentTrailer
	lentUserAgent
	numLent
)

var lentTexts = [numLent]string{
	lentMethod:          MethodGet,
	lentTarget:          "/",
	lentVersion:         "HTTP/1.1",
	lentType:            "text/plain; charset=utf-8",
	lentClose:           "close",
	lentConnection:      field.Connection.String(),
	lentContentEncoding: field.ContentEncoding.String(),
	lentContentLength:   field.ContentLength.String(),
	lentContentType:     field.ContentType.String(),
	lentCookie:          field.Cookie.String(),
	lentHost:            field.Host.String(),
	lentServer:          field.Server.String(),
	lentSetCookie:       field.SetCookie.String(),
	lentTrailer:         field.Trailer.String(),
	lentUserAgent:       field.UserAgent.String(),
}

// lentAt is where each of them stands in the buffer of a header, and, behind them,
// how long that is.
var lentAt = func() (at [numLent + 1]int) {
	for l, text := range lentTexts {
		at[l+1] = at[l] + len(text)
	}
	return at
}()

// lend returns a text as it should be, in memory of this header alone. Programs do
// write to what they get, as to lower the case of names; what other headers say
// must not change with it, and memory that is read-only ends the process.
func (h *header) lend(l lent) []byte {
	b := h.scratch[scratchLent]
	if b == nil {
		b = make([]byte, lentAt[numLent])
		h.scratch[scratchLent] = b
	}
	b = b[lentAt[l]:lentAt[l+1]:lentAt[l+1]]
	copy(b, lentTexts[l])
	return b
}

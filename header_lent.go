package fasthttp

import "github.com/valyala/fasthttp/internal/field"

// lent is a text that headers return but do not store: a default, or the name of a
// field that has a place of its own.
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

// lentAt are the offsets of these texts in the buffer of a header. The last element
// is the length of the buffer.
var lentAt = func() (at [numLent + 1]int) {
	for l, text := range lentTexts {
		at[l+1] = at[l] + len(text)
	}
	return at
}()

// lend returns a text in memory that only this header uses. Programs write to slices
// that they get, for example to change the case of names. That must not change the
// texts of other headers, and a write to read-only memory would end the process.
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

package fasthttp

import "github.com/valyala/fasthttp/internal/field"

// lent is a short text that headers return but do not store: a default, or the name of
// a field that has a place of its own.
type lent uint8

const (
	lentMethod lent = iota
	lentTarget
	lentVersion
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

var lentTexts = [numLent]lentText{
	lentMethod:          shortText(MethodGet),
	lentTarget:          shortText("/"),
	lentVersion:         shortText("HTTP/1.1"),
	lentClose:           shortText("close"),
	lentConnection:      shortText(field.Connection.String()),
	lentContentEncoding: shortText(field.ContentEncoding.String()),
	lentContentLength:   shortText(field.ContentLength.String()),
	lentContentType:     shortText(field.ContentType.String()),
	lentCookie:          shortText(field.Cookie.String()),
	lentHost:            shortText(field.Host.String()),
	lentServer:          shortText(field.Server.String()),
	lentSetCookie:       shortText(field.SetCookie.String()),
	lentTrailer:         shortText(field.Trailer.String()),
	lentUserAgent:       shortText(field.UserAgent.String()),
}

// lentBytes is the memory of a lent text. Its size is fixed, so that a text is copied
// by one instruction.
type lentBytes [len("Content-Encoding")]byte

type lentText struct {
	text lentBytes
	size int
}

func shortText(s string) (t lentText) {
	if t.size = copy(t.text[:], s); t.size < len(s) {
		panic("fasthttp: a text that is too long to be lent: " + s)
	}
	return t
}

// lentMemory is the memory of the texts that a header has lent.
type lentMemory struct {
	short       [numLent]lentBytes
	contentType [len(defaultType)]byte
}

// lend returns a text in memory that only this header uses. Programs write to returned
// slices, for example to change the case of names. That must not change the texts of
// other headers, and a write to read-only memory would end the process.
func (h *header) lend(l lent) []byte {
	if h.lent == nil {
		h.lent = new(lentMemory)
	}
	b, text := &h.lent.short[l], &lentTexts[l]
	*b = text.text
	return b[:text.size:text.size]
}

// lendType is lend for defaultType.
func (h *header) lendType() []byte {
	if h.lent == nil {
		h.lent = new(lentMemory)
	}
	copy(h.lent.contentType[:], defaultType)
	return h.lent.contentType[:]
}

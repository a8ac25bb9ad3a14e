package fasthttp

import (
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// A header holds what the application has set and what was received: for its readers,
// this includes the length of the content, Transfer-Encoding and Connection. The form
// in which these fields are sent follows from a http1.Encoding, which the sender of the
// whole message makes; the methods here translate between the two.

// declared returns the content of the message as the header alone declares it.
func (h *header) declared() (http1.ContentKind, int) {
	switch {
	case h.is(hasLength):
		return http1.SizedContent, h.contentLength
	case h.contentLength >= 0:
		return http1.NoContent, 0
	case h.list.FindID(field.TransferEncoding, 0) >= 0:
		return http1.UnsizedContent, 0
	}
	return http1.OpenContent, 0
}

// terms returns the conditions of the header for sending the message on a connection.
func (h *header) terms() (t http1.Terms) {
	if h.is(closing) {
		t |= http1.AsksClose
	}
	if h.is(oldProtocol) {
		t |= http1.LineIsOld
	}
	if h.is(peerVersion) {
		t |= http1.LineIsReceived
	}
	return t
}

// asSet returns the encoding of the head alone, as the application has set it. The
// application also writes the content after it.
func (h *header) asSet() http1.Encoding {
	e := http1.Encoding{Length: h.contentLength}
	switch {
	case h.is(hasLength):
		e.Says = http1.SaysLength
	case e.Length < 0 && h.list.FindID(field.TransferEncoding, 0) >= 0:
		e.Says = http1.SaysChunked
	}
	if h.is(closing) {
		e.Says |= http1.SaysClose
	}
	return e
}

// asSet is header.asSet, except that a status without content has no framing; a 304 may
// declare how long the content of a 200 would be.
func (h *ResponseHeader) asSet() http1.Encoding {
	e := h.header.asSet()
	if status := h.StatusCode(); bodiless(status) {
		e.Says &^= http1.SaysChunked
		if status != StatusNotModified {
			e.Says &^= http1.SaysLength
		}
	}
	return e
}

// record makes the header reflect how its message is sent, for later readers of the
// header.
func (h *header) record(e http1.Encoding) {
	h.contentLength = e.Length
	h.setState(hasLength, e.Says.Has(http1.SaysLength))
	if chunked := e.Says.Has(http1.SaysChunked); chunked || len(h.list.Entries) > 0 {
		h.setCoding(chunked)
	}
	if e.Says.Has(http1.SaysClose | http1.SaysKeepAlive | http1.LacksTrailers) {
		h.recordOthers(e.Says)
	}
}

// recordOthers is the part of record for rare Sayings.
func (h *header) recordOthers(says http1.Sayings) {
	if says.Has(http1.LacksTrailers) {
		h.dropTrailers()
	}
	switch {
	case says.Has(http1.SaysClose):
		h.state |= closing
		if i := h.findKeepAlive(0); i >= 0 && says.Has(http1.OverridesKeepAlive) {
			h.own()
			h.list.RemoveEach(i, h.findKeepAlive)
		}
	case says.Has(http1.SaysKeepAlive):
		h.setConnection(key{field.Connection.Bytes(), field.Connection}, strKeepAlive)
	}
}

// record is header.record, except that a status without content leaves the length as
// the application has set it.
func (h *ResponseHeader) record(e http1.Encoding) {
	if bodiless(h.StatusCode()) {
		e.Length, e.Says = h.contentLength, e.Says&^http1.SaysLength
		if h.is(hasLength) {
			e.Says |= http1.SaysLength
		}
	}
	h.header.record(e)
}

// record is header.record. Fields that the application writes itself, with special
// fields disabled, are corrected: a server would parse content without a length, or
// beyond a wrong one, as the next request.
func (h *RequestHeader) record(e http1.Encoding) {
	h.header.record(e)
	if h.is(noSpecial) {
		h.setOwnLength()
	}
}

// keepsLine reports whether a Connection line of the application is sent in addition to
// the Sayings about the connection.
func keepsLine(value []byte, says http1.Sayings) bool {
	switch {
	case says.Has(http1.SaysKeepAlive):
		return false
	case says.Has(http1.OverridesKeepAlive):
		return http1.ConnectionFlags(value)&http1.KeepAlive == 0
	}
	return true
}

// saysClose reports whether a sent Connection line of the application lists close.
func (h *header) saysClose(says http1.Sayings) bool {
	for i := h.findClose(0); i >= 0; i = h.findClose(i + 1) {
		if keepsLine(h.list.Value(i), says) {
			return true
		}
	}
	return false
}

// findKeepAlive returns the position of the first Connection line at or after from that
// lists keep-alive, or -1.
func (h *header) findKeepAlive(from int) int {
	for i := h.list.FindID(field.Connection, from); i >= 0; i = h.list.FindID(field.Connection, i+1) {
		if http1.ConnectionFlags(h.list.Value(i))&http1.KeepAlive != 0 {
			return i
		}
	}
	return -1
}

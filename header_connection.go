package fasthttp

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// ConnectionClose reports whether the connection is closed after this message. This is
// so if "Connection: close" was set or received, alone or in a list, or if the message
// was received as HTTP/1.0 without keep-alive.
func (h *header) ConnectionClose() bool { return h.is(closing) }

// SetConnectionClose sets "Connection: close".
func (h *header) SetConnectionClose() { h.state |= closing }

// ResetConnectionClose removes "Connection: close", whether it was set or received.
func (h *header) ResetConnectionClose() {
	if !h.is(closing) {
		return
	}
	h.state &^= closing
	for i := h.findClose(0); i >= 0; i = h.findClose(i + 1) {
		if others := withoutClose(h.list.Value(i)); len(others) > 0 {
			h.storeAt(i, others)
		}
	}
	// the remaining lines have no other option
	h.list.RemoveEach(h.findClose(0), h.findClose)
}

// findClose returns the position of the first Connection line at or after from that
// lists close, or -1.
func (h *header) findClose(from int) int {
	for i := h.list.FindID(field.Connection, from); i >= 0; i = h.list.FindID(field.Connection, i+1) {
		if http1.ConnectionFlags(h.list.Value(i))&http1.Close != 0 {
			return i
		}
	}
	return -1
}

// withoutClose returns the other options of a Connection field.
func withoutClose(list []byte) (others []byte) {
	for rest := list; rest != nil; {
		var option []byte
		option, rest = ascii.NextElement(rest)
		if len(option) == 0 || ascii.EqualFold(option, strClose) {
			continue
		}
		if len(others) > 0 {
			others = append(others, strCommaSpace...)
		}
		others = append(others, option...)
	}
	return others
}

// closesUnsaid reports whether "Connection: close" has to be written in addition to
// the Connection fields in list, because none of them lists close.
func (h *header) closesUnsaid() bool {
	if !h.is(closing) {
		return false
	}
	return h.findClose(0) < 0
}

// ConnectionUpgrade reports whether the Connection field lists "upgrade", in upper
// or lower case (RFC 9110 section 7.8). It returns false if ConnectionClose returns
// true, as for an HTTP/1.0 message without keep-alive.
func (h *header) ConnectionUpgrade() bool {
	if h.is(closing) {
		return false
	}
	for i := h.list.FindID(field.Connection, 0); i >= 0; i = h.list.FindID(field.Connection, i+1) {
		if http1.ConnectionFlags(h.list.Value(i))&http1.Upgrade != 0 {
			return true
		}
	}
	return false
}

// setConnection replaces all Connection fields. A "close" alone is kept as a flag.
func (h *header) setConnection(k key, value []byte) {
	h.dropConnection()
	if ascii.EqualFold(value, strClose) {
		h.state |= closing
		return
	}
	h.setState(closing, http1.ConnectionFlags(value)&http1.Close != 0)
	h.append(k, value)
}

func (h *header) dropConnection() {
	h.state &^= closing
	h.removeID(field.Connection)
}

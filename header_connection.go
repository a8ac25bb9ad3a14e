package fasthttp

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// ConnectionClose reports whether the connection is to be closed after this
// message: "Connection: close" was set or received, alone or in a list, or
// the message came as HTTP/1.0 without keep-alive.
func (h *header) ConnectionClose() bool { return h.is(closing) }

// SetConnectionClose sets "Connection: close".
func (h *header) SetConnectionClose() { h.state |= closing }

// ResetConnectionClose takes "Connection: close" back, whether it was set or
// received.
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
	// those that are left say nothing else
	h.list.RemoveEach(h.findClose(0), h.findClose)
}

// findClose returns the position of the first Connection line from a position on
// that lists close, or -1.
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

// closesUnsaid reports whether "Connection: close" is to be written beside the
// Connection fields in list, none of which says so.
func (h *header) closesUnsaid() bool {
	if !h.is(closing) {
		return false
	}
	return h.findClose(0) < 0
}

// ConnectionUpgrade reports whether the Connection field lists "upgrade", in any
// case (RFC 9110 section 7.8). It is false for a message after which the connection
// is to be closed, as it is after one of HTTP/1.0 that does not ask to keep it.
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

// setConnection replaces all Connection fields. A lone "close" is a state.
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

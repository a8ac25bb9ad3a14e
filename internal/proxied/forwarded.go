// Package proxied parses how proxies describe the client: in fields of the request, Forwarded
// (RFC 7239) and lists of addresses such as X-Forwarded-For (Last); and in a header at the
// beginning of the connection, the PROXY protocol, versions 1 and 2, as HAProxy specifies it
// in its proxy-protocol.txt (Parse).
//
// Each proxy appends to the list that it has received, and only the elements that
// trusted proxies have appended are reliable. So lists are parsed from their end:
// text further to the left, which any client can send, cannot change how an element
// is parsed.
//
// The package does no I/O. Last allocates only for an invalid address. Size returns the size
// of a PROXY header, or how many bytes can be read without reading beyond it.
package proxied

import (
	"bytes"
	"net/netip"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

// Last returns the last element of a comma-separated list, without surrounding white
// space, and the rest of the list before it. It returns empty elements, too. Commas
// inside quoted strings do not separate. After the first element of the list rest is
// nil.
func Last(list []byte) (element, rest []byte) {
	for i := len(list) - 1; i >= 0; i-- {
		switch list[i] {
		case ',':
			return ascii.Trim(list[i+1:]), list[:i:i]
		case '"':
			i = opening(list[:i])
		}
	}
	return ascii.Trim(list), nil
}

// opening returns the position of the quote that begins a quoted string, or -1. b
// ends just before the closing quote.
func opening(b []byte) int {
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] != '"' {
			continue
		}
		end := i
		for i > 0 && b[i-1] == '\\' {
			i--
		}
		if (end-i)%2 == 0 {
			return end
		}
	}
	return -1
}

// Element holds the parameters that one proxy has set in the field Forwarded (RFC
// 7239 section 4), without quotes. A missing parameter is nil.
type Element struct {
	For   []byte // the peer of the proxy, see ParseNode
	Proto []byte // the scheme with which the peer has connected
	Host  []byte // the host that the peer has requested
}

// ParseElement parses an element of the field Forwarded. It fails if the element is
// malformed, or has a parameter twice. It accepts values without the quotes that they
// should have, such as addresses with a port.
func ParseElement(b []byte) (e Element, ok bool) {
	for {
		b = ascii.Trim(b)
		if len(b) == 0 {
			return e, true
		}
		if b[0] == ';' {
			b = b[1:]
			continue
		}
		equals := bytes.IndexByte(b, '=')
		if equals < 0 || !ascii.IsToken(b[:equals]) {
			return Element{}, false
		}
		name := b[:equals]
		value, rest, ok := cutValue(b[equals+1:])
		if !ok || !e.set(name, value) {
			return Element{}, false
		}
		b = rest
	}
}

// cutValue returns the value at the start of b, and the rest of b, which begins with
// the next semicolon or is empty.
func cutValue(b []byte) (value, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		end := ascii.IndexByte(b, ';')
		value = ascii.Trim(b[:end])
		return value, b[end:], bytes.IndexByte(value, '"') < 0
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			rest = ascii.Trim(b[i+1:])
			return b[1:i:i], rest, len(rest) == 0 || rest[0] == ';'
		}
	}
	return nil, nil, false
}

// set sets a parameter. It returns false if the element has one of this name already.
func (e *Element) set(name, value []byte) bool {
	var to *[]byte
	switch {
	case ascii.EqualFoldString(name, "for"):
		to = &e.For
	case ascii.EqualFoldString(name, "proto"):
		to = &e.Proto
	case ascii.EqualFoldString(name, "host"):
		to = &e.Host
	default:
		return true
	}
	if *to != nil {
		return false
	}
	*to = value[:len(value):len(value)]
	return true
}

// ParseFor is ParseNode for the parameter for of the field Forwarded, in which an IPv6
// address has brackets (RFC 7239 section 6). Without them a port could be a part of it.
func ParseFor(b []byte) (addr netip.Addr, ok bool) {
	if colon := bytes.IndexByte(b, ':'); colon >= 0 && b[0] != '[' && bytes.IndexByte(b[colon+1:], ':') >= 0 {
		return addr, false
	}
	return ParseNode(b)
}

// ParseNode parses the address of a client or a proxy (RFC 7239 section 6): an IPv4
// address, or an IPv6 address with or without brackets, and optionally a port. It
// ignores the port and the zone of an address, which has a meaning for the proxy
// only. An IPv4 address in the form of an IPv6 address is returned as an IPv4 address.
// ok is false for everything else, such as "unknown" or a name that hides the address.
func ParseNode(b []byte) (addr netip.Addr, ok bool) {
	host, is6 := b, false
	switch colon := bytes.IndexByte(b, ':'); {
	case len(b) > 0 && b[0] == '[':
		end := bytes.IndexByte(b, ']')
		if end < 0 || end+1 < len(b) && !isPort(b[end+1:]) {
			return addr, false
		}
		host, is6 = b[1:end], true
	case colon >= 0 && bytes.IndexByte(b[colon+1:], ':') >= 0:
		is6 = true
	case colon >= 0:
		if !isPort(b[colon:]) {
			return addr, false
		}
		host = b[:colon]
	}
	if is6 {
		var found bool
		var zone []byte
		if host, zone, found = bytes.Cut(host, []byte("%")); found && len(zone) == 0 {
			return addr, false
		}
	}
	addr, err := netip.ParseAddr(bytesconv.String(host))
	if err != nil || addr.Is6() != is6 || addr.Zone() != "" {
		return netip.Addr{}, false
	}
	return addr.Unmap(), true
}

// isPort reports whether b is a colon with a port, or with a name that hides one
// (RFC 7239 section 6.3).
func isPort(b []byte) bool {
	if b[0] != ':' || len(b) < 2 {
		return false
	}
	b = b[1:]
	if b[0] == '_' {
		return len(b) > 1 && ascii.IsToken(b)
	}
	n, ok := ascii.ParseUint(b)
	return ok && n <= 65535
}

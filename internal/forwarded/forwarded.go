// Package forwarded reads what proxies note of the requests that they pass on: the
// field Forwarded (RFC 7239) and lists of addresses such as X-Forwarded-For.
//
// Each proxy appends to what it was sent, and only what those have appended that
// are trusted can be believed. So lists are read from their end: what stands further
// on the left, which anybody may have sent, cannot change how an element is read.
//
// It does no I/O and does not allocate, except for an address that is none. Start
// with Last. It imports ascii and bytesconv.
package forwarded

import (
	"bytes"
	"net/netip"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

// Last cuts the last element off a comma-separated list, and returns it without
// surrounding white space, and what is left of the list. Empty elements are
// returned as they come; commas inside of quoted strings do not separate. It ends
// with rest nil.
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

// opening returns the position of the quote that begins the quoted string of which
// b ends just before the closing one, or -1.
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

// Element is what one proxy says in the field Forwarded (RFC 7239 section 4). A
// parameter that it does not have is nil. Those in quotes are without them.
type Element struct {
	For   []byte // the peer of the proxy, see ParseNode
	Proto []byte // the scheme with which the peer has connected
	Host  []byte // the host that the peer has asked for
}

// ParseElement reads an element of the field Forwarded. It fails if that is
// malformed, or has one of the parameters twice. Values that ought to be in quotes,
// such as addresses with a port, are taken without them.
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

// cutValue cuts the value off that b begins with, and returns what follows it: the
// next semicolon, or nothing.
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

// set takes in a parameter. It is false if there is one of the name already.
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

// ParseNode reads the address of a client or a proxy (RFC 7239 section 6): an IPv4
// address, or an IPv6 address, in brackets or not, and perhaps a port, which is
// passed over, as is the zone of an address: it means something to the proxy only.
// An IPv4 address in the form of an IPv6 address is returned as what it is. ok is
// false for all else, such as "unknown" or a name that hides the address.
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

package http1

import (
	"bytes"
	"math/bits"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

// CheckRequest returns an error if the lines of a request are well-formed, but its target
// (RFC 9112 section 3.2) or Host (section 3.2 and RFC 9110 section 7.2) is invalid. b is
// the head.
func (h *Head) CheckRequest(b []byte) error {
	target := textAt(b, h.Target)
	if target[0] == '/' && h.MethodID != MethodConnect {
		if bytes.IndexByte(target, '#') >= 0 {
			return ErrTarget
		}
	} else if err := CheckTarget(textAt(b, h.Method), target); err != nil {
		return err
	}
	host := textAt(b, h.Slots[SlotHost])
	if h.Flags&(HasHost|ManyHosts) == HasHost && isPlainHost(host) {
		return nil
	}
	return h.checkHost(host)
}

// checkHost returns an error unless a request may have the host, or none.
func (h *Head) checkHost(host []byte) error {
	switch {
	case !h.Has(HasHost):
		if h.Minor > 0 {
			return ErrHost
		}
	case h.Has(ManyHosts), !ValidHost(host),
		// no http URI has an empty host (RFC 9110 section 4.2.1)
		len(host) == 0 && h.Minor > 0:
		return ErrHost
	}
	return nil
}

// CheckTarget returns an error unless a request target has one of the four forms of RFC
// 9112 section 3.2, and a form that its method permits. CONNECT may have a path, too:
// package net/rpc sends one, and net/http accepts it.
//
// None of the forms has a fragment. A recipient that drops it and one that treats it as a
// part of the path would disagree about the resource that "/a#/../b" identifies.
func CheckTarget(method, target []byte) error {
	switch {
	case len(target) == 0:
		return ErrEmptyTarget
	case string(method) == "CONNECT" && target[0] != '/':
		if !IsAuthority(target) {
			return ErrTarget
		}
		return nil
	case ascii.IndexByte(target, '#') < len(target):
		return ErrTarget
	case target[0] == '/':
		return nil
	case target[0] == '*':
		if len(target) > 1 || string(method) != "OPTIONS" {
			return ErrTarget
		}
		return nil
	}
	return checkAbsolute(target)
}

// IsAuthority reports whether target is a host and a port, the form that CONNECT
// requires (RFC 9112 section 3.2.3).
func IsAuthority(target []byte) bool {
	colon := bytes.LastIndexByte(target, ':')
	return colon > 0 && colon < len(target)-1 && ValidHost(target)
}

// checkAbsolute returns an error unless the scheme and the authority of an absolute
// URI are valid.
func checkAbsolute(target []byte) error {
	scheme, rest, found := bytes.Cut(target, []byte("://"))
	if !found || len(scheme) == 0 || !ascii.Is(scheme[0], ascii.Alpha) {
		return ErrTarget
	}
	for _, c := range scheme {
		if !ascii.Is(c, ascii.Alpha|ascii.Digit) && c != '+' && c != '-' && c != '.' {
			return ErrTarget
		}
	}
	if end := bytes.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[:end]
	}
	if len(rest) == 0 || !ValidHost(rest) {
		return ErrTarget
	}
	return nil
}

// ValidHost reports whether host may be the value of a Host field (RFC 9110 section 7.2): a
// name, an IPv4 address or an IPv6 address in brackets, and optionally a port. It may be
// empty, as it is if the target has no authority. A port without a host is invalid (RFC
// 9110 section 4.2.1), and so is user information.
//
// RFC 3986 section 3.2.2 permits escapes in a name. ValidHost accepts only escapes of
// the percent sign and of bytes outside of ASCII: any other escape would hide a
// character that either must not be part of a name or needs no escape.
func ValidHost(host []byte) bool {
	if isPlainHost(host) {
		return true
	}
	i := 0
	for i < len(host) {
		switch c := host[i]; {
		case plainHost[c] != 0:
			i++
		case c == ':':
			return i > 0 && ValidPort(host[i+1:])
		case c == '%':
			if c, ok := escapedByte(host[i:]); !ok || c < 0x80 && c != '%' {
				return false
			}
			i += len("%XX")
		default:
			return i == 0 && c == '[' && validLiteral(host)
		}
	}
	return true
}

// isPlainHost reports whether host is valid and has the most frequent form: eight or more
// bytes that may appear anywhere in a name, and perhaps a port of at most five digits.
func isPlainHost(host []byte) bool {
	n := len(host)
	if n < 8 {
		return false
	}
	if host[n-1] <= '9' {
		last := bytesconv.Word(host, n-8)
		if colon := ascii.ZeroBytes(last ^ ':'*ones); colon != 0 {
			at := bits.TrailingZeros64(colon) / 8
			n -= 8 - at
			if at < 2 || n < 8 || ascii.NotDigits(last)>>(8*at)>>8 != 0 {
				return false
			}
			// ports of five digits that begin with a 6 need a closer look
			if first := byte(last >> 24); at == 2 && first > '5' && !ValidPort(host[n+1:]) {
				return false
			}
		}
	}
	// nearly every byte is plain, so eight are checked at once. The last eight may overlap
	// those before
	for i := 0; i < n-8; i += 8 {
		if !arePlain((*[8]byte)(host[i:])) {
			return false
		}
	}
	return arePlain((*[8]byte)(host[n-8:]))
}

// arePlain reports whether the bytes may appear anywhere in a name.
func arePlain(b *[8]byte) bool {
	t := &plainHost
	return t[b[0]]&t[b[1]]&t[b[2]]&t[b[3]]&t[b[4]]&t[b[5]]&t[b[6]]&t[b[7]] != 0
}

const (
	ones    = 0x0101010101010101
	maxPort = 65535
)

// plainHost has a 1 for the bytes that may appear anywhere in a name.
var plainHost = func() (t [256]uint8) {
	for i := range t {
		if ascii.Is(byte(i), ascii.HostByte) {
			t[i] = 1
		}
	}
	for _, c := range []byte(":%[]") {
		t[c] = 0
	}
	return t
}()

// ValidPort reports whether port, without the colon, is a valid port: a decimal
// number of at most 65535, or empty (RFC 3986 section 3.2.3).
func ValidPort(port []byte) bool {
	n := 0
	for _, c := range port {
		if c < '0' || c > '9' {
			return false
		}
		if n = n*10 + int(c-'0'); n > maxPort {
			return false
		}
	}
	return true
}

// validLiteral reports whether host is an address in brackets with an optional port.
func validLiteral(host []byte) bool {
	end := bytes.IndexByte(host, ']')
	if end < 0 {
		return false
	}
	if rest := host[end+1:]; len(rest) > 0 && (rest[0] != ':' || !ValidPort(rest[1:])) {
		return false
	}
	address := host[1:end]
	if zone := bytes.IndexByte(address, '%'); zone >= 0 {
		if !validZone(address[zone:]) {
			return false
		}
		address = address[:zone]
	}
	return ValidIPv6(address)
}

// validZone reports whether zone is the zone of an address as in RFC 6874 section 2: an
// escaped percent sign, and a name of at least one unreserved character.
func validZone(zone []byte) bool {
	name, found := bytes.CutPrefix(zone, []byte("%25"))
	if !found || len(name) == 0 {
		return false
	}
	for len(name) > 0 {
		c, size := name[0], 1
		if c == '%' {
			var ok bool
			if c, ok = escapedByte(name); !ok {
				return false
			}
			size = 3
		}
		if c < 0x80 && !unreserved(c) || c >= 0x80 && size == 1 {
			return false
		}
		name = name[size:]
	}
	return true
}

// ValidIPv6 reports whether address is an IPv6 address (RFC 3986 section 3.2.2),
// without brackets and zone.
func ValidIPv6(address []byte) bool {
	groups, elided := 0, false
	if rest, found := bytes.CutPrefix(address, []byte("::")); found {
		address, elided = rest, true
	}
	for len(address) > 0 {
		n := 0
		for n < len(address) && ascii.Is(address[n], ascii.HexDigit) {
			n++
		}
		if n < len(address) && address[n] == '.' {
			if !validIPv4(address) {
				return false
			}
			groups += 2
			break
		}
		if n == 0 || n > 4 {
			return false
		}
		groups++
		if address = address[n:]; len(address) == 0 {
			break
		}
		if rest, found := bytes.CutPrefix(address, []byte("::")); found {
			if elided {
				return false
			}
			address, elided = rest, true
			continue
		}
		if address[0] != ':' || len(address) == 1 {
			return false
		}
		address = address[1:]
	}
	if elided {
		return groups < 8
	}
	return groups == 8
}

// validIPv4 reports whether address is four decimal numbers of at most 255, without
// leading zeros.
func validIPv4(address []byte) bool {
	for part := range 4 {
		n, digits := 0, 0
		for digits < len(address) && ascii.Is(address[digits], ascii.Digit) {
			n = n*10 + int(address[digits]-'0')
			if digits++; n > 255 {
				return false
			}
		}
		if digits == 0 || digits > 1 && address[0] == '0' {
			return false
		}
		address = address[digits:]
		if part == 3 {
			break
		}
		if len(address) == 0 || address[0] != '.' {
			return false
		}
		address = address[1:]
	}
	return len(address) == 0
}

// escapedByte decodes the escape at the start of b.
func escapedByte(b []byte) (c byte, ok bool) {
	if len(b) < 3 || b[0] != '%' {
		return 0, false
	}
	hi, lo := ascii.HexValue(b[1]), ascii.HexValue(b[2])
	if hi|lo > 0xf {
		return 0, false
	}
	return hi<<4 | lo, true
}

func unreserved(c byte) bool {
	return ascii.Is(c, ascii.Alpha|ascii.Digit) || c == '-' || c == '.' || c == '_' || c == '~'
}

package fasthttpproxy

import (
	"bytes"
	"errors"
)

var errOutsideTarget = errors.New("fasthttpproxy: the path of the request leaves the path of Target by dot segments")

// leavesTarget reports whether the path of the request would, for some server, lie outside of the path
// of Target that is in front of it.
func (x *proxyExchange) leavesTarget() bool {
	base := x.p.target.path
	if base == "" {
		return false
	}
	below, ok := bytes.CutPrefix(x.req.URI().PathOriginal(), []byte(base))
	return ok && climbs(below)
}

// climbs reports whether a path leads above its beginning by dot segments. Servers differ in what they
// take for a dot segment, and for the end of a segment: it may be escaped, be a backslash, or have
// parameters; and they may merge slashes. Some decode the path twice, though RFC 3986 section 2.4
// forbids that. climbs believes the worst.
func climbs(path []byte) bool {
	depth := 0
	for rest, more := path, true; more; {
		var segment []byte
		segment, rest, more = bytes.Cut(rest, []byte("/"))
		change, lowest := climb(segment)
		if depth+lowest < 0 {
			return true
		}
		depth += change
	}
	return false
}

// climb returns by how many levels a segment changes the depth of a path, and the lowest level on the
// way, if escaped slashes and backslashes end segments for some servers.
func climb(segment []byte) (change, lowest int) {
	dots, named, ended := 0, false, false
	end := func() {
		switch {
		case named || dots > 2:
			// for other servers it is part of a longer name
			change = lowest + 1
		case dots == 2:
			change--
			lowest = min(lowest, change)
		}
		dots, named, ended = 0, false, false
	}
	for i := 0; i < len(segment); i++ {
		c := segment[i]
		for c == '%' && i+2 < len(segment) && isHex(segment[i+1]) && isHex(segment[i+2]) {
			c = unhex(segment[i+1])<<4 | unhex(segment[i+2])
			i += 2
		}
		switch c {
		case '/', '\\':
			end()
		case ';', '?', '#', 0:
			// parameters are no part of the name
			ended = true
		case '.':
			if !ended {
				dots++
			}
		default:
			named = named || !ended
		}
	}
	end()
	return change, lowest
}

func isHex(c byte) bool {
	lower := c | 0x20
	return c >= '0' && c <= '9' || lower >= 'a' && lower <= 'f'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

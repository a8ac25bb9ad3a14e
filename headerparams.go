package fasthttp

import "github.com/valyala/fasthttp/internal/ascii"

// VisitHeaderParams calls f for each parameter of a field value such as
// "text/html; charset=utf-8; q=1" (RFC 9110 section 5.6.6), until f returns
// false. What stands before the first semicolon is passed over.
//
// It also ends, without saying so, at the first parameter that is malformed: one
// without an equals sign, or with an empty or unfinished value. What stands
// behind a value, up to the next semicolon, is passed over.
//
// A value may be quoted, and f gets it without its quotes; backslashes that are
// in front of other characters there are left in place. key and value are pieces
// of b: valid as long as that is, and not to be written to.
func VisitHeaderParams(b []byte, f func(key, value []byte) bool) {
	for {
		semicolon := 0
		// behind a value, it mostly comes at once
		if len(b) == 0 || b[0] != ';' {
			semicolon = ascii.IndexByte(b, ';')
		}
		if semicolon == len(b) {
			return
		}
		b = b[semicolon+1:]
		blanks := 0
		for blanks < len(b) && ascii.IsBlank(b[blanks]) {
			blanks++
		}
		b = b[blanks:]
		if len(b) > 0 && b[0] == ';' {
			// there is no parameter between two semicolons
			continue
		}
		n := tokenLen(b)
		if n == 0 || n == len(b) || b[n] != '=' {
			return
		}
		value, rest, ok := cutParamValue(b[n+1:])
		if !ok || !f(b[:n:n], value) {
			return
		}
		b = rest
	}
}

// cutParamValue cuts the value off that b begins with.
func cutParamValue(b []byte) (value, rest []byte, ok bool) {
	if len(b) > 0 && b[0] == '"' {
		n := quotedLen(b)
		if n == 0 {
			return nil, nil, false
		}
		return b[1 : n-1 : n-1], b[n:], true
	}
	n := tokenLen(b)
	return b[:n:n], b[n:], n > 0
}

// tokenLen returns how long the token is that b begins with.
func tokenLen(b []byte) int {
	n := 0
	for n < len(b) && ascii.Is(b[n], ascii.Token) {
		n++
	}
	return n
}

// quotedLen returns how long the quoted string is that b begins with, both
// quotes included, or 0 where the second one is missing.
func quotedLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

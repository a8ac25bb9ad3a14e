package http1

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
)

// VisitParams calls f for each parameter of a field value such as "text/html;
// charset=utf-8; q=1" (RFC 9110 section 5.6.6), until f returns false. It skips the text
// before the first semicolon.
//
// It also ends at the first malformed parameter: one without an equals sign, or with an
// empty or unfinished value. It skips the text after a value, up to the next semicolon. A
// value may be quoted; f gets it without its quotes, but with its backslashes.
func VisitParams(b []byte, f func(key, value []byte) bool) {
	for {
		semicolon := 0
		// a semicolon mostly follows a value at once
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

// cutParamValue cuts off the value at the beginning of b.
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

// tokenLen returns the length of the token at the beginning of b.
func tokenLen(b []byte) int {
	n := 0
	for n < len(b) && ascii.Is(b[n], ascii.Token) {
		n++
	}
	return n
}

// quotedLen returns the length of the quoted string at the beginning of b, including both
// quotes, or 0 if the second one is missing.
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

const formType = "multipart/form-data"

// FormBoundary returns the boundary of a Content-Type of multipart/form-data, or nil.
func FormBoundary(contentType []byte) (boundary []byte) {
	if len(contentType) < len(formType) || !ascii.EqualFoldString(contentType[:len(formType)], formType) {
		return nil
	}
	rest := ascii.Trim(contentType[len(formType):])
	if len(rest) == 0 || rest[0] != ';' {
		return nil
	}
	for quotes := true; len(rest) > 0; {
		var param []byte
		param, rest = cutParam(rest[1:], &quotes)
		name, value, _ := bytes.Cut(ascii.Trim(param), []byte("="))
		if !ascii.EqualFoldString(name, "boundary") {
			continue
		}
		if len(value) > 1 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		return value
	}
	return nil
}

// AppendFormType appends the Content-Type of multipart/form-data with a boundary. The boundary
// is quoted if it is valid (RFC 2046 section 5.1.1) and no token, such as "a/b". Any other
// text is appended as it is: it may be quoted, or have other parameters after the boundary.
func AppendFormType(dst, boundary []byte) []byte {
	dst = append(dst, formType+"; boundary="...)
	if ascii.All(boundary, ascii.Token) || !isBoundary(boundary) {
		return append(dst, boundary...)
	}
	return append(append(append(dst, '"'), boundary...), '"')
}

// isBoundary reports whether b has only the characters of a boundary. A space cannot be the
// last one.
func isBoundary(b []byte) bool {
	for _, c := range b {
		if !ascii.Is(c, ascii.Alpha|ascii.Digit) && bytes.IndexByte([]byte("'()+_,-./:=? "), c) < 0 {
			return false
		}
	}
	return len(b) > 0 && b[len(b)-1] != ' '
}

// cutParam cuts b before the first semicolon outside of quoted strings. Boundaries in
// use are not always tokens, so cutParam accepts more than VisitParams.
//
// An unclosed quote is an ordinary character, and so are all that follow it:
// quotes is then false from there on.
func cutParam(b []byte, quotes *bool) (param, rest []byte) {
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == ';':
			return b[:i], b[i:]
		case b[i] == '"' && *quotes:
			n := quotedLen(b[i:])
			*quotes = n > 0
			i += max(n-1, 0)
		}
	}
	return b, nil
}

// AcceptsCoding reports whether list, the value of an Accept-Encoding field, names a coding
// (RFC 9110 section 12.5.3), and whether it does so without a quality of 0.
func AcceptsCoding(list, name []byte) (listed, accepted bool) {
	for rest := list; rest != nil; {
		var e []byte
		e, rest = ascii.NextElement(rest)
		coding, params := e, []byte(nil)
		if n := ascii.IndexByte(e, ';'); n < len(e) {
			coding, params = ascii.Trim(e[:n]), e[n+1:]
		}
		if ascii.EqualFold(coding, name) {
			return true, !zeroQuality(params)
		}
	}
	return false, false
}

// zeroQuality reports whether the parameters of a list element include q=0.
func zeroQuality(params []byte) bool {
	for len(params) > 0 {
		var p []byte
		p, params, _ = bytes.Cut(params, []byte(";"))
		name, value, ok := bytes.Cut(p, []byte("="))
		if !ok || !ascii.EqualFoldString(ascii.Trim(name), "q") {
			continue
		}
		for _, c := range ascii.Trim(value) {
			if c != '0' && c != '.' {
				return false
			}
		}
		return true
	}
	return false
}

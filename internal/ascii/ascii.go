// Package ascii handles the bytes of HTTP text: character classes, case folding,
// decimal and hexadecimal numbers, and scans that examine eight bytes at once, or
// sixteen with SSE2.
//
// Start with the classes in this file; scan.go has the scans, number.go the numbers.
package ascii

import "github.com/valyala/fasthttp/internal/bytesconv"

// Class is the set of classes of the HTTP grammar to which a byte belongs.
type Class uint8

const (
	Token      Class = 1 << iota // tchar of RFC 9110 section 5.6.2
	FieldByte                    // field-vchar, SP or HTAB of RFC 9110 section 5.5
	TargetByte                   // visible byte of a request target, including the bytes over 0x7f
	Digit                        // 0-9
	HexDigit                     // 0-9, a-f, A-F
	Alpha                        // A-Z, a-z
	HostByte                     // allowed in a host: reg-name, IP literal, port (RFC 3986 section 3.2.2)
)

var classes = buildClasses()

func buildClasses() (t [256]Class) {
	for i := range t {
		c := byte(i)
		digit := c >= '0' && c <= '9'
		alpha := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if digit {
			t[i] |= Digit | HexDigit
		}
		if c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' {
			t[i] |= HexDigit
		}
		if alpha {
			t[i] |= Alpha
		}
		if digit || alpha {
			t[i] |= Token | HostByte
		}
		if c >= 0x20 && c != 0x7f || c == '\t' {
			t[i] |= FieldByte
		}
		if c > 0x20 && c != 0x7f {
			t[i] |= TargetByte
		}
	}
	for _, c := range []byte("!#$%&'*+-.^_`|~") {
		t[c] |= Token
	}
	// unreserved, pct-encoded and sub-delims make a reg-name; the brackets
	// and the colon make IP literals and ports
	for _, c := range []byte("-._~%!$&'()*+,;=:[]") {
		t[c] |= HostByte
	}
	return t
}

// Is reports whether c belongs to any of the classes in set.
func Is(c byte, set Class) bool { return classes[c]&set != 0 }

// All reports whether every byte of b belongs to one of the classes in set.
// It is true for an empty b.
func All(b []byte, set Class) bool {
	for _, c := range b {
		if classes[c]&set == 0 {
			return false
		}
	}
	return true
}

// IsToken reports whether b is a token of RFC 9110 section 5.6.2: at least one
// byte, and all of them tchars.
func IsToken(b []byte) bool { return len(b) > 0 && All(b, Token) }

var lower, upper = buildCase()

func buildCase() (lo, up [256]byte) {
	for i := range lo {
		c := byte(i)
		lo[i], up[i] = c, c
		if c >= 'A' && c <= 'Z' {
			lo[i] = c + 'a' - 'A'
		}
		if c >= 'a' && c <= 'z' {
			up[i] = c - ('a' - 'A')
		}
	}
	return lo, up
}

// Lower returns c in lower case if it is an ASCII letter, and c otherwise.
func Lower(c byte) byte { return lower[c] }

// Upper returns c in upper case if it is an ASCII letter, and c otherwise.
func Upper(c byte) byte { return upper[c] }

// ToLower converts the ASCII letters of b to lower case, in place.
func ToLower(b []byte) {
	for i, c := range b {
		b[i] = lower[c]
	}
}

// Capitalize converts b, in place: its first letter and those after separator to upper
// case, and all others to lower case.
func Capitalize(b []byte, separator byte) {
	t := &upper
	for i, c := range b {
		b[i] = t[c]
		t = &lower
		if c == separator {
			t = &upper
		}
	}
}

// EqualFold reports whether a and b are equal without regard to the case of ASCII
// letters.
func EqualFold(a, b []byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i, c := range a {
		if lower[c] != lower[b[i]] {
			return false
		}
	}
	return true
}

// EqualFoldString is like EqualFold, with a string as second argument.
func EqualFoldString(a []byte, b string) bool { return EqualFold(a, bytesconv.Bytes(b)) }

// Trim returns b without the spaces and tabs at its ends: OWS of RFC 9110
// section 5.6.3.
func Trim(b []byte) []byte {
	from, to := 0, len(b)
	for from < to && IsBlank(b[from]) {
		from++
	}
	for from < to && IsBlank(b[to-1]) {
		to--
	}
	return b[from:to]
}

// IsBlank reports whether c is a space or a tab.
func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

// NextElement returns the first element of a comma-separated list (RFC 9110
// section 5.6.1), without surrounding white space, and the rest of the list. It
// returns empty elements, too. Commas inside quoted strings do not separate. After
// the last element rest is nil.
func NextElement(list []byte) (element, rest []byte) {
	for i, c := range list {
		switch c {
		case ',':
			return Trim(list[:i]), list[i+1:]
		case '"':
			return nextWithQuotes(list, i)
		}
	}
	return Trim(list), nil
}

// nextWithQuotes is like NextElement, for an element with a quoted string at from.
func nextWithQuotes(list []byte, from int) (element, rest []byte) {
	quoted := false
	for i := from; i < len(list); i++ {
		switch c := list[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			return Trim(list[:i]), list[i+1:]
		}
	}
	return Trim(list), nil
}

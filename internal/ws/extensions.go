package ws

import "github.com/valyala/fasthttp/internal/ascii"

// validity classifies an element of Sec-WebSocket-Extensions.
type validity uint8

const (
	isEmpty   validity = iota // nothing between two commas
	isOther                   // another extension
	isInvalid                 // permessage-deflate with a parameter that it must not have
	isValid                   // permessage-deflate
)

// nextDeflate parses the first element of a field (RFC 6455 section 9.1), and returns the
// rest of the field. bare is the meaning of client_max_window_bits without a value, or
// NoBits if the parameter must have one.
func nextDeflate(field []byte, bare uint8) (d Deflate, v validity, rest []byte, err error) {
	s := scanner{skipBlanks(field)}
	if s.ends() {
		return Deflate{}, isEmpty, s.afterComma(), nil
	}
	name := s.token()
	switch {
	case len(name) == 0:
		return Deflate{}, isOther, nil, ErrExtensions
	case string(name) == deflateName:
		v = isValid
	default:
		v = isOther
	}
	for s.skip(';') {
		name, value, hasValue, ok := s.param()
		if !ok {
			return Deflate{}, v, nil, ErrExtensions
		}
		if v == isValid && !d.set(name, value, hasValue, bare) {
			v = isInvalid
		}
	}
	if !s.ends() {
		return Deflate{}, v, nil, ErrExtensions
	}
	return d, v, s.afterComma(), nil
}

// set sets one parameter, or returns false if it is invalid, unknown or set already.
func (d *Deflate) set(name, value []byte, hasValue bool, bare uint8) bool {
	switch string(name) {
	case serverNoContext:
		return !hasValue && setOnce(&d.ServerNoContext, true)
	case clientNoContext:
		return !hasValue && setOnce(&d.ClientNoContext, true)
	case serverBits:
		return setOnce(&d.ServerBits, parseBits(value))
	case clientBits:
		bits := bare
		if hasValue {
			bits = parseBits(value)
		}
		return setOnce(&d.ClientBits, bits)
	}
	return false
}

// setOnce sets a field that is zero to another value, or returns false.
func setOnce[T comparable](field *T, value T) bool {
	var zero T
	if *field != zero || value == zero {
		return false
	}
	*field = value
	return true
}

// parseBits parses a window size: a number without leading zeros. It returns NoBits unless
// the size is from MinBits to MaxBits.
func parseBits(value []byte) uint8 {
	switch {
	case len(value) == 1 && value[0] >= '8' && value[0] <= '9':
		return value[0] - '0'
	case len(value) == 2 && value[0] == '1' && value[1] >= '0' && value[1] <= '5':
		return 10 + value[1] - '0'
	}
	return NoBits
}

// scanner reads a Sec-WebSocket-Extensions field from its beginning. rest never begins
// with blanks.
type scanner struct{ rest []byte }

// ends reports whether the current element has ended.
func (s *scanner) ends() bool { return len(s.rest) == 0 || s.rest[0] == ',' }

// afterComma returns the rest of the field after an element that ends.
func (s *scanner) afterComma() []byte {
	if len(s.rest) == 0 {
		return nil
	}
	return s.rest[1:]
}

func skipBlanks(b []byte) []byte {
	for len(b) > 0 && ascii.IsBlank(b[0]) {
		b = b[1:]
	}
	return b
}

// skip reports whether c is next, and skips it.
func (s *scanner) skip(c byte) bool {
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = skipBlanks(s.rest[1:])
	return true
}

// token returns the next token, or nothing.
func (s *scanner) token() []byte {
	n := 0
	for n < len(s.rest) && ascii.Is(s.rest[n], ascii.Token) {
		n++
	}
	t := s.rest[:n:n]
	s.rest = skipBlanks(s.rest[n:])
	return t
}

// param reads a parameter after its semicolon. ok is false if it is malformed.
func (s *scanner) param() (name, value []byte, hasValue, ok bool) {
	name = s.token()
	if len(name) == 0 || !s.skip('=') {
		return name, nil, false, len(name) > 0
	}
	if len(s.rest) > 0 && s.rest[0] == '"' {
		value = s.quoted()
	} else {
		value = s.token()
	}
	return name, value, true, len(value) > 0
}

// quoted returns the value of the next quoted string, or nothing if the string does not
// end or its value is not a token. A backslash stays in the value, which then matches no
// parameter: peers do not escape digits.
func (s *scanner) quoted() []byte {
	b := s.rest[1:]
	for n := 0; n < len(b); n++ {
		switch c := b[n]; {
		case c == '"':
			s.rest = skipBlanks(b[n+1:])
			return b[:n:n]
		case c == '\\':
			if n++; n < len(b) && ascii.Is(b[n], ascii.Token) {
				continue
			}
			return nil
		case !ascii.Is(c, ascii.Token):
			return nil
		}
	}
	return nil
}

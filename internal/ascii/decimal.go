package ascii

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

// The reasons why a text is not a number.
var (
	ErrNoDigits   = errors.New("fasthttp: number has no digits")
	ErrNotDecimal = errors.New("fasthttp: number has other characters than decimal digits")
	ErrTooLarge   = errors.New("fasthttp: number is too large")
	ErrNegative   = errors.New("fasthttp: number is negative")
	ErrNoDecimal  = errors.New("fasthttp: number is not in decimal")
)

// Uint is ParseUint with an error. If b is not a number, it returns -1.
func Uint(b []byte) (int, error) {
	n, ok := ParseUint(b)
	switch {
	case ok:
		return n, nil
	case len(b) == 0:
		return -1, ErrNoDigits
	case All(b, Digit):
		return -1, ErrTooLarge
	}
	return -1, ErrNotDecimal
}

// Ufloat reads all of b as a decimal number, which may have a leading plus sign, a
// point and an exponent. With any error the number is -1.
func Ufloat(b []byte) (float64, error) {
	if f, ok := parseShortFloat(b); ok {
		return f, nil
	}
	for _, c := range b {
		if !Is(c, Digit) && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			return -1, ErrNoDecimal
		}
	}
	if len(b) > 0 && b[0] == '-' {
		return -1, ErrNegative
	}
	f, err := strconv.ParseFloat(bytesconv.String(b), 64)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, strconv.ErrRange):
		return -1, ErrTooLarge
	}
	return -1, ErrNoDecimal
}

// parseShortFloat reads the usual form of a number: a few digits, with or without a
// point. The digits without the point, and the power of ten that divides them, are
// whole numbers that a float64 holds exactly. So the quotient is the float64
// nearest to the written number.
func parseShortFloat(b []byte) (f float64, ok bool) {
	const maxDigits = 15
	if len(b) > maxDigits+1 {
		return 0, false
	}
	var n, digits int64
	divisor, point := int64(1), false
	for _, c := range b {
		switch {
		case Is(c, Digit):
			n = n*10 + int64(c-'0')
			digits++
			if point {
				divisor *= 10
			}
		case c == '.' && !point:
			point = true
		default:
			return 0, false
		}
	}
	return float64(n) / float64(divisor), digits > 0 && digits <= maxDigits
}

// octet is the text of a part of an address, and a dot.
type octet struct {
	text [len("255.")]byte
	size uint8
}

// octets holds all of them.
var octets = func() (t [256]octet) {
	for i := range t {
		t[i].size = uint8(copy(t[i].text[:], append(AppendUint(nil, i), '.')))
	}
	return t
}()

// AppendIPv4 appends an address in dotted decimal form.
func AppendIPv4(dst []byte, ip [4]byte) []byte {
	var text [4 * len("255.")]byte
	n := 0
	for _, part := range ip {
		o := &octets[part]
		copy(text[n:n+len(o.text)], o.text[:])
		n += int(o.size)
	}
	return append(dst, text[:n-1]...)
}

// ParseIPv4 reads all of b as an IPv4 address in dotted decimal form. Numbers have
// no leading zeros, which some software takes for octal.
func ParseIPv4(b []byte) (ip [4]byte, ok bool) {
	for i := range ip {
		end := len(b)
		if i < len(ip)-1 {
			if end = bytes.IndexByte(b, '.'); end < 0 {
				return ip, false
			}
		}
		n, ok := ParseUint(b[:end])
		if !ok || n > 255 || end > 1 && b[0] == '0' {
			return ip, false
		}
		ip[i] = byte(n)
		b = b[min(end+1, len(b)):]
	}
	return ip, true
}

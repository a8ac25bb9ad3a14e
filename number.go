package fasthttp

import (
	"errors"
	"strconv"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
)

var (
	errNoDigits   = errors.New("fasthttp: number has no digits")
	errNotDecimal = errors.New("fasthttp: number has other characters than decimal digits")
	errTooLarge   = errors.New("fasthttp: number is too large")
	errNegative   = errors.New("fasthttp: number is negative")
	errNoDecimal  = errors.New("fasthttp: number is not in decimal")
)

// AppendUint appends n in decimal to dst and returns the extended slice. It
// panics where n is negative.
func AppendUint(dst []byte, n int) []byte { return ascii.AppendUint(dst, n) }

// ParseUint reads all of buf as a number in decimal: digits only, at least
// one, and a value that an int holds. With any error the number is -1.
func ParseUint(buf []byte) (int, error) {
	n, ok := ascii.ParseUint(buf)
	switch {
	case ok:
		return n, nil
	case len(buf) == 0:
		return -1, errNoDigits
	case ascii.All(buf, ascii.Digit):
		return -1, errTooLarge
	}
	return -1, errNotDecimal
}

// ParseUfloat reads all of buf as a number in decimal, which may have a point
// and an exponent, as 1, 0.5, .5, 1. and 1e-3 have. A plus sign may come first.
// The hexadecimal form, Inf and NaN are no numbers here. With any error the
// result is -1.
func ParseUfloat(buf []byte) (float64, error) {
	if f, ok := parseShortFloat(buf); ok {
		return f, nil
	}
	for _, c := range buf {
		if !ascii.Is(c, ascii.Digit) && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			return -1, errNoDecimal
		}
	}
	if len(buf) > 0 && buf[0] == '-' {
		return -1, errNegative
	}
	f, err := strconv.ParseFloat(bytesconv.String(buf), 64)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, strconv.ErrRange):
		return -1, errTooLarge
	}
	return -1, errNoDecimal
}

// parseShortFloat reads what most numbers look like: a few digits, with a point
// or without. Both they without the point and the power of ten that they are
// divided by are whole numbers that a float64 holds exactly, so that the quotient
// is the float64 next to what was written.
func parseShortFloat(buf []byte) (f float64, ok bool) {
	const maxDigits = 15
	if len(buf) > maxDigits+1 {
		return 0, false
	}
	var n, digits int64
	divisor, point := int64(1), false
	for _, c := range buf {
		switch {
		case ascii.Is(c, ascii.Digit):
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

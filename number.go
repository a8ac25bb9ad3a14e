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

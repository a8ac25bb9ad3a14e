package uri

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrInvalid says that a text is no URI. The errors of malformed parts
// wrap it, but for BadEscape and BadHostByte.
var ErrInvalid = errors.New("fasthttp: invalid uri")

// What may be wrong with a URI.
var (
	ErrScheme  = fmt.Errorf("%w: malformed scheme", ErrInvalid)
	ErrUser    = fmt.Errorf("%w: malformed user information", ErrInvalid)
	ErrPort    = fmt.Errorf("%w: malformed port, or one over 65535", ErrInvalid)
	ErrAddress = fmt.Errorf("%w: malformed address in brackets", ErrInvalid)
)

// ErrNoHost says that nobody knows where a request is to go.
var ErrNoHost = errors.New("missing required host header in request")

// NotHTTP is the error of a URI that is for another protocol. Its text is the scheme.
type NotHTTP string

// Error implements error.
func (e NotHTTP) Error() string {
	return "unsupported protocol " + strconv.Quote(string(e)) + ". http and https are supported"
}

// BadEscape is the error of a host with a percent sign that begins no escape, or
// with an escape that must not stand in a host. Its text is what was found there.
type BadEscape string

// Error implements error.
func (e BadEscape) Error() string {
	return "fasthttp: invalid url escape " + strconv.Quote(string(e))
}

// BadHostByte is the error of a host with a character that must not stand there.
// Its text is that character.
type BadHostByte string

// Error implements error.
func (e BadHostByte) Error() string {
	return "fasthttp: invalid character " + strconv.Quote(string(e)) + " in host name"
}

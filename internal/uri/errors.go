package uri

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrInvalid means that a text is not a URI. The errors of malformed parts wrap it,
// except for BadEscape and BadHostByte.
var ErrInvalid = errors.New("fasthttp: invalid uri")

// The errors of a malformed URI.
var (
	ErrScheme  = fmt.Errorf("%w: malformed scheme", ErrInvalid)
	ErrUser    = fmt.Errorf("%w: malformed user information", ErrInvalid)
	ErrPort    = fmt.Errorf("%w: malformed port, or one over 65535", ErrInvalid)
	ErrAddress = fmt.Errorf("%w: malformed address in brackets", ErrInvalid)
)

// ErrNoHost means that a request has no host to go to.
var ErrNoHost = errors.New("missing required host header in request")

// NotHTTP is the error for a URI of another protocol. Its text is the scheme.
type NotHTTP string

// Error implements error.
func (e NotHTTP) Error() string {
	return "unsupported protocol " + strconv.Quote(string(e)) + ". http and https are supported"
}

// BadEscape is the error for a host with a percent sign that begins no escape, or
// with an escape that a host must not have. Its text is the offending part.
type BadEscape string

// Error implements error.
func (e BadEscape) Error() string {
	return "fasthttp: invalid url escape " + strconv.Quote(string(e))
}

// BadHostByte is the error for a host with an invalid character. Its text is the
// character.
type BadHostByte string

// Error implements error.
func (e BadHostByte) Error() string {
	return "fasthttp: invalid character " + strconv.Quote(string(e)) + " in host name"
}

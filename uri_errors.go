package fasthttp

import (
	"errors"
	"fmt"
	"strconv"
)

// ErrorInvalidURI says that a text is no URI. Errors of [URI.Parse] that say
// more wrap it, but for EscapeError and InvalidHostError.
var ErrorInvalidURI = errors.New("fasthttp: invalid uri")

var (
	errURIScheme  = fmt.Errorf("%w: malformed scheme", ErrorInvalidURI)
	errURIUser    = fmt.Errorf("%w: malformed user information", ErrorInvalidURI)
	errURIPort    = fmt.Errorf("%w: malformed port, or one over 65535", ErrorInvalidURI)
	errURIAddress = fmt.Errorf("%w: malformed address in brackets", ErrorInvalidURI)
)

// EscapeError says that a host holds a percent sign that begins no escape, or
// one that must not stand in a host. Its text is what was found there.
type EscapeError string

// Error implements error.
func (e EscapeError) Error() string {
	return "fasthttp: invalid url escape " + strconv.Quote(string(e))
}

// InvalidHostError says that a host holds a character that must not stand
// there. Its text is that character.
type InvalidHostError string

// Error implements error.
func (e InvalidHostError) Error() string {
	return "fasthttp: invalid character " + strconv.Quote(string(e)) + " in host name"
}

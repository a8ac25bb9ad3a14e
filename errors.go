package fasthttp

import (
	"errors"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/neterr"
)

// Errors in a message that was read. The errors of Read, ReadBody and similar methods
// wrap one of these if it fits.
var (
	ErrBadTrailer                    error = http1.ErrBadTrailer
	ErrReadingResponseHeaders              = errors.New("fasthttp: error when reading response headers")
	ErrReadingResponseTrailer              = errors.New("fasthttp: error when reading response trailer")
	ErrResponseFirstLineMissingSpace error = http1.ErrStatusLineSpace
	ErrUnexpectedStatusCodeChar      error = http1.ErrStatusCode
	ErrMissingRequestMethod          error = http1.ErrMissingMethod
	ErrUnsupportedRequestMethod      error = http1.ErrUnsupportedMethod
	ErrExtraWhitespaceInRequestLine  error = http1.ErrExtraWhitespace
	ErrEmptyRequestURI               error = http1.ErrEmptyTarget
	ErrDuplicateContentLength        error = http1.ErrDuplicateContentLength
	ErrUnsupportedTransferEncoding   error = http1.ErrUnsupportedCoding
	ErrNonNumericChars               error = http1.ErrNonNumeric
	ErrNeedMore                            = errors.New("fasthttp: need more data: cannot find trailing lf")
	ErrSmallReadBuffer                     = errors.New("fasthttp: small read buffer. increase readbuffersize")
)

// ErrBodyTooLarge is returned if a request or response body is larger than the limit
// that was set.
var ErrBodyTooLarge error = http1.ErrBodyTooLarge

// ErrNothingRead is the error of a connection that failed or timed out before the
// first byte of a message.
type ErrNothingRead struct {
	error
}

// Unwrap returns the cause.
func (e ErrNothingRead) Unwrap() error { return e.error }

// ErrSmallBuffer is the error of a start line or header section larger than its limit:
// Server.ReadBufferSize if set, otherwise 16 KiB for the request line and 64 KiB for
// the whole head. It is also the error of a head with more than 500 fields; its text
// contains "too many header fields" then.
type ErrSmallBuffer struct {
	error
}

// Unwrap returns the cause.
func (e *ErrSmallBuffer) Unwrap() error { return e.error }

// ErrBrokenChunk is the error of a body whose chunked coding is malformed.
type ErrBrokenChunk struct {
	error
}

// Unwrap returns the cause.
func (e ErrBrokenChunk) Unwrap() error { return e.error }

// ErrBodyStreamWritePanic is the error of a body stream that panicked while it was
// written. The message is then incomplete.
type ErrBodyStreamWritePanic struct {
	error
	stack string
}

// Unwrap returns the cause.
func (e *ErrBodyStreamWritePanic) Unwrap() error { return e.error }

// Stack returns the stack of the goroutine that panicked, as debug.Stack of package
// runtime/debug formats it.
func (e *ErrBodyStreamWritePanic) Stack() string { return e.stack }

func isTimeout(err error) bool { return neterr.IsTimeout(err) }

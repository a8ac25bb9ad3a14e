package fasthttp

import (
	"errors"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/neterr"
)

// What can be wrong with a message that is read. Errors of Read, ReadBody and
// their like wrap one of these where it fits.
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

// ErrBodyTooLarge is returned where a request or response body is larger than
// the limit that was given.
var ErrBodyTooLarge error = http1.ErrBodyTooLarge

// ErrNothingRead says that a connection failed or timed out before the first
// byte of a message.
type ErrNothingRead struct {
	error
}

// Unwrap returns the cause.
func (e ErrNothingRead) Unwrap() error { return e.error }

// ErrSmallBuffer says that a start line or header section is larger than its
// limit: Server.ReadBufferSize where that is set, else 16 KiB for the request
// line and 64 KiB for the whole head. A head with more than 500 fields is so, too;
// the text of the error says "too many header fields" then.
type ErrSmallBuffer struct {
	error
}

// Unwrap returns the cause.
func (e *ErrSmallBuffer) Unwrap() error { return e.error }

// ErrBrokenChunk says that the chunked coding of a body is malformed.
type ErrBrokenChunk struct {
	error
}

// Unwrap returns the cause.
func (e ErrBrokenChunk) Unwrap() error { return e.error }

// ErrBodyStreamWritePanic says that a body stream panicked while it was
// written. The message was cut off there.
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

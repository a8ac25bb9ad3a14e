package fasthttp

import (
	"errors"
	"fmt"
	"log"
	"os"
	"runtime/debug"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/netio"
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

func isTimeout(err error) bool { return netio.IsTimeout(err) }

// handlerPanic carries the panic of a handler, and the stack of its goroutine, to the
// goroutine that waits for the handler.
type handlerPanic struct {
	value any
	stack []byte
}

// passPanic returns the value to panic with in another goroutine. It returns an abort as it
// is: its stack is never logged, and a handler that calls this one may compare the value.
func passPanic(value any) any {
	if err, ok := value.(error); ok && isAbort(err) {
		return value
	}
	return &handlerPanic{value, debug.Stack()}
}

// Error returns the value of the panic and the stack that led to it.
func (p *handlerPanic) Error() string {
	return fmt.Sprintf("%v\n%s", p.value, p.stack)
}

// Unwrap returns the value of the panic if it is an error.
func (p *handlerPanic) Unwrap() error {
	err, _ := p.value.(error)
	return err
}

// abortHandler is the text of http.ErrAbortHandler, the usual value for a panic that
// should only close the connection. A comparison with the variable would link all of
// net/http into every server.
const abortHandler = "net/http: abort Handler"

// isAbort reports whether err is http.ErrAbortHandler or wraps it.
func isAbort(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if err.Error() == abortHandler {
			return true
		}
	}
	return false
}

// Logger is the interface for writing log lines.
type Logger interface {
	// Printf writes a line. It takes the arguments of fmt.Printf, and must be safe for
	// concurrent use.
	Printf(format string, args ...any)
}

var defaultLogger Logger = log.New(os.Stderr, "", log.LstdFlags)

package fasthttp

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/valyala/fasthttp/internal/engine"
)

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

// abortHandler is the text of http.ErrAbortHandler, the usual value for a panic that is
// only meant to close the connection. A comparison with the variable would link all of
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

// catchPanic is deferred around code of the application for which no client waits: a panic
// in it is logged.
func (s *Server) catchPanic(in string) {
	if p := recover(); p != nil {
		s.logger().Printf("fasthttp: panic in %s: %v\n%s", in, p, debug.Stack())
	}
}

// logPanic logs a panic of a handler or a hook while a connection was served, and reports
// true if it is only meant to abort the response: that is not logged. It is called while the
// panic is on the stack.
func (s *Server) logPanic(c *engine.Conn, p any) (aborts bool) {
	if err, ok := p.(error); ok && isAbort(err) {
		return true
	}
	s.logger().Printf("fasthttp: panic serving %s: %v\n%s", c.NC.RemoteAddr(), p, debug.Stack())
	return false
}

package fasthttp

import (
	"errors"
	"fmt"
	"runtime/debug"
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

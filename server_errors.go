package fasthttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"syscall"

	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// ErrGetOnly reports that a server with GetOnly received a request other than GET and
// HEAD.
var ErrGetOnly = errors.New("fasthttp: non-get request received")

// ErrRequestRefused is the error that Server.ErrorHandler gets for a request that was
// refused with RequestConfig.RefuseStatus.
var ErrRequestRefused = errors.New("fasthttp: the request was refused by its header")

// ErrQueueTime is the error of a request that was refused because it had waited for longer than
// Server.MaxQueueTime.
var ErrQueueTime error = http1.ErrQueueTime

// requestError returns the error of a head that cannot be read, of which text is the
// beginning.
func requestError(text []byte, err error) error {
	err = headerError("request", err)
	switch {
	case startsLikeTLS(text):
		err = fmt.Errorf("the client speaks tls to a server of plain http: %w", err)
	case bytes.HasPrefix(text, []byte("PRI * HTTP/2")):
		err = fmt.Errorf("the client speaks http/2, the server http/1.1 alone (see Server.Protocols): %w", err)
	}
	return err
}

// startsLikeTLS reports whether text begins like a TLS handshake: with the type of that record
// (RFC 8446 section 5.1). The bytes after it may not have arrived.
func startsLikeTLS(text []byte) bool { return len(text) > 0 && text[0] == 22 }

// errorResponse makes the response to a request that could not be read.
func (s *Server) errorResponse(ctx *RequestCtx, err error) {
	if s.ErrorHandler != nil {
		s.ErrorHandler(ctx, err)
	} else {
		defaultErrorResponse(ctx, err)
	}
	s.logRequestError(ctx, err)
}

func defaultErrorResponse(ctx *RequestCtx, err error) {
	if isTimeout(err) {
		ctx.Error("Request timeout", StatusRequestTimeout)
		return
	}
	switch code := http1.StatusOf(err); code {
	case StatusServiceUnavailable:
		ctx.Error(StatusMessage(code), code)
		ctx.Response.Header.Set(HeaderRetryAfter, bodyRetryAfter)
	case StatusBadRequest:
		ctx.Error("Error when parsing request", code)
	case StatusRequestHeaderFieldsTooLarge:
		text := "Too big request header"
		if errors.Is(err, http1.ErrManyFields) {
			text = "Too many header fields"
		}
		ctx.Error(text, code)
	default:
		ctx.Error(StatusMessage(code), code)
	}
}

// isCommon reports whether err is common on a public server.
func isCommon(err error) bool {
	if err == io.EOF {
		// most connections end with it
		return true
	}
	if _, ok := errors.AsType[h2Reset](err); ok {
		return true
	}
	return isTimeout(err) || errors.Is(err, errStreamConnEnded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// isCommonRead is isCommon for the error of a read from a client. For a client that has
// vanished, routers may report the error when the system probes the connection.
func isCommonRead(err error) bool {
	return isCommon(err) || errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH)
}

func (s *Server) logRequestError(ctx *RequestCtx, err error) {
	overloaded := err == ErrQueueTime || errors.Is(err, ErrRequestBodyMemory)
	if isCommonRead(err) && !s.LogAllErrors || overloaded && !s.mayLogRefusal() {
		return
	}
	s.logger().Printf("fasthttp: cannot read the request from %v: %v", ctx.RemoteAddr(), err)
}

func (s *Server) logReadError(c *engine.Conn, err error) {
	if isCommonRead(err) && !s.LogAllErrors {
		return
	}
	s.logger().Printf("fasthttp: cannot read from %v: %v", c.NC.RemoteAddr(), err)
}

func (s *Server) logWriteError(c *engine.Conn, err error) {
	// a short stream is not the fault of the client
	if isAbort(err) || isCommon(err) && !s.LogAllErrors && !errors.Is(err, errShortStream) {
		return
	}
	if panicked, ok := errors.AsType[*ErrBodyStreamWritePanic](err); ok {
		s.logger().Printf("fasthttp: cannot write the response to %v: %v\n%s", c.NC.RemoteAddr(), err, panicked.Stack())
		return
	}
	s.logger().Printf("fasthttp: cannot write the response to %v: %v", c.NC.RemoteAddr(), err)
}

// logBadName logs that a field of a response is not sent because its name is not a
// token. It logs once, to explain the missing field: each response of a handler may
// have one.
func (s *Server) logBadName(list *field.List) {
	if !s.LogAllErrors || s.badNameLogged.Load() {
		return
	}
	for i := range list.Entries {
		if list.Entries[i].Flags&field.BadName != 0 && s.badNameLogged.CompareAndSwap(false, true) {
			s.logger().Printf("fasthttp: the response field %q is not sent, since its name is no token; this is logged once", list.Name(i))
		}
	}
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

package fasthttp

import (
	"context"
	"errors"

	"github.com/valyala/fasthttp/internal/uri"
)

// The errors of client calls, besides errors of the network and of the messages.
var (
	// ErrNoFreeConns reports that a host has the maximum number of connections, and
	// that none of them became free within MaxConnWaitTimeout.
	ErrNoFreeConns = errors.New("fasthttp: no free connections available to host")

	// ErrConnectionClosed reports that the server closed the connection when the
	// response was due, before its first byte, and that the request could not be sent
	// again: the client cannot know whether the server has processed it. A server that
	// announces the close with "Connection: close" keeps its clients from sending
	// requests that it will not read.
	ErrConnectionClosed = errors.New("fasthttp: the server closed connection before returning the first response byte. " +
		"make sure the server returns 'connection: close' response header before closing the connection")

	// ErrConnPoolStrategyNotImpl reports that ConnPoolStrategy is neither LIFO nor
	// FIFO.
	ErrConnPoolStrategyNotImpl = errors.New("fasthttp: connection pool strategy is not implement")

	// ErrMissingLocation reports that a redirect has no usable Location field.
	ErrMissingLocation = errors.New("fasthttp: missing location header for http redirect")

	// ErrTooManyRedirects reports that a call was redirected more often than its caller
	// allows.
	ErrTooManyRedirects = errors.New("fasthttp: too many redirects detected when doing the request")

	// ErrRedirectBodyStream reports that a redirect requires the same body again, but
	// the body was a stream, which has been read.
	ErrRedirectBodyStream = errors.New("fasthttp: cannot follow a body-preserving redirect for a request with a body stream")

	// ErrHostClientRedirectToDifferentScheme reports that a request, or a redirect,
	// asks a HostClient for https although it speaks http, or the other way round: the
	// scheme of the URI does not match IsTLS. It may occur without any redirect.
	ErrHostClientRedirectToDifferentScheme = errors.New("fasthttp: hostclient can't follow redirects to a different protocol," +
		" please use client instead")
)

// ErrTimeout reports that the time for a call was up before the response arrived. It is
// a net.Error, and errors.Is reports that it is context.DeadlineExceeded.
var ErrTimeout = &timeoutError{}

type timeoutError struct{}

func (*timeoutError) Error() string { return "fasthttp: timeout" }

// Timeout implements net.Error.
func (*timeoutError) Timeout() bool { return true }

// Temporary implements net.Error.
func (*timeoutError) Temporary() bool { return true }

// Is reports whether target is context.DeadlineExceeded.
func (*timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// ErrTLSHandshakeTimeout reports that the TLS handshake of a new connection took longer
// than the call had time, or than 10 seconds if the call has no deadline. It is a
// net.Error, and errors.Is reports that it is ErrTimeout.
var ErrTLSHandshakeTimeout error = &handshakeTimeoutError{}

type handshakeTimeoutError struct{ timeoutError }

func (*handshakeTimeoutError) Error() string { return "fasthttp: tls handshake timed out" }

// Is reports that the error is any of the timeout errors.
func (*handshakeTimeoutError) Is(target error) bool {
	return target == error(ErrTimeout) || target == context.DeadlineExceeded
}

// errUnsupportedScheme returns the error of a URI that is not for HTTP.
func errUnsupportedScheme(scheme []byte) error { return uri.NotHTTP(scheme) }

package fasthttpproxy

import (
	"errors"
	"fmt"
	"net"

	"github.com/valyala/fasthttp"
)

// The errors of a ReverseProxy. Each of them wraps the cause.
var (
	// ErrBadGateway reports that there is no valid response of the server.
	ErrBadGateway = errors.New("fasthttpproxy: no valid response of the server")
	// ErrGatewayTimeout reports that the server has not responded in time.
	ErrGatewayTimeout = errors.New("fasthttpproxy: the server has not responded in time")
	// ErrUnavailable reports that an LBClient has no server for the request now, or that all
	// connections of the Client stayed busy: the cause is fasthttp.ErrNoAvailableClients or
	// fasthttp.ErrNoFreeConns. A server that refuses connections is an ErrBadGateway.
	ErrUnavailable = errors.New("fasthttpproxy: no server is available")
	// ErrRequestBody reports that the body of the request could not be read from the client.
	ErrRequestBody = errors.New("fasthttpproxy: the body of the request cannot be read")
	// ErrClientLeft reports that the client has ended the connection before the response.
	ErrClientLeft = errors.New("fasthttpproxy: the client has left")
)

// statusClientLeft is the status of a request whose client has left, for logs.
const statusClientLeft = 499

// diagnose returns the error of an exchange whose call has failed with err, and its status.
func (x *proxyExchange) diagnose(err error) (int, error) {
	var status int
	var kind error
	switch bodyErr := x.body.failure(); {
	case x.left.Load():
		status, kind = statusClientLeft, ErrClientLeft
	case bodyErr != nil:
		status, kind, err = statusOfBody(bodyErr), ErrRequestBody, bodyErr
	case errors.Is(err, fasthttp.ErrNoFreeConns), errors.Is(err, fasthttp.ErrNoAvailableClients):
		status, kind = fasthttp.StatusServiceUnavailable, ErrUnavailable
	case isTimeout(err):
		status, kind = fasthttp.StatusGatewayTimeout, ErrGatewayTimeout
	default:
		status, kind = fasthttp.StatusBadGateway, ErrBadGateway
	}
	return status, fmt.Errorf("%w: %w", kind, err)
}

// statusOfBody returns the status for a body that could not be read because of err.
func statusOfBody(err error) int {
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return fasthttp.StatusRequestEntityTooLarge
	case isTimeout(err):
		return fasthttp.StatusRequestTimeout
	}
	return fasthttp.StatusBadRequest
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

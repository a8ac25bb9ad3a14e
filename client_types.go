package fasthttp

import (
	"time"

	"github.com/valyala/fasthttp/internal/http1"
)

// The defaults of Client and HostClient.
const (
	// DefaultMaxConnsPerHost is how many connections a client opens to one host
	// unless MaxConnsPerHost or MaxConns says otherwise.
	DefaultMaxConnsPerHost = 512

	// DefaultMaxIdleConnDuration is how long a connection may be unused before
	// it is closed, unless MaxIdleConnDuration says otherwise.
	DefaultMaxIdleConnDuration = 10 * time.Second

	// DefaultMaxIdemponentCallAttempts is how often a request that may be
	// repeated is sent, unless MaxIdemponentCallAttempts says otherwise.
	DefaultMaxIdemponentCallAttempts = 5
)

// responseLimits returns the limits for the heads of responses, given the
// ReadBufferSize of a client. Where that is set, it alone is the limit: there may
// be as many fields as it has room for.
func responseLimits(readBufferSize int) http1.Limits {
	if readBufferSize <= 0 {
		return http1.Limits{}
	}
	return headLimits(readBufferSize)
}

// RetryIfFunc reports whether a request that failed may be sent again.
type RetryIfFunc func(request *Request) bool

// RetryIfErrFunc tells what is to be done after attempt number attempts to do
// the request, counted from 1, has failed with err: whether to try again, and
// whether the next attempt gets as much time as the call was given to begin
// with, instead of what is left of it.
//
// err is io.EOF where the server closed the connection in the place of a
// response. The function is not asked where the last of the attempts that
// MaxIdemponentCallAttempts allows has failed, nor where no other attempt could
// end differently: the request cannot be sent as it is, its body was a stream
// that has been read, the response is too large, or the context has ended.
type RetryIfErrFunc func(request *Request, attempts int, err error) (resetTimeout bool, retry bool)

// RetryIfErrUpstreamFunc is a RetryIfErrFunc that is told which address the
// attempt was for, as "host:port"; upstream is empty where none was chosen yet.
type RetryIfErrUpstreamFunc func(request *Request, attempts int, err error, upstream string) (resetTimeout bool, retry bool)

// ConnPoolStrategyType says which of several idle connections is used next.
type ConnPoolStrategyType int

const (
	// FIFO uses the connection next that has been idle for longest. All of them
	// stay in use, and the requests spread over what is behind a load balancer.
	FIFO ConnPoolStrategyType = iota
	// LIFO uses the connection next that was used last. Those that are not
	// needed any more get old and are closed.
	LIFO
)

package fasthttp

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptrace"
	"time"

	"github.com/valyala/fasthttp/internal/hostmap"
	"github.com/valyala/fasthttp/internal/http1"
)

// Client sends requests to any host. It has a HostClient for each, which is created
// for the first request to the host and dropped when the host was not used for a
// while.
//
// The zero value is ready for use. The fields must not be changed after the first
// call. A Client must not be copied. Its methods may be called concurrently; a
// program usually has one Client.
//
// A call runs on the goroutine of its caller from beginning to end, except that
// another goroutine sends body streams and content that does not fit one write, while
// the call watches for the response. When it returns, request and response belong to
// the caller again, whatever the error.
//
// A body stream of a request is closed before the call returns, whatever the error.
// If the response is read as a stream, the body stream of the request may be read and
// closed later, while the response is read.
type Client struct {
	_ noCopy

	// Transport does the single attempts of a call. The default is
	// DefaultTransport, as it is when the attempt begins.
	Transport RoundTripper

	// DialTimeout connects to an address within the time that is left of the call, or
	// 0 if the call has no deadline. Without it and Dial, the package's own dialer is
	// used, which remembers the addresses of names for a minute.
	DialTimeout DialFuncWithTimeout

	// Dial connects to an address. It does not get the time that is left: a call
	// whose time is up does not wait for it, and a connection that comes too late is
	// kept for another call. DialTimeout takes precedence over it.
	Dial DialFunc

	// DialContext connects to an address, with the context of the call and its
	// deadline, as net.Dialer.DialContext does: network is "tcp", and the end of the
	// context has no effect on an established connection. It takes precedence over
	// DialTimeout and Dial.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// TLSConfig is the configuration for https. The default verifies hosts by
	// the roots of the system.
	TLSConfig *tls.Config

	// RetryIf reports whether a request that failed may be sent again. It is called
	// whatever the error is, unless there was no connection. By default a request may
	// be sent again if its method is GET, HEAD, PUT, OPTIONS, TRACE or QUERY, its
	// connection failed before the first byte of a response, and the time is not up.
	//
	// Deprecated: use RetryIfErr, which takes precedence over it.
	RetryIf RetryIfFunc

	// RetryIfErr decides what happens after a failed attempt, as long as there were
	// fewer than MaxIdemponentCallAttempts. RetryWithBackoff returns such a function.
	RetryIfErr RetryIfErrFunc

	// RetryIfErrUpstream is a RetryIfErr that also gets the address. It takes
	// precedence over RetryIfErr.
	RetryIfErrUpstream RetryIfErrUpstreamFunc

	// ConfigureClient changes the HostClient of a host before its first use.
	// An error makes the call fail that needed it.
	ConfigureClient func(hc *HostClient) error

	// Name is the User-Agent of requests that have none, "fasthttp" by default.
	Name string

	// MaxConnsPerHost is how many connections there may be to a host,
	// DefaultMaxConnsPerHost by default.
	MaxConnsPerHost int

	// MaxIdleConnDuration is how long an unused connection is kept,
	// DefaultMaxIdleConnDuration by default.
	MaxIdleConnDuration time.Duration

	// MaxConnDuration is how long a connection is used after it was established. A
	// connection that is older is closed after its response. By default there is no
	// limit.
	MaxConnDuration time.Duration

	// MaxIdemponentCallAttempts is how often a request is sent at most,
	// DefaultMaxIdemponentCallAttempts by default. A request that never reached
	// the host, since the connection had been closed before, was not sent.
	MaxIdemponentCallAttempts int

	// ReadBufferSize is the size in bytes of the buffers for reading, 4096 by
	// default. If it is set it also limits the head of responses, which is
	// limited to 64 KiB and 500 fields otherwise.
	ReadBufferSize int

	// WriteBufferSize is the size in bytes of the buffers for writing, 4096 by
	// default.
	WriteBufferSize int

	// ReadTimeout limits how long a response may take, from when the request
	// was written to the last byte, also if that is read from a stream. By
	// default there is no limit but that of the call.
	ReadTimeout time.Duration

	// ResponseHeaderTimeout limits how long the head of a response may take, from
	// when the request was written: the error is ErrTimeout then. The body has the
	// time that ReadTimeout and the call leave it. By default there is no limit but
	// those.
	ResponseHeaderTimeout time.Duration

	// TLSHandshakeTimeout limits how long a TLS handshake may take: the error is
	// ErrTLSHandshakeTimeout then. It is ten seconds by default.
	TLSHandshakeTimeout time.Duration

	// WriteTimeout limits how long the writing of a request may take. By
	// default there is no limit but that of the call.
	WriteTimeout time.Duration

	// ExpectContinueTimeout is how long the server is given to react to
	// "Expect: 100-continue" in a request with content, before that is sent all
	// the same: a second by default. If the server sends its response instead
	// of asking for the content, nothing of that is sent, the call returns the
	// response, whatever its status, and the connection is closed. With HTTP/2 the
	// connection stays, and a response of success that has begun, and goes on, asks for the
	// content as well. A request without that field is sent in one go.
	ExpectContinueTimeout time.Duration

	// MaxResponseBodySize limits the body of responses in bytes: a larger one
	// makes the call fail with ErrBodyTooLarge. With 0 or less there is no
	// limit, so set it for servers that are not trusted. A body that is left
	// to be read as a stream is not limited.
	MaxResponseBodySize int

	// MaxConnWaitTimeout limits how long a call waits for a connection while
	// MaxConnsPerHost of them are busy: it fails with ErrNoFreeConns then. By
	// default calls wait as long as they have time, in the order in which they
	// came.
	MaxConnWaitTimeout time.Duration

	// ConnPoolStrategy says which of several idle connections is used next,
	// FIFO by default.
	ConnPoolStrategy ConnPoolStrategyType

	// NoDefaultUserAgentHeader leaves User-Agent out of requests that have none.
	NoDefaultUserAgentHeader bool

	// DialDualStack has no effect: the package's own dialer uses IPv6 as well as
	// IPv4, whichever answers first. Set Dial to the function Dial for IPv4 alone.
	DialDualStack bool

	// DisableHeaderNamesNormalizing leaves the names of header fields as they
	// are set and received, instead of bringing them into their usual case.
	DisableHeaderNamesNormalizing bool

	// DisablePathNormalizing leaves the paths of requests as they were set,
	// instead of removing dot segments and the like.
	DisablePathNormalizing bool

	// StreamResponseBody makes Do and its like return as soon as the head of the
	// response has arrived. Response.BodyStream reads the body and returns its
	// errors; it must be closed. Deadlines stay in force until it ends. Get and Post
	// read all of it.
	StreamResponseBody bool

	// Protocols is the versions of HTTP that the client speaks: HTTP/1.1 alone by default.
	// For https, client and server agree on one of them in the handshake, on HTTP/2 if
	// both speak it. For http the client speaks HTTP/2 if UnencryptedHTTP2 is in the set
	// and HTTP1 is not; the servers must be known to speak it. Otherwise it speaks HTTP/1.1
	// for http, whatever the set is. A connection of HTTP/2 serves many calls at a time, as
	// many as the server permits; another one is opened when there is no room on those that
	// are open.
	Protocols Protocols

	// HTTP2 configures HTTP/2, as HostClient.HTTP2 says.
	HTTP2 HTTP2Config

	// Trace has the hooks that calls run, unless the context of a call carries a
	// trace of its own.
	Trace *httptrace.ClientTrace

	// CheckRedirect is called before each redirect. See RedirectPolicy.
	CheckRedirect RedirectPolicy

	// Jar keeps cookies: those that fit are added to each request, and those
	// that responses set are put into it.
	Jar CookieJar

	hosts hostmap.Hosts[*HostClient]
}

// Do sends req to the host that its URI names, or else its Host field, and fills
// resp with the response. Redirects are not followed.
//
// resp may be nil if the response does not matter. Both are best taken from
// AcquireRequest and AcquireResponse.
//
// The call has the time that Request.SetTimeout gave to req; its error is
// ErrTimeout when that is over. It waits for its turn while all connections to
// the host are busy: see MaxConnWaitTimeout.
func (c *Client) Do(req *Request, resp *Response) error {
	return c.call(noContext, req, resp, time.Time{})
}

// DoTimeout is Do with a timeout, which counts beside that of the request. With
// one that is not positive it returns ErrTimeout at once.
func (c *Client) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	if timeout <= 0 {
		return req.refused(ErrTimeout)
	}
	return c.call(noContext, req, resp, time.Now().Add(timeout))
}

// DoDeadline is Do with a point in time when it returns ErrTimeout at the
// latest. A zero deadline is none.
func (c *Client) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.call(noContext, req, resp, deadline)
}

func (c *Client) call(ctx context.Context, req *Request, resp *Response, deadline time.Time) error {
	if err := req.parseTarget(); err != nil {
		return req.refused(err)
	}
	uri := &req.uri
	if !uri.text.IsHTTP() {
		return req.refused(errUnsupportedScheme(uri.Scheme()))
	}
	host := uri.Host()
	if len(host) == 0 {
		return req.refused(req.noHost())
	}
	hc, err := c.hostClient(host, uri.text.IsHTTPS())
	if err != nil {
		return req.refused(err)
	}
	defer hc.pending.Leave()
	return hc.callCounted(ctx, req, resp, deadline)
}

// CloseIdleConnections closes all connections that no call uses.
func (c *Client) CloseIdleConnections() {
	for _, hc := range c.hosts.All() {
		hc.CloseIdleConnections()
	}
}

// ConnsCount returns how many connections there are to all hosts, those that are
// being established included.
func (c *Client) ConnsCount() (n int) {
	for _, hc := range c.hosts.All() {
		n += hc.ConnsCount()
	}
	return n
}

// IdleConnsCount returns how many connections to all hosts are idle.
func (c *Client) IdleConnsCount() (n int) {
	for _, hc := range c.hosts.All() {
		n += hc.IdleConnsCount()
	}
	return n
}

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
// ReadBufferSize of a client. If that is set, it alone is the limit: there may
// be as many fields as it has room for.
func responseLimits(readBufferSize int) http1.Limits {
	if readBufferSize <= 0 {
		return http1.Limits{}
	}
	return headLimits(readBufferSize)
}

// RetryIfFunc reports whether a request that failed may be sent again.
type RetryIfFunc func(request *Request) bool

// RetryIfErrFunc decides what to do after an attempt at the request has failed with
// err; attempts is its number, counted from 1. retry reports whether to try again,
// and resetTimeout whether the next attempt gets the whole timeout of the call again,
// instead of the time that is left.
//
// err is io.EOF if the server closed the connection in the place of a response, and
// wraps it if a GOAWAY frame of HTTP/2 said why. The function is not called if the last
// of the attempts that MaxIdemponentCallAttempts allows has failed, nor if no other
// attempt could end differently: the request cannot be sent as it is, its body was a
// stream that has been read, the response is too large, or the context has ended.
type RetryIfErrFunc func(request *Request, attempts int, err error) (resetTimeout bool, retry bool)

// RetryIfErrUpstreamFunc is a RetryIfErrFunc that also gets the address of the
// attempt, as "host:port"; upstream is empty if none was chosen yet.
type RetryIfErrUpstreamFunc func(request *Request, attempts int, err error, upstream string) (resetTimeout bool, retry bool)

// ConnPoolStrategyType says which of several idle connections is used next.
type ConnPoolStrategyType int

const (
	// FIFO uses the connection next that has been idle for longest. All of them stay
	// in use, and the requests spread over the servers behind a load balancer.
	FIFO ConnPoolStrategyType = iota
	// LIFO uses the connection next that was used last. Those that are not
	// needed any more get old and are closed.
	LIFO
)

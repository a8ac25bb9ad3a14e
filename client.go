package fasthttp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/hostmap"
	"github.com/valyala/fasthttp/internal/uri"
)

// Client sends requests to any host. It has a HostClient for each, which is created for
// the first request to the host and dropped when the host was unused for a while.
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

	// Transport performs a single attempt of a call. Nil means DefaultTransport, which
	// is read when the attempt begins.
	Transport RoundTripper

	// DialTimeout connects to an address within the remaining time of the call, which
	// is 0 if the call has no deadline. If it and Dial are nil, the package's own
	// dialer is used, which caches the addresses of names for a minute.
	DialTimeout DialFuncWithTimeout

	// Dial connects to an address. It does not get the remaining time: a call whose
	// time is up stops waiting for it, and a connection established too late is kept
	// for another call. DialTimeout takes precedence over it.
	Dial DialFunc

	// DialContext connects to an address, with the context of the call and its
	// deadline, as net.Dialer.DialContext does: network is "tcp", and the end of the
	// context has no effect on an established connection. It takes precedence over
	// DialTimeout and Dial.
	DialContext func(ctx context.Context, network, addr string) (net.Conn, error)

	// TLSConfig is the configuration for https. The default verifies hosts against the
	// root certificates of the system.
	TLSConfig *tls.Config

	// RetryIf reports whether a request that failed may be sent again. It is called for
	// every error, unless there was no connection. By default a request may be sent
	// again if its method is GET, HEAD, PUT, OPTIONS, TRACE or QUERY, its connection
	// failed before the first byte of a response, and the time is not up.
	//
	// Deprecated: use RetryIfErr, which takes precedence over it.
	RetryIf RetryIfFunc

	// RetryIfErr decides what happens after a failed attempt, while there were fewer
	// than MaxIdemponentCallAttempts. RetryWithBackoff returns such a function.
	RetryIfErr RetryIfErrFunc

	// RetryIfErrUpstream is a RetryIfErr that also gets the address. It takes
	// precedence over RetryIfErr.
	RetryIfErrUpstream RetryIfErrUpstreamFunc

	// ConfigureClient changes the HostClient of a host before its first use. If it
	// returns an error, the call that needed the HostClient fails.
	ConfigureClient func(hc *HostClient) error

	// Name is the User-Agent of requests that have none, "fasthttp" by default.
	Name string

	// MaxConnsPerHost is the maximum number of connections to a host,
	// DefaultMaxConnsPerHost by default.
	MaxConnsPerHost int

	// MaxIdleConnDuration is how long an unused connection is kept,
	// DefaultMaxIdleConnDuration by default.
	MaxIdleConnDuration time.Duration

	// MaxConnDuration is how long a connection is used after it was established. An
	// older connection is closed after its response. By default there is no limit.
	MaxConnDuration time.Duration

	// MaxIdemponentCallAttempts is the maximum number of times that a request is sent,
	// DefaultMaxIdemponentCallAttempts by default. An attempt that never reached the
	// host, because the connection had been closed before, does not count.
	MaxIdemponentCallAttempts int

	// MaxRetryAfter makes calls follow the field Retry-After of responses with the status 429
	// or 503 (RFC 9110 section 10.2.3), if the wait that it asks for is at most MaxRetryAfter.
	// The call waits as long, and sends the request again, up to MaxIdemponentCallAttempts
	// times in all. It returns the response instead if the request may not be repeated, since
	// its method is not GET, HEAD, PUT, OPTIONS, TRACE or QUERY, or since its body is a stream
	// without Request.GetBody, and if the time of the call would be over before the wait. The
	// end of the context ends the wait. By default, and if it is not positive, all such
	// responses are returned.
	MaxRetryAfter time.Duration

	// ReadBufferSize is the size in bytes of the buffers for reading, 4096 by default.
	// If it is set, it also limits the head of a response, instead of the usual limit
	// of 64 KiB and 500 fields.
	ReadBufferSize int

	// WriteBufferSize is the size in bytes of the buffers for writing, 4096 by
	// default.
	WriteBufferSize int

	// ReadTimeout limits the time from the end of writing the request to the last byte
	// of the response, even if the response is read from a stream. By default only the
	// time limit of the call applies.
	ReadTimeout time.Duration

	// Timeout limits the time of a whole call: with redirects, retries and waits, until the
	// body of the response was read, also if it is read as a stream. The error is ErrTimeout
	// then. The sooner of it, the timeout of the request (Request.SetTimeout), the time given
	// to the call (DoTimeout, DoDeadline, a context), and the limits of its parts, such as
	// ReadTimeout, applies. Only a RetryIfErr that returns resetTimeout begins it anew. 0 means
	// no limit.
	Timeout time.Duration

	// ResponseHeaderTimeout limits the time from the end of writing the request to the
	// end of the response head: the error is ErrTimeout then. The body has the time
	// that ReadTimeout and the call leave it. By default only these limits apply.
	ResponseHeaderTimeout time.Duration

	// TLSHandshakeTimeout limits how long a TLS handshake may take: the error is
	// ErrTLSHandshakeTimeout then. It is ten seconds by default.
	TLSHandshakeTimeout time.Duration

	// WriteTimeout limits how long the writing of a request may take. By default only
	// the time limit of the call applies.
	WriteTimeout time.Duration

	// ExpectContinueTimeout is how long the client waits for the server to react to
	// "Expect: 100-continue" before it sends the content anyway: a second by default. If
	// the server responds instead of asking for the content, no content is sent, the call
	// returns the response, whatever its status, and the connection is closed. With HTTP/2
	// the connection stays open, and a successful response that has begun but not ended
	// asks for the content as well. A request without that field is sent in one go.
	ExpectContinueTimeout time.Duration

	// MaxResponseBodySize limits the body of a response in bytes: if the body is
	// larger, the call fails with ErrBodyTooLarge. 0 or less means no limit, so set it
	// for untrusted servers. A body that the caller reads as a stream is not limited.
	MaxResponseBodySize int

	// MaxConnWaitTimeout limits how long a call waits for a connection while
	// MaxConnsPerHost of them are busy; after that it fails with ErrNoFreeConns. By
	// default calls wait until their own time is up, in the order in which they began.
	MaxConnWaitTimeout time.Duration

	// ConnPoolStrategy selects which of several idle connections is used next, FIFO by
	// default.
	ConnPoolStrategy ConnPoolStrategyType

	// NoDefaultUserAgentHeader leaves User-Agent out of requests that have none.
	NoDefaultUserAgentHeader bool

	// DialDualStack has no effect: the package's own dialer uses IPv6 as well as
	// IPv4, whichever answers first. Set Dial to the function Dial for IPv4 alone.
	DialDualStack bool

	// DisableHeaderNamesNormalizing leaves the names of header fields as they
	// are set and received, instead of bringing them into their usual case.
	DisableHeaderNamesNormalizing bool

	// DisablePathNormalizing leaves the paths of requests as they were set, for example
	// with their dot segments.
	DisablePathNormalizing bool

	// StreamResponseBody makes Do and its variants return as soon as the head of the
	// response has arrived. Response.BodyStream reads the body and returns its errors;
	// it must be closed. Deadlines stay in force until it ends. Get and Post read all
	// of it.
	StreamResponseBody bool

	// Protocols lists the versions of HTTP that the client speaks: HTTP/1.1 alone by
	// default. For https, client and server negotiate one of them in the handshake: HTTP/2
	// if both speak it. For http the client speaks HTTP/2 if UnencryptedHTTP2 is in the set
	// and HTTP1 is not; the servers must be known to speak it. Otherwise it speaks HTTP/1.1
	// for http, whatever the set is. An HTTP/2 connection serves many calls at once, as
	// many as the server permits; another connection is opened when the open ones have no
	// room.
	Protocols Protocols

	// HTTP2 configures HTTP/2; see HostClient.HTTP2.
	HTTP2 HTTP2Config

	// Trace holds the hooks that calls run, unless the context of a call carries its
	// own trace.
	Trace *httptrace.ClientTrace

	// CheckRedirect is called before each redirect. See RedirectPolicy.
	CheckRedirect RedirectPolicy

	// Jar stores cookies: matching cookies are added to each request, and cookies that
	// responses set are stored in it.
	Jar CookieJar

	hosts hostmap.Hosts[*HostClient]
}

// Do sends req to the host that its URI names, or else its Host field, and fills
// resp with the response. Redirects are not followed.
//
// resp may be nil if the response does not matter. Both are best taken from
// AcquireRequest and AcquireResponse.
//
// The timeout that Request.SetTimeout gave to req applies: the error is ErrTimeout when
// it is over. Do waits for its turn while all connections to the host are busy: see
// MaxConnWaitTimeout.
func (c *Client) Do(req *Request, resp *Response) error {
	return c.call(noContext, req, resp, time.Time{})
}

// DoTimeout is like Do with a timeout; the shorter of it and the timeout of the request
// applies. If timeout is not positive, it returns ErrTimeout at once.
func (c *Client) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	if timeout <= 0 {
		return req.refused(ErrTimeout)
	}
	return c.call(noContext, req, resp, time.Now().Add(timeout))
}

// DoDeadline is like Do with a deadline, at which it returns ErrTimeout at the latest.
// A zero deadline means none.
func (c *Client) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	return c.call(noContext, req, resp, deadline)
}

func (c *Client) call(ctx context.Context, req *Request, resp *Response, deadline time.Time) error {
	if err := req.parseTarget(); err != nil {
		return req.refusedURI(resp, err)
	}
	uri := &req.uri
	if !uri.text.IsHTTP() {
		return req.refused(errUnsupportedScheme(uri.Scheme()))
	}
	host := uri.Host()
	if len(host) == 0 {
		return req.refusedURI(resp, req.noHost())
	}
	hc, err := c.hostClient(host, uri.text.IsHTTPS())
	if err != nil {
		return req.refused(err)
	}
	return hc.callCounted(ctx, req, resp, deadline)
}

// CloseIdleConnections closes all connections that no call uses.
func (c *Client) CloseIdleConnections() {
	for _, hc := range c.hosts.All() {
		hc.CloseIdleConnections()
	}
}

// ConnsCount returns the number of connections to all hosts, including connections that
// are being established.
func (c *Client) ConnsCount() (n int) {
	for _, hc := range c.hosts.All() {
		n += hc.ConnsCount()
	}
	return n
}

// IdleConnsCount returns the number of idle connections to all hosts.
func (c *Client) IdleConnsCount() (n int) {
	for _, hc := range c.hosts.All() {
		n += hc.IdleConnsCount()
	}
	return n
}

// The defaults of Client and HostClient.
const (
	// DefaultMaxConnsPerHost is how many connections a client opens to one host unless
	// MaxConnsPerHost or MaxConns is set.
	DefaultMaxConnsPerHost = 512

	// DefaultMaxIdleConnDuration is how long a connection may be unused before it is
	// closed, unless MaxIdleConnDuration is set.
	DefaultMaxIdleConnDuration = 10 * time.Second

	// DefaultMaxIdemponentCallAttempts is the maximum number of times that a repeatable
	// request is sent, unless MaxIdemponentCallAttempts is set.
	DefaultMaxIdemponentCallAttempts = 5
)

// RetryIfFunc reports whether a request that failed may be sent again.
type RetryIfFunc func(request *Request) bool

// RetryIfErrFunc decides what to do after an attempt at the request has failed with
// err; attempts is its number, counted from 1. retry reports whether to try again, and
// resetTimeout whether the next attempt gets the whole timeout of the call again,
// instead of the remaining time.
//
// err is io.EOF if the server closed the connection instead of sending a response, and
// wraps it if an HTTP/2 GOAWAY frame gave the reason. The function is not called after
// the last attempt that MaxIdemponentCallAttempts allows, nor if no other attempt could
// end differently: the request cannot be sent as it is, its body was a stream that has
// been read, the response is too large, or the context has ended.
type RetryIfErrFunc func(request *Request, attempts int, err error) (resetTimeout bool, retry bool)

// RetryIfErrUpstreamFunc is a RetryIfErrFunc that also gets the address of the
// attempt, as "host:port"; upstream is empty if none was chosen yet.
type RetryIfErrUpstreamFunc func(request *Request, attempts int, err error, upstream string) (resetTimeout bool, retry bool)

// ConnPoolStrategyType selects which of several idle connections is used next.
type ConnPoolStrategyType int

const (
	// FIFO uses the connection that has been idle for longest. All connections stay in
	// use, and the requests spread over the servers behind a load balancer.
	FIFO ConnPoolStrategyType = iota
	// LIFO uses the connection that was used last. Connections that are no longer
	// needed get old and are closed.
	LIFO
)

// hostClient returns the client for a host, with one more call pending: as long
// as there is one, it is not dropped.
func (c *Client) hostClient(host []byte, isTLS bool) (*HostClient, error) {
	if hc, ok := c.hosts.Find(host, isTLS); ok {
		return hc, nil
	}
	return c.addHost(string(host), isTLS)
}

// addHost is hostClient for the first call to a host. "a" and "a:80" are the same
// host.
func (c *Client) addHost(host string, isTLS bool) (*HostClient, error) {
	name, err := asciiHost(host)
	if err != nil {
		return nil, err
	}
	addr := AddMissingPort(name, isTLS)
	if strings.ContainsAny(addr, ", ") {
		// it would be a list of addresses
		return nil, errBadHost
	}
	return c.hosts.Add(host, addr, isTLS, func() (h hostmap.Host[*HostClient], err error) {
		hc := c.newHostClient(addr, isTLS)
		if c.ConfigureClient != nil {
			err = c.ConfigureClient(hc)
		}
		return hostmap.Host[*HostClient]{Value: hc, Users: &hc.pending, Unused: hc.unused}, err
	})
}

var errBadHost = errors.New("fasthttp: the host of the request is no host")

func (c *Client) newHostClient(addr string, isTLS bool) *HostClient {
	return &HostClient{
		Addr:                          addr,
		IsTLS:                         isTLS,
		Transport:                     c.Transport,
		Dial:                          c.Dial,
		DialTimeout:                   c.DialTimeout,
		DialContext:                   c.DialContext,
		DialDualStack:                 c.DialDualStack,
		TLSConfig:                     c.TLSConfig,
		Name:                          c.Name,
		NoDefaultUserAgentHeader:      c.NoDefaultUserAgentHeader,
		MaxConns:                      c.MaxConnsPerHost,
		MaxConnDuration:               c.MaxConnDuration,
		MaxIdleConnDuration:           c.MaxIdleConnDuration,
		MaxConnWaitTimeout:            c.MaxConnWaitTimeout,
		MaxIdemponentCallAttempts:     c.MaxIdemponentCallAttempts,
		ConnPoolStrategy:              c.ConnPoolStrategy,
		ReadBufferSize:                c.ReadBufferSize,
		WriteBufferSize:               c.WriteBufferSize,
		Timeout:                       c.Timeout,
		MaxRetryAfter:                 c.MaxRetryAfter,
		ReadTimeout:                   c.ReadTimeout,
		ResponseHeaderTimeout:         c.ResponseHeaderTimeout,
		TLSHandshakeTimeout:           c.TLSHandshakeTimeout,
		WriteTimeout:                  c.WriteTimeout,
		ExpectContinueTimeout:         c.ExpectContinueTimeout,
		MaxResponseBodySize:           c.MaxResponseBodySize,
		StreamResponseBody:            c.StreamResponseBody,
		DisableHeaderNamesNormalizing: c.DisableHeaderNamesNormalizing,
		DisablePathNormalizing:        c.DisablePathNormalizing,
		RetryIf:                       c.RetryIf,
		RetryIfErr:                    c.RetryIfErr,
		RetryIfErrUpstream:            c.RetryIfErrUpstream,
		Protocols:                     c.Protocols,
		HTTP2:                         c.HTTP2,
		Trace:                         c.Trace,
		CheckRedirect:                 c.CheckRedirect,
		Jar:                           c.Jar,
	}
}

// unused reports whether a Client may drop c if there is no call.
func (c *HostClient) unused() bool {
	return c.ConnsCount() == 0 && time.Since(c.LastUseTime()) >= hostmap.SweepInterval
}

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

// A call reports what it does to the httptrace.ClientTrace in the Trace field of its
// client, or to the one that httptrace.WithClientTrace has put into its context. The
// hooks are called on the goroutine of the call, except for the hooks of the dialer.
// WroteHeaderField is never called.

func traceGetConn(call *callState, addr string) {
	if t := call.trace; t != nil && t.GetConn != nil {
		t.GetConn(addr)
	}
}

// traceGotConn reports a connection, which has been idle since a time on the clock
// unless since is zero.
func traceGotConn(call *callState, conn net.Conn, since time.Duration) {
	t := call.trace
	if t == nil || t.GotConn == nil {
		return
	}
	info := httptrace.GotConnInfo{Conn: conn, Reused: since != 0, WasIdle: since != 0}
	if info.WasIdle {
		info.IdleTime = max(time.Since(clock.At(since)), 0)
	}
	t.GotConn(info)
}

// tracedWrite is how much of a request was reported as written.
type tracedWrite uint8

const (
	wroteNothing tracedWrite = iota
	wroteHeaders
	wroteRequest
)

// traceWrote reports that the request was written up to a point, unless that was
// reported before.
func (x *clientExchange) traceWrote(upTo tracedWrite, err error) {
	if t := x.call.trace; t != nil && x.traced < upTo {
		x.traced.report(t, upTo, err)
	}
}

// report reports to a trace that the request was written up to a point.
func (w *tracedWrite) report(t *httptrace.ClientTrace, upTo tracedWrite, err error) {
	before := *w
	*w = upTo
	if err != nil {
		*w = wroteRequest
	}
	if before < wroteHeaders && err == nil && t.WroteHeaders != nil {
		t.WroteHeaders()
	}
	if *w == wroteRequest && t.WroteRequest != nil {
		t.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	}
}

// traceSent reports how far a bodySender has written, on the goroutine of the call.
func (x *clientExchange) traceSent() {
	if x.sender != nil && x.call.trace != nil {
		x.reportSent()
	}
}

// reportSent is traceSent for a traced call.
func (x *clientExchange) reportSent() {
	if ended, err := x.sender.Ended(); ended {
		x.traceWrote(wroteRequest, err)
		return
	}
	x.traceWrote(wroteHeaders, nil)
}

// informed reports a 1xx response to the trace and to the hook of the request. An error of either
// ends the call.
func (c *callState) informed(req *Request, h *ResponseHeader) error {
	if c.trace != nil {
		if err := traceInformational(c.trace, h); err != nil {
			return err
		}
	}
	if req.OnInform != nil {
		return req.OnInform(h)
	}
	return nil
}

// traceInformational reports a 1xx response. An error of the hook ends the call.
func traceInformational(t *httptrace.ClientTrace, h *ResponseHeader) error {
	if h.StatusCode() == StatusContinue && t.Got100Continue != nil {
		t.Got100Continue()
	}
	if t.Got1xxResponse == nil {
		return nil
	}
	fields := make(textproto.MIMEHeader)
	for name, value := range h.All() {
		fields.Add(string(name), string(value))
	}
	return t.Got1xxResponse(h.StatusCode(), fields)
}

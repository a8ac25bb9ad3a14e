package fasthttp

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/connpool"
	"github.com/valyala/fasthttp/internal/hostmap"
	"github.com/valyala/fasthttp/internal/http2client"
	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/patience"
	"golang.org/x/sys/cpu"
)

// HostClient sends requests to one host, or to several equivalent ones. It keeps
// connections open between requests, and shares them among all goroutines that call
// it.
//
// The zero value with an Addr is ready for use. The fields must not be changed
// after the first call, except for MaxConns by SetMaxConns. A HostClient must
// not be copied.
//
// A call runs on the goroutine of its caller from beginning to end, except that
// another goroutine sends body streams and content that does not fit one write, while
// the call watches for the response. When it returns, request and response belong to
// the caller again, whatever the error.
type HostClient struct {
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

	// TLSConfig is the configuration for TLS. The default verifies the host against the
	// root certificates of the system. If it has no ServerName, the host in Addr is
	// used; if it has no session cache, the HostClient uses its own to resume sessions.
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

	// Addr is the address of the host, or a comma-separated list of them that are
	// dialed in turn; if one cannot be reached the next is tried. Each has its share of the
	// time of the call, except with Dial. A missing port means 443 with IsTLS and 80
	// without. Dial and DialTimeout get the addresses as they are written here, without a
	// default port, so they may be paths of Unix sockets.
	Addr string

	// Name is the User-Agent of requests that have none, "fasthttp" by default.
	Name string

	// MaxConns is the maximum number of connections to all of Addr together,
	// DefaultMaxConnsPerHost by default. SetMaxConns changes it later.
	MaxConns int

	// MaxConnDuration is how long a connection is used after it was established. An
	// older connection is closed after its response. By default there is no limit.
	MaxConnDuration time.Duration

	// MaxIdleConnDuration is how long an unused connection is kept,
	// DefaultMaxIdleConnDuration by default.
	MaxIdleConnDuration time.Duration

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

	// MaxConnWaitTimeout limits how long a call waits for a connection while MaxConns
	// of them are busy; after that it fails with ErrNoFreeConns. By default calls wait
	// until their own time is up, in the order in which they began.
	MaxConnWaitTimeout time.Duration

	// ConnPoolStrategy selects which of several idle connections is used next, FIFO by
	// default.
	ConnPoolStrategy ConnPoolStrategyType

	// NoDefaultUserAgentHeader leaves User-Agent out of requests that have none.
	NoDefaultUserAgentHeader bool

	// DialDualStack has no effect: the package's own dialer uses IPv6 as well as
	// IPv4, whichever answers first. Set Dial to the function Dial for IPv4 alone.
	DialDualStack bool

	// IsTLS makes connections use TLS.
	IsTLS bool

	// Protocols lists the versions of HTTP that the client speaks: HTTP/1.1 alone by
	// default. With TLS, client and server negotiate one of them in the handshake: HTTP/2
	// if both speak it. Without TLS the client speaks HTTP/2 if UnencryptedHTTP2 is in the
	// set and HTTP1 is not; the server must be known to speak it. Otherwise it speaks
	// HTTP/1.1 without TLS, whatever the set is. An HTTP/2 connection serves many calls at
	// once, as many as the server permits; another connection is opened when the open ones
	// have no room. AcquireConn, and requests to an HTTP proxy in absolute form, are for
	// HTTP/1.1 only. So are requests with Upgrade, such as the ones of WebSocket, if the response
	// may be a stream, by which its caller uses the connection: if the set has HTTP1, they have
	// HTTP/1.1 connections of their own, which count for MaxConns. If there are MaxConns already,
	// an HTTP/2 connection is closed for such a call, as soon as no other call uses it.
	Protocols Protocols

	// HTTP2 configures HTTP/2. The defaults of MaxReceiveBufferPerStream and
	// MaxReceiveBufferPerConnection are 1 MiB and 1 GiB, so that slowly read responses do
	// not block others; MaxConcurrentStreams has no meaning for a client.
	HTTP2 HTTP2Config

	// AbsoluteForm makes the targets of requests absolute URIs. It is for connections
	// to an HTTP proxy, to which Addr or the dial function leads (RFC 9112 section
	// 3.2.2). It has no effect with IsTLS: requests over TLS go through a tunnel. A host set
	// by URI.SetHost that would end early there, such as "a/b", is an InvalidHostError. See
	// fasthttpproxy.Dialer.ConfigureClient.
	AbsoluteForm bool

	// ProxyAuthorization is the Proxy-Authorization field of these requests if they
	// have none. It is not stored in the requests themselves.
	ProxyAuthorization string

	// DisableHeaderNamesNormalizing leaves the names of header fields as they
	// are set and received, instead of bringing them into their usual case.
	DisableHeaderNamesNormalizing bool

	// DisablePathNormalizing leaves the paths of requests as they were set, for example
	// with their dot segments.
	DisablePathNormalizing bool

	// SecureErrorLogMessage has no effect: the texts of errors never contain text
	// from a peer.
	SecureErrorLogMessage bool

	// StreamResponseBody makes Do and its variants return as soon as the head of the
	// response has arrived. Response.BodyStream reads the body and returns its errors;
	// it must be closed. Deadlines stay in force until it ends. Get and Post read all
	// of it.
	StreamResponseBody bool

	// Trace holds the hooks that calls run, unless the context of a call carries its
	// own trace.
	Trace *httptrace.ClientTrace

	// CheckRedirect is called before each redirect. See RedirectPolicy.
	CheckRedirect RedirectPolicy

	// Jar stores cookies: matching cookies are added to each request, and cookies that
	// responses set are stored in it.
	Jar CookieJar

	pool    connpool.Pool[*clientConn]
	pending hostmap.Users
	lastUse atomic.Int64     // when the last call began, on the clock; 0 before the first one
	_       cpu.CacheLinePad // every call writes the fields before it, and reads the fields after it

	setup    sync.Once
	mu       lockorder.Mutex[lockorder.HostClient] // of MaxConns
	broken   error                                 // the error in the fields
	addrs    []string
	nextAddr atomic.Uint32
	tls      clientconn.TLSConfigs
	proxy    *proxyForm          // as AbsoluteForm wants it
	h2       *http2client.Config // nil unless connections may speak HTTP/2

	readers, writers sync.Pool
	h2Calls          sync.Pool
	timers           timers
}

// ready prepares c for its first call.
func (c *HostClient) ready() error {
	c.setup.Do(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pool.Max = c.maxConns()
		c.pool.OldestFirst = c.ConnPoolStrategy == FIFO
		c.pool.MaxIdle = c.maxIdle()
		c.pool.Reserve = func(cc *clientConn) bool { return cc.protocol.reserve() }
		if c.AbsoluteForm && !c.IsTLS {
			c.proxy = &proxyForm{c.ProxyAuthorization}
		}
		c.prepareHTTP2()
		c.addrs = c.splitAddrs()
		if !c.dialsItself() {
			for i, addr := range c.addrs {
				// an address without a valid host cannot be dialed as it is
				c.addrs[i], _ = asciiHost(addr)
			}
		}
		if c.ConnPoolStrategy != FIFO && c.ConnPoolStrategy != LIFO {
			c.broken = ErrConnPoolStrategyNotImpl
		}
	})
	return c.broken
}

// dialsItself reports whether the application has a dial function of its own.
func (c *HostClient) dialsItself() bool {
	return c.DialContext != nil || c.DialTimeout != nil || c.Dial != nil
}

// tlsTimeout returns how long a TLS handshake may take.
func (c *HostClient) tlsTimeout() time.Duration {
	if c.TLSHandshakeTimeout <= 0 {
		return patience.Handshake
	}
	return c.TLSHandshakeTimeout
}

// dialContext connects to addr with dial, before the time by unless it is zero, with the context and
// the trace of a call.
func (c *HostClient) dialContext(call *callState, by time.Time, addr string, dial dialContextFunc) (net.Conn, error) {
	ctx := call.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	if trace := call.trace; trace != nil && httptrace.ContextClientTrace(ctx) == nil {
		ctx = httptrace.WithClientTrace(ctx, trace)
	}
	if !by.IsZero() {
		limited, cancel := context.WithDeadline(ctx, by)
		defer cancel()
		ctx = limited
	}
	return dial(ctx, "tcp", addr)
}

type dialContextFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

func (c *HostClient) maxConns() int {
	if c.MaxConns <= 0 {
		return DefaultMaxConnsPerHost
	}
	return c.MaxConns
}

func (c *HostClient) maxIdle() time.Duration {
	if c.MaxIdleConnDuration <= 0 {
		return DefaultMaxIdleConnDuration
	}
	return c.MaxIdleConnDuration
}

func (c *HostClient) maxAttempts() int {
	if c.MaxIdemponentCallAttempts <= 0 {
		return DefaultMaxIdemponentCallAttempts
	}
	return c.MaxIdemponentCallAttempts
}

const defaultClientBuffer = 4 << 10

func (c *HostClient) readSize() int {
	if c.ReadBufferSize <= 0 {
		return defaultClientBuffer
	}
	return c.ReadBufferSize
}

func (c *HostClient) writeSize() int {
	if c.WriteBufferSize <= 0 {
		return defaultClientBuffer
	}
	return c.WriteBufferSize
}

// SetMaxConns changes MaxConns, at any time. If the limit rises, waiting calls continue
// as far as it allows. If it falls, excess connections are closed as they become idle.
// 0 or less means DefaultMaxConnsPerHost.
func (c *HostClient) SetMaxConns(newMaxConns int) {
	c.mu.Lock()
	c.MaxConns = newMaxConns
	n := c.maxConns()
	c.mu.Unlock()
	_ = c.ready()
	c.pool.SetMax(n)
}

// ConnsCount returns the number of connections, including connections that are being
// established.
func (c *HostClient) ConnsCount() int { return c.pool.Open() }

// IdleConnsCount returns the number of idle connections.
func (c *HostClient) IdleConnsCount() int { return c.pool.Idle() }

// PendingRequests returns the number of calls in progress, including calls that wait
// for a connection.
func (c *HostClient) PendingRequests() int { return c.pending.Count() }

// LastUseTime returns when the last call began, within a few hundredths of a
// second; without any call it is the zero time.
func (c *HostClient) LastUseTime() time.Time {
	last := c.lastUse.Load()
	if last == 0 {
		return time.Time{}
	}
	return clock.At(time.Duration(last))
}

// CloseIdleConnections closes all connections that no call uses.
func (c *HostClient) CloseIdleConnections() { c.pool.CloseIdle() }

// AcquireConn returns a connection for the caller alone: an idle one, or a new one.
// reqTimeout, if it is not 0, limits the whole of waiting, dialing and the TLS
// handshake. connectionClose means that the connection will not be reused, which
// has no effect here. The error is ErrTimeout if the time is over, ErrNoFreeConns if no
// connection became free within MaxConnWaitTimeout, or else the error of dialing.
//
// A client that may speak HTTP/2 returns an error, because its connections are shared.
//
// After reading the response, the caller returns the connection with ReleaseConn if it
// may be reused, and with CloseConn otherwise.
func (c *HostClient) AcquireConn(reqTimeout time.Duration, connectionClose bool) (cc *clientConn, err error) {
	if err := c.ready(); err != nil {
		return nil, err
	}
	if c.h2 != nil {
		return nil, errAcquireHTTP2
	}
	call := callState{trace: c.Trace, purpose: callAcquires}
	if reqTimeout > 0 {
		call.deadline = time.Now().Add(reqTimeout)
	}
	cc, since, err := c.acquire(&call)
	if err != nil {
		return nil, err
	}
	taken := false
	defer func() {
		if !taken {
			// a hook of the application has panicked
			c.CloseConn(cc)
		}
	}()
	if cc.hasResponded {
		cc.history.lastUse = clock.At(since).Sub(cc.history.created)
	}
	traceGotConn(&call, cc.line.Net, since)
	if err = cc.line.Guard.Limit(time.Time{}, time.Time{}); err != nil {
		return nil, err
	}
	taken = true
	return cc, nil
}

var errAcquireHTTP2 = errors.New("fasthttp: AcquireConn is for HTTP/1.1 only: see HostClient.Protocols")

// ReleaseConn makes a connection available to other calls. It removes deadlines that
// were set on the connection.
func (c *HostClient) ReleaseConn(cc *clientConn) {
	if cc.line.Guard.Renew() != nil {
		c.CloseConn(cc)
		return
	}
	c.keepConn(cc)
}

// keepConn is ReleaseConn for a connection whose deadlines only the guard has set.
func (c *HostClient) keepConn(cc *clientConn) {
	if c.MaxConnDuration > 0 && time.Since(cc.history.created) >= c.MaxConnDuration {
		c.CloseConn(cc)
		return
	}
	cc.hasResponded = true
	cc.line.Recv.Release()
	c.pool.Put(cc, clock.Elapsed())
}

// CloseConn closes a connection from AcquireConn.
func (c *HostClient) CloseConn(cc *clientConn) {
	c.pool.Discard(cc)
}

// AcquireReader returns a buffered reader of conn, with a buffer of
// ReadBufferSize.
func (c *HostClient) AcquireReader(conn net.Conn) *bufio.Reader {
	if r, ok := c.readers.Get().(*bufio.Reader); ok {
		r.Reset(conn)
		return r
	}
	return bufio.NewReaderSize(conn, c.readSize())
}

// ReleaseReader takes a reader from AcquireReader back.
func (c *HostClient) ReleaseReader(br *bufio.Reader) {
	br.Reset(nil)
	c.readers.Put(br)
}

// AcquireWriter returns a buffered writer to conn, with a buffer of
// WriteBufferSize.
func (c *HostClient) AcquireWriter(conn net.Conn) *bufio.Writer {
	if w, ok := c.writers.Get().(*bufio.Writer); ok {
		w.Reset(conn)
		return w
	}
	return bufio.NewWriterSize(conn, c.writeSize())
}

// ReleaseWriter takes back a writer of AcquireWriter. Bytes that were not flushed are
// lost.
func (c *HostClient) ReleaseWriter(bw *bufio.Writer) {
	bw.Reset(nil)
	c.writers.Put(bw)
}

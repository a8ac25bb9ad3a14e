package fasthttp

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bodymem"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/peers"
	"github.com/valyala/fasthttp/internal/tickets"
	"github.com/valyala/fasthttp/internal/watch"
)

// DefaultConcurrency is how many connections a Server serves at a time if
// Server.Concurrency is not set.
const DefaultConcurrency = 256 * 1024

// DefaultMaxRequestBodySize is the size in bytes up to which a Server reads request
// bodies if Server.MaxRequestBodySize is not set.
const DefaultMaxRequestBodySize = 4 * 1024 * 1024

const defaultServerName = "fasthttp"

// Server is an HTTP server. Set Handler, and call ListenAndServe or Serve.
//
// The defaults are made for most uses, but timeouts are not set: a server that
// strangers can reach needs ReadTimeout, WriteTimeout and IdleTimeout. Fields
// must not be changed once the server is in use, and a Server must not be
// copied. Its methods may be called from any goroutine.
type Server struct {
	_ noCopy

	// Logger gets the errors of the server and the messages of RequestCtx.Logger. By
	// default they go to the standard error output.
	Logger Logger

	// Handler answers the requests. If it panics, the panic is logged, the client
	// gets a 500, and the connection is closed; if the value is http.ErrAbortHandler,
	// the connection is closed without a log entry or a response.
	Handler RequestHandler

	// ErrorHandler makes the response to a request that could not be read. By default
	// it is a short text with the status that fits: 400, 408, 413, 414, 417, 431,
	// 501, 503 or 505. The connection is closed after it. Among the errors are
	// ErrGetOnly, ErrBodyTooLarge, ErrRequestBodyMemory, *ErrSmallBuffer,
	// ErrBrokenChunk and those that wrap io.ErrUnexpectedEOF. ctx has only the part
	// of the request that was read.
	//
	// The response is an empty 200 when it is called, so it must set the status: 413 for
	// ErrBodyTooLarge, 503 for ErrRequestBodyMemory, 431 for *ErrSmallBuffer, 408 for a
	// net.Error whose Timeout is true, and 400 otherwise. If HeaderReceived has refused
	// the request, which is ErrRequestRefused, the status is set already, and stays.
	ErrorHandler func(ctx *RequestCtx, err error)

	// HeaderReceived is called when the header of a request was read. The fields of
	// its result that are not zero take precedence over the settings of the server
	// for this request. It may refuse the request before its body is read.
	HeaderReceived func(header *RequestHeader) RequestConfig

	// ContinueHandler decides whether a client that sent "Expect: 100-continue" is to
	// send the body. If it returns false, the request is refused with 417 and the
	// connection is closed. By default all requests are accepted.
	ContinueHandler func(header *RequestHeader) bool

	// ExpectHandler is like ContinueHandler, but returns the status: 100 lets the
	// client go on, any other one refuses the request. It must not change
	// ctx.Response. It takes precedence over ContinueHandler.
	ExpectHandler func(ctx *RequestCtx) int

	// AcceptTrailer reports whether a field of the trailer section behind the body of
	// a request is kept. It is called with the name of each such field, which is
	// valid until it returns. If it returns false, the field is dropped, as RFC 9110
	// section 6.5.1 allows. If it is nil, all are kept but those that must not be in
	// a trailer section (see RequestHeader.SetTrailer), which are refused with 400 in
	// any case. It must be safe for use by many goroutines.
	//
	// A service behind a front end should accept only the trailers that it uses:
	// front ends pass trailers on without checking them.
	AcceptTrailer func(name []byte) bool

	// ResponseSent is called after each response, and reports how sending it went:
	// for access logs and metrics. It is called for the responses of handlers,
	// streams and hijacked connections included (before the HijackHandler), for those
	// to refused requests, and for those to refused connections, such as connections
	// over Concurrency. It is called with the status 0 if there was no response,
	// because a handler panicked with http.ErrAbortHandler or ended its goroutine, a hook
	// panicked, or HijackSetNoResponse was called.
	//
	// It runs as part of handling the request, before the next request of the
	// connection: pipelined responses are written one by one. Several connections may
	// call it at a time. ctx is valid until it returns, and changing it has no
	// effect. If the request was refused, ctx has only the part of it that was read;
	// after a TimeoutError method it has only the response. A panic is logged.
	ResponseSent func(ctx *RequestCtx, sent SentResponse)

	// ConnState is called when a connection changes its state; see the states.
	ConnState func(net.Conn, ConnState)

	// FormValueFunc looks up the values of RequestCtx.FormValue, which documents the
	// default. NetHttpFormValueFunc is another choice.
	FormValueFunc FormValueFunc

	// TLSConfig is the TLS configuration, to which AppendCert, AppendCertEmbed
	// and NextProto add. ServeTLS, ServeTLSEmbed, ListenAndServeTLS and
	// ListenAndServeTLSEmbed use a copy of it that each of them makes when it is
	// called, so that calling methods such as SetSessionTicketKeys afterwards
	// has no effect: give Serve a listener of crypto/tls for that.
	TLSConfig *tls.Config

	// Name is sent in the Server field, unless the response has one. The
	// default is "fasthttp".
	Name string

	// Concurrency is how many connections are served at a time; DefaultConcurrency if
	// it is 0. More are answered with 503 and closed. A connection of HTTP/2 counts once,
	// and may have as many handlers at a time as HTTP2.MaxConcurrentStreams says.
	Concurrency int

	// ReadBufferSize is the size of the buffer for reading a connection, in bytes,
	// and the limit of a request's header. If it is 0, buffers begin at 4 KiB and
	// headers may have 64 KiB, of which 16 KiB for the request line. A connection on an
	// event loop whose requests come faster than they are read has a buffer of 16 KiB
	// meanwhile, if that is more.
	ReadBufferSize int

	// WriteBufferSize is the size of the buffer for responses, in bytes, 4 KiB if it
	// is 0.
	WriteBufferSize int

	// ReadTimeout is how long a request may take to arrive, its body included, from
	// its first byte on; for the first request of a connection, from when the
	// connection was accepted. 0 stands for no limit. A TLS handshake may take as
	// long, or 10 seconds if there is no limit, and the time for the first request
	// begins after it.
	ReadTimeout time.Duration

	// WriteTimeout is how long a client may take to receive a response, from
	// when the handler has returned. 0 stands for no limit. It counts for all of
	// a response, a body stream included: a stream that goes on for long, such
	// as one of events, needs a longer one, which HeaderReceived may give.
	WriteTimeout time.Duration

	// IdleTimeout is how long a connection may wait for its next request; ReadTimeout
	// if it is 0. If only IdleTimeout is set, it is also how long a connection may
	// wait for its first one.
	IdleTimeout time.Duration

	// ReadHeaderTimeout is how long the head of a request may take to arrive, from
	// the same moment on as ReadTimeout, which ends it too if it is shorter. 0 stands
	// for ReadTimeout alone. It is also how long the preface of a connection of HTTP/2
	// may take (RFC 9113 section 3.4), though at most 10 seconds.
	ReadHeaderTimeout time.Duration

	// MinRequestBodyRate is how many bytes of a request body a client has to send in
	// a second. A slower client gets a 408, and its connection is closed, once it has
	// used up MinRequestBodyRateGrace: waiting takes from that time, and bytes that
	// come add the time that they may take at this rate, though never beyond the
	// initial amount. So the connection of a client that sends nothing is closed
	// after that time in any case. The time that a handler takes to read a stream
	// does not count. 0 stands for no limit. It does not apply to HTTP/2.
	MinRequestBodyRate int

	// MinRequestBodyRateGrace is how much time a client may lose by sending a body at
	// less than MinRequestBodyRate; 5 seconds if it is 0.
	MinRequestBodyRateGrace time.Duration

	// MaxConnsPerIP limits the connections from one IP address, of IPv6 from one
	// network of 64 bits, except for link-local addresses. More are answered with 429
	// and closed. 0 stands for no limit. With ProxyProtocol it is the address of the
	// client that counts.
	MaxConnsPerIP int

	// MaxRequestsPerConn limits the requests of one connection: the response
	// to the last of them has "Connection: close". 0 stands for no limit. With HTTP/2 the
	// server says that it takes no more, and answers those that are on their way.
	MaxRequestsPerConn int

	// MaxKeepaliveDuration does nothing.
	//
	// Deprecated: use IdleTimeout.
	MaxKeepaliveDuration time.Duration

	// MaxIdleWorkerDuration is how long a goroutine that served a connection waits
	// for another one before it ends; 10 seconds if it is 0.
	MaxIdleWorkerDuration time.Duration

	// TCPKeepalivePeriod is, if TCPKeepalive is set, the time of silence after which the
	// operating system probes whether the peer of a connection is still there, and the
	// time between two probes, in whole seconds; 15 seconds if it is 0. Less than 0 stands
	// for no probes, whatever TCPKeepalive says: a server with a million idle connections
	// would else have little time for anything but answers to probes. It should have an
	// IdleTimeout then, since the connections of peers that have vanished would stay.
	TCPKeepalivePeriod time.Duration

	// MaxRequestBodySize limits the body of a request in bytes;
	// DefaultMaxRequestBodySize if it is 0 or less. Requests with more are refused
	// with 413. It also limits the decoded size of a body with content codings: see
	// Request.BodyUncompressed and Request.MultipartForm.
	MaxRequestBodySize int

	// MaxRequestBodyMemory limits the memory of the bodies of all requests together,
	// in bytes, from when they arrive until the response was made. 0 stands for half
	// of the runtime's memory limit (GOMEMLIMIT), or 1 GiB if there is none, but not
	// for less than twice MaxRequestBodySize; less than 0 stands for no limit.
	//
	// It counts the capacity of buffers over 16 KiB, which may be twice the size of
	// their bodies. A multipart form that is parsed while it arrives counts as 4 MiB,
	// though its values may take 10 MiB more. Streams are not counted, nor are copies
	// that a handler makes of a body. Garbage that was not collected yet is not
	// counted either; if the garbage and the bodies together exceed the limit,
	// garbage is collected before more memory is taken.
	//
	// If there is no room for more, the server ends requests whose bodies have
	// stalled, which are those that got less than 4 KiB in the last second; the
	// longest stalled first. If there are none, the request that needs the room is
	// refused. Either gets 503 with Retry-After, and ErrorHandler gets
	// ErrRequestBodyMemory. A body that alone would take more than the limit is
	// refused with 413: set a higher limit if HeaderReceived allows such bodies.
	MaxRequestBodyMemory int

	// SleepWhenConcurrencyLimitsExceeded is how long the server waits before
	// it accepts the next connection when it serves Concurrency of them.
	SleepWhenConcurrencyLimitsExceeded time.Duration

	// DisableKeepalive closes every connection after its first response.
	DisableKeepalive bool

	// TCPKeepalive makes TCPKeepalivePeriod count. The operating system probes whether the
	// peers of silent connections are still there without it as well, after 15 seconds:
	// that is the default of package net. A listener with another setting keeps it only if
	// a goroutine serves each of its connections (EnginePortable).
	TCPKeepalive bool

	// ReduceMemoryUsage does nothing: an idle connection holds no buffers in
	// any case.
	ReduceMemoryUsage bool

	// LazyRequestTime makes RequestCtx.Time the time of its first call, instead of
	// that at which the request came. The server may have to read the clock for that.
	LazyRequestTime bool

	// GetOnly refuses all requests but GET and HEAD.
	GetOnly bool

	// DisablePreParseMultipartForm keeps all bodies in memory, as they were received.
	// Otherwise a body of type multipart/form-data that has more than 4 MiB, which
	// MaxRequestBodySize must allow, is parsed while it arrives, so that large files
	// go to the disk: the request is refused with 400 if that fails, and
	// RequestCtx.PostBody returns what WriteMultipartForm makes of the form. Smaller
	// ones are in any case parsed on first use, as are all with StreamRequestBody.
	DisablePreParseMultipartForm bool

	// LogAllErrors also logs errors that are common on a public server: connections
	// that are reset, cut off, or time out. It also logs, once, that a field of a
	// response is not sent because its name is no token.
	LogAllErrors bool

	// SecureErrorLogMessage has no effect: the errors that a server logs never
	// contain text from a client.
	SecureErrorLogMessage bool

	// DisableHeaderNamesNormalizing keeps field names as they are received and
	// set, instead of "content-type" becoming "Content-Type".
	DisableHeaderNamesNormalizing bool

	// NoDefaultServerHeader sends a Server field only if the response has one.
	NoDefaultServerHeader bool

	// NoDefaultDate leaves out the Date field.
	NoDefaultDate bool

	// NoDefaultContentType sends a Content-Type field only if the response has one.
	NoDefaultContentType bool

	// KeepHijackedConns leaves closing a hijacked connection to the application.
	KeepHijackedConns bool

	// CloseOnShutdown keeps connections from being hijacked once the server
	// shuts down. Responses have "Connection: close" from then on in any case.
	CloseOnShutdown bool

	// StreamRequestBody makes the server call the handler as soon as the header of a
	// request was read; RequestCtx.RequestBodyStream is the body as it arrives.
	// MaxRequestBodySize does not limit it; see RequestCtx.LimitRequestBody.
	// RequestConfig.BodyMode overrides it for one request.
	StreamRequestBody bool

	// CancelOnDisconnect makes RequestCtx.Done and RequestCtx.Err report when the
	// client goes away, for all requests; see RequestCtx.WatchDisconnect. It costs
	// nothing if a handler calls neither.
	CancelOnDisconnect bool

	// TrustedProxies says which proxies in front of the server are trusted to name
	// the client of a request. By default none is.
	TrustedProxies TrustedProxies

	// ProxyProtocol, if it is set, has the server read the header that proxies such
	// as HAProxy put in front of connections, and says which proxies those are.
	ProxyProtocol *ProxyProtocol

	// Engine says how connections are served; EngineAuto by default. The environment
	// variable FASTHTTP_ENGINE takes precedence over it.
	Engine Engine

	// Protocols says which versions of HTTP the server speaks. The zero value is HTTP/1
	// alone. With HTTP/2, ServeTLS and its like offer that to clients; so does a listener
	// of crypto/tls that is given to Serve, if its NextProtos have "h2". With unencrypted
	// HTTP/2, a connection without TLS speaks it that begins with its preface, on the same
	// port as HTTP/1. A handler that NextProto has set for "h2" takes precedence. It must
	// be set before the server is started.
	//
	// The handler is the same; RequestCtx.IsHTTP2 tells it. A connection has many requests
	// at a time, so what ends it in HTTP/1 ends the request alone here: a panic, a
	// deadline, a body that is too large. docs/migrating.md has the differences.
	Protocols Protocols

	// HTTP2 configures HTTP/2, if Protocols has it.
	HTTP2 HTTP2Config

	once  sync.Once
	start headPrefix
	name  string // the field Server of responses, or empty
	ctxs  sync.Pool
	runs  sync.Pool // of timedRun
	bare  bool      // it is that of contexts without one
	// rested has the h1Conns, with contexts, of connections that wait without them
	rested sync.Pool
	// keepers is how many connections keep a context while they wait
	keepers atomic.Int32
	log     Logger
	set     settings // the values that follow from the fields above

	serving  atomic.Uint32 // connections that are being served
	rejected atomic.Uint32
	timed    atomic.Int64 // handlers that run with a timeout, late ones included
	// refusedAt is the second in which it was last logged that a connection
	// was refused, or a body for which there was no memory
	refusedAt atomic.Int64
	refusals  atomic.Int32 // connections that get such a response at the moment
	// badNameLogged says that it was logged that a field of a response is not sent
	badNameLogged atomic.Bool

	nextProtos map[string]ServeHandler
	tickets    *tickets.Keys // of its TLS listeners; nil before the first one

	trust       *proxyTrust // of TrustedProxies
	headerPeers peers.Set   // of ProxyProtocol

	bodies  bodymem.Memory
	conns   engine.Set
	watches watch.Set
	h2      h2Server

	mu    sync.Mutex
	perIP peers.Counter
}

// RequestConfig holds the settings that Server.HeaderReceived returns for one
// request. A field that is zero leaves the setting of the server in force.
type RequestConfig struct {
	// ReadTimeout is how long the rest of the request may take to arrive.
	ReadTimeout time.Duration
	// WriteTimeout is how long the client may take to receive the response.
	WriteTimeout time.Duration
	// MaxRequestBodySize limits the body in bytes, unless the handler gets it as it
	// arrives: see RequestCtx.LimitRequestBody.
	MaxRequestBodySize int
	// BodyMode says whether the handler gets the body as it arrives.
	BodyMode BodyMode
	// RefuseStatus refuses the request with this status, 200 to 599, without a call
	// of the handler; any other value but 0 counts as 400. The server neither sends
	// 100 (Continue) nor waits for the body: it closes the connection unless there is
	// no body, or its length is 256 KiB at most, or it has arrived already.
	//
	// The content is the text of the status. Server.ErrorHandler, if there is one,
	// is called with ErrRequestRefused and may set other content and fields, such as
	// WWW-Authenticate; the status stays.
	RefuseStatus int
}

// BodyMode says how a handler gets the body of a request.
type BodyMode uint8

const (
	// BodyModeServer leaves it to Server.StreamRequestBody. It is the default.
	BodyModeServer BodyMode = iota
	// BodyModeStream makes the server call the handler as soon as the header was
	// read, as Server.StreamRequestBody does.
	BodyModeStream
	// BodyModeBuffer makes the server call the handler when the body was read.
	BodyModeBuffer
)

// ServeHandler serves a connection for which another protocol was negotiated.
type ServeHandler func(c net.Conn) error

// prepare computes the values that follow from the settings, once.
func (s *Server) prepare() {
	s.once.Do(func() {
		name := s.Name
		if name == "" {
			name = defaultServerName
		}
		if !s.NoDefaultServerHeader {
			s.name = name
			s.start.server = http1.AppendField(nil, []byte(HeaderServer), []byte(name))
		}
		s.set = s.settings()
		s.trust = newProxyTrust(&s.TrustedProxies)
		if p := s.ProxyProtocol; p != nil {
			s.headerPeers = peers.NewSet(p.From, p.FromUnix)
		}
		s.log = s.Logger
		if s.log == nil {
			s.log = defaultLogger
		}
		s.bodies.Begin(s.bodyMemoryLimit())
		s.ctxs.New = func() any {
			return newRequestCtx(nil)
		}
		s.prepareHTTP2()
		s.prepareConns()
	})
}

func (s *Server) logger() Logger {
	if s.log != nil {
		return s.log
	}
	if s.Logger != nil {
		return s.Logger
	}
	return defaultLogger
}

// acquireCtx returns a context for a request of c.
func (s *Server) acquireCtx(c *engine.Conn) *RequestCtx {
	ctx := s.ctxs.Get().(*RequestCtx)
	if ctx.s != s {
		ctx.s, ctx.initLogger = s, nil
		s.configureRequest(&ctx.Request)
		s.configureResponse(&ctx.Response)
	}
	ctx.serveOn(c)
	ctx.used = true
	return ctx
}

// releaseCtx takes back a context.
func (s *Server) releaseCtx(ctx *RequestCtx) {
	if s.cleanCtx(ctx) {
		s.ctxs.Put(ctx)
	}
}

// cleanCtx prepares a context for another request. It is false if that must not be.
func (s *Server) cleanCtx(ctx *RequestCtx) bool {
	if ctx.timeoutResponse.Load() != nil {
		// the handler may still use it
		return false
	}
	if ctx.used {
		ctx.reset()
	}
	ctx.Request.Header.shrink()
	ctx.Response.Header.shrink()
	ctx.c = nil
	ctx.setExchange(nil)
	return true
}

// configureRequest and configureResponse put the settings of the server into
// messages that were reset.
func (s *Server) configureRequest(req *Request) {
	req.Header.state = s.set.request
}

func (s *Server) configureResponse(resp *Response) {
	h := &resp.Header
	h.state = s.set.response
	h.serverName = s.name
}

// GetCurrentConcurrency returns the number of connections that are being served.
func (s *Server) GetCurrentConcurrency() uint32 { return s.serving.Load() }

// GetOpenConnectionsCount returns the number of open connections.
func (s *Server) GetOpenConnectionsCount() int32 { return int32(s.conns.Open()) }

// GetRejectedConnectionsCount returns the number of connections that were
// refused since Concurrency of them were being served.
func (s *Server) GetRejectedConnectionsCount() uint32 { return s.rejected.Load() }

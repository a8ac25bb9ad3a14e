package fasthttp

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bodymem"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/peers"
	"github.com/valyala/fasthttp/internal/servertls"
	"github.com/valyala/fasthttp/internal/watch"
)

// DefaultConcurrency is how many connections a Server serves at once if
// Server.Concurrency is not set.
const DefaultConcurrency = 256 * 1024

// DefaultMaxRequestBodySize is the size in bytes up to which a Server reads request
// bodies if Server.MaxRequestBodySize is not set.
const DefaultMaxRequestBodySize = 4 * 1024 * 1024

const defaultServerName = "fasthttp"

// Server is an HTTP server. Set Handler, and call ListenAndServe or Serve.
//
// The defaults suit most uses, except that no timeouts are set: a server on a public
// network needs ReadTimeout, WriteTimeout and IdleTimeout. Fields must not be changed
// once the server is in use, and a Server must not be copied. Its methods may be called
// from any goroutine.
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
	// it is a short text with the fitting status: 400, 408, 413, 414, 417, 431, 501,
	// 503 or 505. The connection is closed after it, except as RequestConfig.RefuseStatus
	// describes, for ErrRequestRefused and ErrQueueTime. Among the other errors are ErrGetOnly,
	// ErrBodyTooLarge, ErrRequestBodyMemory, *ErrSmallBuffer, ErrBrokenChunk and errors that
	// wrap io.ErrUnexpectedEOF. ctx has only the part of the request that was read.
	//
	// When ErrorHandler is called, the response is an empty 200, so it must set the
	// status: 413 for ErrBodyTooLarge, 503 for ErrRequestBodyMemory and ErrQueueTime, 431
	// for *ErrSmallBuffer, 408 for a net.Error whose Timeout is true, and 400 otherwise. If
	// HeaderReceived has refused the request, which is ErrRequestRefused, the status is
	// already set, and stays.
	ErrorHandler func(ctx *RequestCtx, err error)

	// HeaderReceived is called after the header of a request was read. Non-zero fields
	// of its result override the settings of the server for this request. It may refuse
	// the request before its body is read.
	HeaderReceived func(header *RequestHeader) RequestConfig

	// ContinueHandler decides whether a client that sent "Expect: 100-continue" should
	// send the body. If it returns false, the request is refused with 417 and the
	// connection is closed. By default all requests are accepted.
	ContinueHandler func(header *RequestHeader) bool

	// ExpectHandler is like ContinueHandler, but returns the status: 100 lets the
	// client send the body, 200 to 599 refuse the request, and anything else counts as
	// 417. It must not change ctx.Response. It takes precedence over ContinueHandler.
	ExpectHandler func(ctx *RequestCtx) int

	// AcceptTrailer reports whether to keep a field of the trailer section after the
	// body of a request. It is called with the name of each such field; the name is
	// valid until it returns. If it returns false, the field is dropped, as RFC 9110
	// section 6.5.1 allows. If it is nil, all fields are kept except those forbidden in
	// a trailer section (see RequestHeader.SetTrailer), which are refused with 400 in
	// any case. It must be safe for concurrent use.
	//
	// A service behind a front end should accept only the trailers that it uses:
	// front ends pass trailers on without checking them.
	AcceptTrailer func(name []byte) bool

	// ResponseReady is called before each response is sent, and may set fields that every response
	// must have: also one that the server has made itself, because the request was refused or the
	// handler has panicked. It may change the fields of ctx.Response, and nothing else. It is not
	// called for informational responses, for refused connections, after HijackSetNoResponse,
	// and for an HTTP/2 request whose handler has panicked: its stream is reset.
	//
	// It must not wait, and must be safe for concurrent use. If the request was refused, ctx has
	// only the part of it that was read; after a TimeoutError method it has only the response. A
	// panic is logged, and the response is sent.
	ResponseReady func(ctx *RequestCtx)

	// ResponseSent is called after each response, and reports how sending it went: for
	// access logs and metrics. It is called for the responses of handlers, including
	// streams and hijacked connections (before the HijackHandler), and for the responses
	// to refused requests and refused connections, such as connections over Concurrency.
	// If there was no response, it is called with the status 0: a handler panicked with
	// http.ErrAbortHandler or ended its goroutine, a hook panicked, or
	// HijackSetNoResponse was called.
	//
	// It runs as part of handling the request, before the next request of the
	// connection: pipelined responses are written one by one. Several connections may
	// call it concurrently. ctx is valid until it returns, and changing it has no
	// effect. If the request was refused, ctx has only the part of it that was read;
	// after a TimeoutError method it has only the response. A panic is logged.
	ResponseSent func(ctx *RequestCtx, sent SentResponse)

	// Trace has hooks for the events of connections and requests, for tracing and metrics. Nil
	// means none, and costs nothing.
	Trace *ServerTrace

	// ConnState is called when a connection changes its state; see the states. It may use
	// the connection and the server. While it waits for something, only this connection
	// waits, or, for StateNew, its listener.
	ConnState func(net.Conn, ConnState)

	// FormValueFunc looks up the values of RequestCtx.FormValue, which documents the
	// default. NetHttpFormValueFunc is another choice.
	FormValueFunc FormValueFunc

	// TLSConfig is the TLS configuration. AppendCert, AppendCertEmbed and NextProto add
	// to it. ServeTLS, ServeTLSEmbed, ListenAndServeTLS and ListenAndServeTLSEmbed copy
	// it when they are called, so later calls of methods such as SetSessionTicketKeys
	// have no effect: for these, pass a crypto/tls listener to Serve.
	TLSConfig *tls.Config

	// Name is sent in the Server field, unless the response has one. The
	// default is "fasthttp".
	Name string

	// Concurrency is how many connections are served at once; DefaultConcurrency if it is
	// 0. Further connections are answered with 503 and closed. An HTTP/2 connection
	// counts once, and may run HTTP2.MaxConcurrentStreams handlers at once.
	Concurrency int

	// ReadBufferSize limits the head of a request, in bytes; in HTTP/2 each field counts 32
	// bytes more (RFC 9113 section 6.5.2). It is also the initial size of the buffer for
	// reading an HTTP/1 connection. If it is 0, heads may take 64 KiB, in HTTP/1 at most
	// 16 KiB of it for the request line, and buffers begin at 4 KiB. A head has at most 500
	// fields in any case. Larger heads are answered with 431 or, for the request line, 414.
	ReadBufferSize int

	// WriteBufferSize is the size of the buffer for responses, in bytes, 4 KiB if it
	// is 0.
	WriteBufferSize int

	// ReadTimeout limits the time in which a request, including its body, must arrive.
	// It is counted from the first byte of the request or, for the first request of a
	// connection, from accepting the connection. A client that takes longer gets a 408, unless
	// its connection waits for another request. 0 means no limit. A TLS handshake may take as
	// long, or 10 seconds if there is no limit; the time of the first request starts after it.
	ReadTimeout time.Duration

	// WriteTimeout limits the time that a client may take to receive a response,
	// counted from the return of the handler. 0 means no limit. It covers the whole
	// response, including a body stream: a long stream, such as an event stream, needs
	// Response.PieceTimeout, or a longer limit, which HeaderReceived may give.
	WriteTimeout time.Duration

	// IdleTimeout is how long a connection may wait for its next request; ReadTimeout
	// if it is 0. If only IdleTimeout is set, it is also how long a connection may
	// wait for its first one.
	IdleTimeout time.Duration

	// ReadHeaderTimeout is how long the head of a request may take to arrive, counted
	// from the same moment as ReadTimeout, which also applies. 0 means ReadTimeout
	// alone. It is also how long the preface of an HTTP/2 connection may take (RFC 9113
	// section 3.4), though at most 10 seconds.
	ReadHeaderTimeout time.Duration

	// MinRequestBodyRate is the lowest rate, in bytes per second, at which a client may
	// send a request body. A slower client gets a 408, and its connection is closed,
	// once it has used up MinRequestBodyRateGrace: waiting takes from that time, and
	// received bytes add the time that they may take at this rate, though never beyond
	// the initial amount. So the connection of a client that sends nothing is closed
	// after that time in any case. The time that a handler takes to read a stream does
	// not count. 0 means no limit.
	//
	// Over HTTP/2 and HTTP/3 the request alone is refused, and the connection stays; and there
	// is no limit for CONNECT. HTTP/2 checks once a second, and counts neither time in which a
	// window keeps the client from sending, nor time in which the server does not read
	// because the client does not take its output.
	MinRequestBodyRate int

	// MinRequestBodyRateGrace is how much time a client may lose by sending a body at
	// less than MinRequestBodyRate; 5 seconds if it is 0.
	MinRequestBodyRateGrace time.Duration

	// MaxConnsPerIP limits the connections from one IP address. For IPv6 it counts the
	// connections from one /64 network, except for link-local addresses. Further
	// connections are answered with 429 and closed. 0 means no limit. With
	// ProxyProtocol the address of the client counts.
	MaxConnsPerIP int

	// MaxRequestsPerConn limits the requests of one connection: the response to the last
	// of them has "Connection: close". 0 means no limit. With HTTP/2 the server announces
	// that it accepts no more requests (GOAWAY), and answers the requests that are on
	// their way.
	MaxRequestsPerConn int

	// MaxKeepaliveDuration does nothing.
	//
	// Deprecated: use IdleTimeout.
	MaxKeepaliveDuration time.Duration

	// MaxIdleWorkerDuration is how long a goroutine that served a connection waits for
	// another connection before it exits; 10 seconds if it is 0.
	MaxIdleWorkerDuration time.Duration

	// TCPKeepalivePeriod is used if TCPKeepalive is set. It is the idle time after which
	// the operating system probes whether the peer of a connection is still there, and the
	// interval between two probes, in whole seconds; 15 seconds if it is 0. A negative
	// value disables probes, whatever TCPKeepalive is: with a million idle connections a
	// server would otherwise have little time for anything but answers to probes. Set an
	// IdleTimeout then, because the connections of vanished peers would stay open.
	TCPKeepalivePeriod time.Duration

	// MaxRequestBodySize limits the body of a request in bytes;
	// DefaultMaxRequestBodySize if it is 0 or less. Larger requests are refused with
	// 413. It also limits the decoded size of a body with content codings: see
	// Request.BodyUncompressed and Request.MultipartForm.
	MaxRequestBodySize int

	// MaxRequestBodyMemory limits the memory of all request bodies together, in bytes,
	// from their arrival until the response was made. 0 means half of the runtime's
	// memory limit (GOMEMLIMIT), or 1 GiB if there is none, but at least twice
	// MaxRequestBodySize; a negative value means no limit.
	//
	// It counts the capacity of buffers over 16 KiB, which may be twice the size of
	// their bodies. A multipart form parsed while it arrives counts as 4 MiB, though
	// its values may take 10 MiB more. Streams are not counted, nor are copies that a
	// handler makes of a body. Garbage that was not collected yet is not counted
	// either; if the garbage and the bodies together exceed the limit, garbage is
	// collected before more memory is taken.
	//
	// If there is no room for more, the server ends requests whose bodies have stalled,
	// receiving less than 4 KiB in the last second; the longest stalled first. If there
	// are none, it refuses the request that needs the room. Either request gets a 503
	// with Retry-After, and ErrorHandler gets ErrRequestBodyMemory. A body that alone
	// would take more than the limit is refused with 413: set a higher limit if
	// HeaderReceived allows such bodies.
	MaxRequestBodyMemory int

	// MaxQueueTime limits how long a request may wait for its turn while the server is
	// overloaded; 0 means no limit. A request that has waited longer is answered with 503 and
	// Retry-After, and ErrorHandler gets ErrQueueTime. The connection is kept, with the
	// exceptions for RequestConfig.RefuseStatus. The handler is not called; HeaderReceived is,
	// and may exempt requests, such as health checks, with RequestConfig.MaxQueueTime.
	//
	// So an overloaded server serves as many requests as it can, and these in time, instead of
	// all too late. The wait alone decides: there is nothing that adapts, and no request is
	// refused because of the waits of others. A good value is the time in which the server
	// answers nearly all requests while it is not overloaded.
	//
	// On the event engine a request waits from the moment when its connection is ready to be
	// read until the server reads from it; pipelined requests that are read together have
	// waited equally long. The server measures a lower bound: a wait may have been longer by a
	// third, or by the time of one handler. On EnginePortable the operating system and the Go
	// scheduler decide whose turn it is, and do not say for how long a connection was ready:
	// there only HTTP/2 requests are refused. With both engines, the time from the end of an
	// HTTP/2 request until a goroutine serves it counts, too. Not measured are the waits of
	// new connections until they are accepted, the waits for TLS handshakes, and the waits of
	// handlers that have begun.
	//
	// So the limit holds for handlers that compute. A handler that waits first, for a database say,
	// begins at once, and its wait for a processor after that is not measured: if the server is
	// overloaded by such handlers, responses are late although some requests are refused. Limit the
	// number of these handlers that run at the same time, too.
	MaxQueueTime time.Duration

	// SleepWhenConcurrencyLimitsExceeded is how long the server waits before it accepts
	// the next connection while it serves Concurrency connections. 0 means not at all.
	SleepWhenConcurrencyLimitsExceeded time.Duration

	// DisableKeepalive closes every connection after its first response.
	DisableKeepalive bool

	// TCPKeepalive enables TCPKeepalivePeriod. Without it, the operating system probes
	// silent connections after 15 seconds, which is the default of package net. A listener
	// with another setting keeps that setting only if a goroutine serves each of its
	// connections (EnginePortable).
	TCPKeepalive bool

	// ReduceMemoryUsage does nothing: an idle connection holds no buffers in
	// any case.
	ReduceMemoryUsage bool

	// LazyRequestTime makes RequestCtx.Time the time of its first call, instead of the
	// time at which the request arrived. The server may have to read the clock for
	// that.
	LazyRequestTime bool

	// GetOnly refuses all requests but GET, HEAD and extended CONNECT, with 400 and ErrGetOnly.
	GetOnly bool

	// DisablePreParseMultipartForm keeps all bodies in memory, as they were received.
	// Otherwise a body of type multipart/form-data with more than 4 MiB, which
	// MaxRequestBodySize must allow, is parsed while it arrives, so that large files
	// are stored on disk: the request is refused with 400 if that fails, and
	// RequestCtx.PostBody returns the form as WriteMultipartForm writes it. Smaller
	// bodies are always parsed on first use, as are all bodies with StreamRequestBody.
	DisablePreParseMultipartForm bool

	// LogAllErrors also logs errors that are common on a public server: connections
	// that are reset, cut off, or time out. It also logs, once, that a field of a
	// response is not sent because its name is not a token.
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

	// CloseOnShutdown prevents hijacking once the server shuts down: a 101 becomes a 503 then.
	// Responses have "Connection: close" from then on in any case.
	CloseOnShutdown bool

	// ShutdownTimeout limits the graceful shutdown at the end of Run and RunTLS; 20 seconds
	// if it is 0, which leaves time before orchestrators end a process by force. A negative
	// value means no limit. Shutdown and ShutdownWithContext do not observe it.
	ShutdownTimeout time.Duration

	// StreamRequestBody makes the server call the handler as soon as the header of a
	// request was read; RequestCtx.RequestBodyStream is the body as it arrives.
	// MaxRequestBodySize does not limit it; see RequestCtx.LimitRequestBody.
	// RequestConfig.BodyMode overrides it for one request.
	StreamRequestBody bool

	// CancelOnDisconnect makes RequestCtx.Done and RequestCtx.Err report when the
	// client disconnects, for all requests; see RequestCtx.WatchDisconnect. It costs
	// nothing if a handler calls neither.
	CancelOnDisconnect bool

	// TrustedProxies lists the proxies in front of the server that are trusted to name
	// the client of a request. By default no proxy is trusted.
	TrustedProxies TrustedProxies

	// ProxyProtocol, if set, makes the server read the PROXY protocol header that
	// proxies such as HAProxy send first on a connection. It lists these proxies.
	ProxyProtocol *ProxyProtocol

	// Engine selects how connections are served; EngineAuto by default. The environment
	// variable FASTHTTP_ENGINE takes precedence over it.
	Engine Engine

	// Protocols is the set of HTTP versions that the server speaks. The zero value is
	// HTTP/1 alone. With HTTP/2, ServeTLS and its variants advertise h2 by ALPN; so does a
	// crypto/tls listener passed to Serve, if its NextProtos contain "h2". With
	// unencrypted HTTP/2, a connection without TLS that begins with the HTTP/2 preface
	// speaks HTTP/2, on the same port as HTTP/1. A handler that NextProto has set for "h2"
	// takes precedence. Protocols must be set before the server is started.
	//
	// The handler is the same for both; RequestCtx.IsHTTP2 distinguishes them. An HTTP/2
	// connection carries many requests at once, so an event that ends an HTTP/1 connection
	// ends only its own request here: a panic, a deadline, or too large a body.
	// docs/migrating.md lists the differences.
	Protocols Protocols

	// HTTP2 configures HTTP/2, if Protocols includes it.
	HTTP2 HTTP2Config

	once  sync.Once
	start header.Prefix
	name  string // the field Server of responses, or empty
	ctxs  sync.Pool
	runs  sync.Pool // of timedRun
	bare  bool      // the server of contexts that have no other
	// parkedConns holds the h1Conns, with contexts, of connections that wait without them
	parkedConns sync.Pool
	// cachedCtxs is how many connections keep a context while they wait
	cachedCtxs atomic.Int32
	log        Logger
	set        settings // the values that follow from the fields above

	serving  atomic.Uint32 // connections that are being served
	rejected atomic.Uint32
	timed    atomic.Int64 // handlers that run with a timeout, late ones included
	// refusedAt is the second of the last log entry about a refused connection, or
	// about a body for which there was no memory
	refusedAt atomic.Int64
	refusals  atomic.Int32 // connections that are being sent a refusal
	// badNameLogged is set once an unsent field of a response was logged
	badNameLogged atomic.Bool

	nextProtos map[string]ServeHandler
	tickets    *servertls.Keys // of its TLS listeners; nil before the first one

	trust       *proxyTrust // of TrustedProxies
	headerPeers peers.Set   // of ProxyProtocol

	bodies   bodymem.Memory
	conns    engine.Set
	watches  watch.Set
	h2       h2Server
	onStop   watch.Funcs   // of RequestCtx.OnShutdown
	switched switchedConns // of RequestCtx.SwitchProtocols

	mu    lockorder.Mutex[lockorder.Server]
	perIP peers.Counter
}

// RequestConfig holds the settings that Server.HeaderReceived returns for one request.
// A zero field leaves the setting of the server in force.
type RequestConfig struct {
	// ReadTimeout is how long the rest of the request may take to arrive.
	ReadTimeout time.Duration
	// WriteTimeout is how long the client may take to receive the response.
	WriteTimeout time.Duration
	// MaxQueueTime is how long the request may have waited for its turn; a negative value
	// means any time. It has no effect unless Server.MaxQueueTime is set.
	MaxQueueTime time.Duration
	// MaxRequestBodySize limits the body in bytes, unless the handler gets it as it
	// arrives: see RequestCtx.LimitRequestBody.
	MaxRequestBodySize int
	// BodyMode selects whether the handler gets the body as it arrives.
	BodyMode BodyMode
	// RefuseStatus refuses the request with this status, 200 to 599, without calling
	// the handler; any other non-zero value counts as 400. The server neither sends 100
	// (Continue) nor waits for the body: it closes the connection unless there is no
	// body, or its length is 256 KiB at most, or it has arrived already.
	//
	// The content is the text of the status. Server.ErrorHandler, if there is one,
	// is called with ErrRequestRefused and may set other content and fields, such as
	// WWW-Authenticate; the status stays.
	RefuseStatus int
}

// BodyMode selects how a handler gets the body of a request.
type BodyMode uint8

const (
	// BodyModeServer leaves the choice to Server.StreamRequestBody. It is the default.
	BodyModeServer BodyMode = iota
	// BodyModeStream makes the server call the handler as soon as the header was
	// read, as Server.StreamRequestBody does.
	BodyModeStream
	// BodyModeBuffer makes the server call the handler after the body was read.
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
			s.start.Server = http1.AppendField(nil, []byte(HeaderServer), []byte(name))
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

// GetCurrentConcurrency returns the number of connections that are being served.
func (s *Server) GetCurrentConcurrency() uint32 { return s.serving.Load() }

// GetOpenConnectionsCount returns the number of open connections.
func (s *Server) GetOpenConnectionsCount() int32 { return int32(s.conns.Open()) }

// GetRejectedConnectionsCount returns the number of connections that were refused
// because Concurrency connections were being served.
func (s *Server) GetRejectedConnectionsCount() uint32 { return s.rejected.Load() }

// settings holds the values that follow from the fields of a Server for its
// connections. They are computed once, before the first connection.
type settings struct {
	limits http1.Limits // of heads
	// request and response are the configured states of headers that were reset
	request, response   header.State
	readSize, writeSize int // of buffers
	maxBodySize         int
	concurrency         int
	// headTimeout is how long the head of a request may take, firstTimeout how long a
	// new connection may wait for its first request, and idleTimeout how long it may
	// wait for its next one. 0 means no limit.
	headTimeout, firstTimeout, idleTimeout time.Duration
	bodyRateGrace                          time.Duration
	// unencryptedHTTP2 allows HTTP/2 on connections without TLS, and onlyHTTP2 excludes
	// HTTP/1 on all of them
	unencryptedHTTP2, onlyHTTP2 bool
	// reports is set if a hook is called for each response, and timed if that hook gets the
	// durations of the request
	reports, timed bool
	// maxQueueTime is MaxQueueTime, or 0 for no limit
	maxQueueTime time.Duration
}

const (
	defaultReadSize  = 4 << 10
	defaultWriteSize = 4 << 10
)

// settings returns the values that follow from the fields of the server.
func (s *Server) settings() settings {
	set := settings{
		readSize:      positive(s.ReadBufferSize, defaultReadSize),
		writeSize:     positive(s.WriteBufferSize, defaultWriteSize),
		maxBodySize:   positive(s.MaxRequestBodySize, DefaultMaxRequestBodySize),
		concurrency:   positive(s.Concurrency, DefaultConcurrency),
		idleTimeout:   positive(s.IdleTimeout, max(s.ReadTimeout, 0)),
		bodyRateGrace: positive(s.MinRequestBodyRateGrace, defaultBodyRateGrace),
		maxQueueTime:  max(s.MaxQueueTime, 0),

		unencryptedHTTP2: s.Protocols.UnencryptedHTTP2(),
		onlyHTTP2:        !s.Protocols.HTTP1(),
		timed:            s.Trace != nil && s.Trace.ResponseSent != nil,
		reports:          s.ResponseSent != nil || s.Trace != nil && s.Trace.ResponseSent != nil,
	}
	set.request, set.response = s.headerStates()
	if s.ReadBufferSize > 0 {
		set.limits = http1.Limits{Line: s.ReadBufferSize, Head: s.ReadBufferSize}
	}
	set.headTimeout = positive(s.ReadHeaderTimeout, max(s.ReadTimeout, 0))
	if s.ReadTimeout > 0 {
		set.headTimeout = min(set.headTimeout, s.ReadTimeout)
	}
	set.firstTimeout = positive(set.headTimeout, max(s.IdleTimeout, 0))
	return set
}

// headerStates returns the states that the settings give to headers.
func (s *Server) headerStates() (request, response header.State) {
	if s.DisableHeaderNamesNormalizing {
		request = header.NamesKept
	}
	response = request
	if s.NoDefaultContentType {
		response |= header.NoDefaultType
	}
	if s.NoDefaultDate {
		response |= header.NoDefaultDate
	}
	if len(s.name) > 0 {
		response |= header.NamesServer
	}
	return request, response
}

// Shutdown gracefully shuts down the server. It closes the listeners, so that Serve
// returns nil, and the connections that wait for a request. It answers requests that
// have begun to arrive, with "Connection: close". It tells HTTP/2 clients to send no
// more requests on their connections (GOAWAY), and also answers the requests that they
// sent before they received that. It calls the functions given to RequestCtx.OnShutdown,
// and the ShuttingDown methods of the connections after RequestCtx.SwitchProtocols.
// Shutdown returns when all connections are closed, these functions have returned, and
// all calls of Serve are about to return, however long that takes. It may be called
// more than once, and Serve may be called again afterwards. It returns the error of a
// listener that could not be closed, but completes the rest of the shutdown.
//
// Serve called after Shutdown starts serving again. A program that may have to stop while it
// starts closes the listener after Shutdown:
//
//	context.AfterFunc(ctx, func() {
//		shutDown <- server.Shutdown()
//		_ = ln.Close()
//	})
//	if err := server.Serve(ln); err != nil {
//		return err
//	}
//	return <-shutDown
func (s *Server) Shutdown() error { return s.ShutdownWithContext(context.Background()) }

// ShutdownWithContext is Shutdown with a limit: if ctx ends before the last connection is
// closed, or the last function given to RequestCtx.OnShutdown has returned, it returns
// ctx.Err(). It leaves the connections that are still busy alone; each of
// them is closed after its request. Serve may then be called again, with another listener.
// RequestCtx.Done stays closed for the requests that are still running.
func (s *Server) ShutdownWithContext(ctx context.Context) error {
	s.prepare()
	defer s.h2.stopWorkers()
	number := s.onStop.Announce(ctx)
	defer s.onStop.End(number)
	err := s.conns.Shutdown(ctx, func() {
		s.watches.CancelAll()
		s.h2.shutdown()
		s.switched.shutdown()
		s.onStop.Begin()
	})
	if late := s.onStop.Wait(ctx); err == nil {
		err = late
	}
	return err
}

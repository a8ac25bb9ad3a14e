package fasthttp

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/patience"
	"github.com/valyala/fasthttp/internal/pipeline"
	"github.com/valyala/fasthttp/internal/sender"
)

// DefaultMaxPendingRequests is how many requests may wait to be sent on one connection
// of a PipelineClient, and how many may wait there for their responses, unless
// PipelineClient.MaxPendingRequests is set.
const DefaultMaxPendingRequests = 1024

// ErrPipelineOverflow reports that a PipelineClient has the maximum number of waiting
// requests: see PipelineClient.MaxPendingRequests.
var ErrPipelineOverflow = errors.New("fasthttp: pipelined requests' queue has been overflowed. " +
	"increase maxconns and/or maxpendingrequests")

// PipelineClient sends requests to one server without waiting for the responses to
// earlier ones (RFC 9112 section 9.3.2): one write sends many requests, and the
// responses arrive in the same order. That saves most of the cost of small requests
// between programs that trust each other. One slow response delays all later ones on
// its connection: if that matters, use a HostClient.
//
// A request, including its body stream, is read into memory when the call begins.
// Request and response belong to the caller again as soon as the call returns, whatever
// the error. Content is sent together with its head: "Expect: 100-continue" makes no
// difference. Responses are buffered, too: if Response.StreamBody is set, BodyStream
// reads from that buffer. Only MaxResponseBodySize limits it.
//
// If a connection ends before all responses have arrived, the client repeats, on the
// next connection, the requests that the server cannot have processed: requests of
// which nothing was written, and requests after a response that ends the connection. It
// does the same with the other requests if their method is idempotent, unless
// connections end again and again without a response; the rest fail with
// ErrConnectionClosed. After such an end the client pipelines no deeper than the server
// has answered, until it answers more. A failed attempt to connect fails the waiting
// requests, and delays the next attempt, from 10 ms up to a second.
//
// The fields must not be changed after first use, nor the client copied. Its methods
// may be called concurrently. Connections that are idle for MaxIdleConnDuration are
// closed, and leave nothing behind.
type PipelineClient struct {
	_ noCopy

	// Logger gets errors that no call can return, such as bytes that answer no
	// request: the standard logger by default.
	Logger Logger

	// Dial connects to the server: the function DialDualStack by default.
	Dial DialFunc

	// TLSConfig is the configuration for TLS if IsTLS is set.
	TLSConfig *tls.Config

	// Addr is the address of the server, "host:port" or "host". Dial gets it as
	// it is, so it may then be the path of a Unix socket.
	Addr string

	// Name is the value of the User-Agent field of requests that have none:
	// "fasthttp" by default.
	Name string

	// MaxConns is the maximum number of connections: one by default.
	MaxConns int

	// MaxPendingRequests is how many requests may wait to be sent on each connection,
	// and how many may wait for their response there: DefaultMaxPendingRequests by
	// default. If there is no room, Do and DoContext fail with ErrPipelineOverflow at
	// once; DoTimeout and DoDeadline wait for room as long as they have time.
	MaxPendingRequests int

	// MaxBatchDelay is how long a request may wait for other requests to be sent with
	// it. By default requests are sent together only if they arrive together.
	MaxBatchDelay time.Duration

	// MaxIdleConnDuration is how long a connection may be unused before it is
	// closed: DefaultMaxIdleConnDuration by default.
	MaxIdleConnDuration time.Duration

	// ReadBufferSize is the size of the buffer for responses, and the limit for
	// the size of their heads. By default heads may have 64 KiB.
	ReadBufferSize int

	// WriteBufferSize is how many bytes of requests are collected for one
	// write: 16 KiB by default.
	WriteBufferSize int

	// ReadTimeout limits the wait for each response, from when it is due to its
	// last byte; the connection ends after that. There is no limit by default.
	ReadTimeout time.Duration

	// WriteTimeout limits each write of requests; the connection ends after
	// that. There is no limit by default.
	WriteTimeout time.Duration

	// Timeout limits the time of a whole call, with waits for room and repetitions. The error
	// is ErrTimeout then. The sooner of it, the timeout of the request (Request.SetTimeout) and
	// the time given to the call applies. 0 means no limit.
	Timeout time.Duration

	// MaxResponseBodySize limits the body of a response in bytes: a call whose
	// response has more fails with ErrBodyTooLarge, and its connection ends. There is
	// no limit if it is 0, the default, or negative.
	MaxResponseBodySize int

	// NoDefaultUserAgentHeader leaves User-Agent out of requests that have none.
	NoDefaultUserAgentHeader bool

	// DialDualStack has no effect: the default for Dial uses IPv6 as well as IPv4.
	DialDualStack bool

	// DisableHeaderNamesNormalizing leaves the names of header fields as the
	// application and the server have written them.
	DisableHeaderNamesNormalizing bool

	// DisablePathNormalizing sends paths as they were given.
	DisablePathNormalizing bool

	// IsTLS makes the client speak TLS.
	IsTLS bool

	once    sync.Once
	pool    pipeline.Pool[Response]
	timers  timers
	tls     *tls.Config
	broken  error // the error in the fields
	pending atomic.Int64
}

// Do sends the request and waits for the response, for as long as Request.SetTimeout
// allows. The URI, or the Host field, must name a host, although the request goes to
// Addr in any case. Redirects are not followed.
//
// The error is ErrTimeout if the time is over, ErrPipelineOverflow if too many
// requests wait, ErrConnectionClosed or another one if the connection fails and the
// request may not be sent again.
//
// resp may be nil if only the success counts.
func (c *PipelineClient) Do(req *Request, resp *Response) error {
	return c.do(noContext, req, resp, time.Time{})
}

// DoTimeout is Do with a timeout: it returns ErrTimeout if the response did not arrive
// in time.
func (c *PipelineClient) DoTimeout(req *Request, resp *Response, timeout time.Duration) error {
	if timeout <= 0 {
		return req.refused(ErrTimeout)
	}
	return c.do(noContext, req, resp, time.Now().Add(timeout))
}

// DoDeadline is Do with a deadline: it returns ErrTimeout if the response did not
// arrive before it. A zero deadline means none.
func (c *PipelineClient) DoDeadline(req *Request, resp *Response, deadline time.Time) error {
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		return req.refused(ErrTimeout)
	}
	return c.do(noContext, req, resp, deadline)
}

// DoContext is Do that gives up when ctx ends. It returns ErrTimeout if the deadline of
// ctx has passed, and otherwise an error that wraps context.Canceled and
// context.Cause(ctx). A nil ctx never ends.
func (c *PipelineClient) DoContext(ctx context.Context, req *Request, resp *Response) error {
	if ctx != nil && ctx.Err() != nil {
		return req.refused(pipelineContextError(ctx))
	}
	return c.do(ctx, req, resp, time.Time{})
}

// PendingRequests returns how many calls are waiting for their response.
func (c *PipelineClient) PendingRequests() int { return int(c.pending.Load()) }

func (c *PipelineClient) do(ctx context.Context, req *Request, resp *Response, deadline time.Time) error {
	c.once.Do(c.init)
	if c.broken != nil {
		return req.refused(c.broken)
	}
	if ctx == nil && req.call.purpose == callSends {
		// a RoundTripper sends the request by another client than its own
		ctx = req.call.ctx
	}
	waits := !deadline.IsZero()
	if limit := req.limitedTo(c.Timeout); limit > 0 {
		deadline = clock.Earliest(deadline, time.Now().Add(limit))
	}
	call := c.pool.NewCall()
	if err := c.encode(call, req); err != nil {
		call.Release(2)
		return err
	}
	if resp != nil {
		c.clear(resp)
		call.Response = resp
	}
	call.Patient = ctx == nil && deadline.IsZero()
	c.pending.Add(1)
	defer c.pending.Add(-1)
	err := c.pool.Enqueue(call)
	if err != nil && waits {
		err = c.awaitRoom(ctx, call, deadline)
	}
	if err == nil {
		err = c.await(ctx, call, deadline)
		call.Release(1)
	} else {
		call.Release(2)
	}
	switch {
	case resp == nil:
	case err != nil:
		resp.startOver()
	case resp.StreamBody:
		resp.streamBuffered()
	}
	return err
}

// clear makes resp ready for a response.
func (c *PipelineClient) clear(resp *Response) {
	resp.reuse()
	h := &resp.Header
	h.head.SetState(header.NamesKept, h.head.Is(header.NamesKept) || c.DisableHeaderNamesNormalizing)
}

func (c *PipelineClient) init() {
	c.pool.Start(max(c.MaxConns, 1), pipeline.Config[Response]{
		Connect:       c.open,
		MaxPending:    c.maxPending(),
		WriteSize:     c.writeSize(),
		MaxBatchDelay: c.MaxBatchDelay,
		MaxIdle:       c.maxIdle(),
		ReadTimeout:   c.ReadTimeout,
		WriteTimeout:  c.WriteTimeout,
		DrainingTime:  drainingTime,
		EarlyTime:     sender.ReuseTimeout,
		MaxFailures:   DefaultMaxIdemponentCallAttempts,
		ErrTimeout:    ErrTimeout,
		ErrClosed:     ErrConnectionClosed,
		ErrOverflow:   ErrPipelineOverflow,
	})
	if c.IsTLS {
		c.tls, c.broken = clientconn.TLSConfig(c.TLSConfig, c.Addr)
	}
}

// awaitRoom gives the call to a connection as soon as there is room. ctx may be nil.
func (c *PipelineClient) awaitRoom(ctx context.Context, call *pipelineCall, deadline time.Time) error {
	timer := c.timers.acquire(time.Until(deadline))
	defer c.timers.release(timer)
	err := c.pool.AwaitRoom(call, timer.C, doneOf(ctx))
	if err == pipeline.ErrCanceled {
		return pipelineContextError(ctx)
	}
	return err
}

// doneOf returns the channel of ctx.Done, or nil if ctx is nil.
func doneOf(ctx context.Context) <-chan struct{} {
	if ctx == nil {
		return nil
	}
	return ctx.Done()
}

// connect establishes a connection for HTTP.
func (c *PipelineClient) connect() (cc *clientConn, err error) {
	addr := c.Addr
	if c.Dial == nil {
		addr = AddMissingPort(addr, c.IsTLS)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("fasthttp: panic while dialing %s: %v\n%s", addr, p, debug.Stack())
		}
		if err != nil && cc != nil {
			_ = cc.Close()
			cc = nil
		}
	}()
	dial := c.Dial
	if dial == nil {
		dial = DialDualStack
	}
	conn, err := dial(addr)
	if err != nil {
		return nil, err
	}
	if conn == nil {
		return nil, errNoConn
	}
	cc = adoptConn(conn, addr, c.readSize())
	if c.IsTLS {
		_, err = cc.handshake(noContext, c.tls, time.Now().Add(patience.Handshake), agreeOnHTTP1)
	}
	return cc, err
}

func (c *PipelineClient) maxPending() int {
	if c.MaxPendingRequests <= 0 {
		return DefaultMaxPendingRequests
	}
	return c.MaxPendingRequests
}

func (c *PipelineClient) maxIdle() time.Duration {
	if c.MaxIdleConnDuration <= 0 {
		return DefaultMaxIdleConnDuration
	}
	return c.MaxIdleConnDuration
}

// batchSize is how many bytes of requests go out with one write by default, and how
// many bytes of responses are read at once.
const batchSize = 16 << 10

func (c *PipelineClient) writeSize() int {
	if c.WriteBufferSize <= 0 {
		return batchSize
	}
	return c.WriteBufferSize
}

func (c *PipelineClient) readSize() int {
	if c.ReadBufferSize <= 0 {
		return batchSize
	}
	return c.ReadBufferSize
}

func (c *PipelineClient) logf(format string, args ...any) {
	logger := c.Logger
	if logger == nil {
		logger = defaultLogger
	}
	logger.Printf(format, args...)
}

// pipelineCall is a request on its way through a PipelineClient.
type pipelineCall = pipeline.Call[Response]

// encode stores the bytes of the request in a call, so that req is no longer needed.
func (c *PipelineClient) encode(call *pipelineCall, req *Request) error {
	h := &req.Header
	if c.DisablePathNormalizing {
		req.URI().DisablePathNormalizing = true
	}
	if c.DisableHeaderNamesNormalizing {
		h.DisableNormalizing()
	}
	if len(h.UserAgent()) == 0 && !c.NoDefaultUserAgentHeader && !h.head.Is(header.NoSpecial) {
		name := c.Name
		if name == "" {
			name = "fasthttp"
		}
		h.SetUserAgentBytes(bytesconv.Bytes(name))
	}
	if h.head.IsExtended() {
		return req.refused(ErrNoExtendedConnect)
	}
	if err := req.prepareForServer(); err != nil {
		return req.refused(err)
	}
	if !c.IsTLS && req.uriParsed && req.uri.text.IsHTTPS() {
		return req.refused(ErrHostClientRedirectToDifferentScheme)
	}
	call.Exchange, call.Idempotent = http1.Exchange{}, true
	if !h.head.HasDefaultMethod() {
		call.Exchange, call.Idempotent = http1.Exchange{Head: h.IsHead(), Connect: h.IsConnect()}, isIdempotent(req)
	}
	call.Closes = h.ConnectionClose()
	encoding := req.encode(0)
	call.Out = req.appendHead(call.Out[:0], encoding)
	if req.body.Stream == nil && encoding.Kind != http1.Chunks {
		call.Out = append(call.Out, req.content()...)
		return nil
	}
	return req.writeContent(call, encoding)
}

// await waits for the result. After it has returned, the client no longer uses the
// caller's response.
func (c *PipelineClient) await(ctx context.Context, call *pipelineCall, deadline time.Time) error {
	if ctx == nil && deadline.IsZero() {
		<-call.Done()
		return call.Result()
	}
	var expired <-chan time.Time
	if !deadline.IsZero() {
		timer := c.timers.acquire(time.Until(deadline))
		defer c.timers.release(timer)
		expired = timer.C
	}
	select {
	case <-call.Done():
		return call.Result()
	case <-expired:
		return call.Abandon(ErrTimeout)
	case <-doneOf(ctx):
		return call.Abandon(pipelineContextError(ctx))
	}
}

func pipelineContextError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrTimeout
	}
	return contextError(ctx)
}

// streamBuffered makes the body that was read a stream.
func (resp *Response) streamBuffered() {
	body := resp.body.Bytes()
	resp.body.SetStream(bytes.NewReader(body), len(body))
}

// pipelineReader gives the calls that were sent on a connection their responses. It
// does not wait for the network while it holds a response.
type pipelineReader struct {
	c     *PipelineClient
	queue *pipeline.ConnQueue[Response]
	conn  *clientConn

	// of the current response
	call   *pipelineCall // nil if no call was known when the last response ended
	heads  headReader
	inBody bool
	recv   content.Receiver
	closes bool // it is the last one

	discardTarget *Response // takes responses that no caller wants
}

// errUnsolicited reports that the server has sent unsolicited bytes.
var errUnsolicited = errors.New("fasthttp: the server has sent bytes that belong to no response")

// open establishes a connection, and returns a function that reads responses from it.
func (c *PipelineClient) open(lane *pipeline.ConnQueue[Response]) (*clientconn.Conn, func() error, error) {
	conn, err := c.connect()
	if err != nil {
		return nil, nil, err
	}
	return &conn.line, (&pipelineReader{c: c, queue: lane, conn: conn}).read, nil
}

// read gives calls their responses until the connection ends, and returns the reason:
// io.EOF if the server has closed the connection, or has announced that with a
// response.
func (r *pipelineReader) read() error {
	defer func() {
		if r.discardTarget != nil {
			ReleaseResponse(r.discardTarget)
		}
	}()
	for {
		over, err := r.consume()
		if err != nil {
			r.fail(err)
			return err
		}
		if over {
			return io.EOF
		}
		if err := r.conn.line.FillCaught(); err != nil {
			return r.inputEnds(err)
		}
	}
}

// consume processes all received bytes. over reports that the last response of the
// connection was read.
func (r *pipelineReader) consume() (over bool, err error) {
	for {
		b := r.conn.line.Recv.Peek()
		if len(b) == 0 {
			return false, nil
		}
		if r.call == nil {
			if r.call = r.queue.Next(); r.call == nil {
				return false, errUnsolicited
			}
		}
		n, done, err := r.feed(b)
		r.conn.line.Recv.Discard(n)
		if err != nil {
			return false, err
		}
		if done {
			over = r.closes
			r.done()
			if over {
				return true, nil
			}
		} else if n == 0 {
			return false, nil
		}
	}
}

// feed gives bytes to the current response and returns how many it took.
func (r *pipelineReader) feed(b []byte) (n int, done bool, err error) {
	call := r.call
	call.Lock()
	defer call.Unlock()
	resp := call.Response
	if resp == nil {
		resp = r.discarded()
	}
	if !r.inBody {
		if n, err = r.feedHead(&resp.Header, b); err != nil || !r.inBody {
			return n, false, err
		}
		resp.ParseNetConn(r.conn.line.Net)
		if call.Exchange.Head {
			resp.skipHead()
			resp.Header.head.SetState(header.Closing, r.closes)
		}
	}
	dst := &resp.body
	dst.Limit = r.c.MaxResponseBodySize
	if resp.SkipBody {
		dst = &r.discarded().body
	}
	used, done, err := r.recv.Feed(b[n:], dst, &resp.Header.head)
	return n + used, done, err
}

// discarded returns an empty response for content that no caller wants.
func (r *pipelineReader) discarded() *Response {
	if r.discardTarget == nil {
		r.discardTarget = AcquireResponse()
	}
	r.discardTarget.ResetBody()
	return r.discardTarget
}

// feedHead reads a head, and decides how the content after it ends.
func (r *pipelineReader) feedHead(h *ResponseHeader, b []byte) (int, error) {
	r.conn.head.Connect = r.call.Exchange.Connect
	n, final, err := r.heads.feed(h, &r.conn.head, r.c.ReadBufferSize, b)
	if err != nil || !final {
		return n, err
	}
	frame := r.conn.head.FrameResponse(r.call.Exchange)
	switched := h.head.Status == StatusSwitchingProtocols || r.call.Exchange.Connect && h.head.Status/100 == 2
	r.closes = r.call.Closes || switched || frame.MustClose || !r.conn.head.KeepsAlive()
	r.inBody = true
	return n, r.recv.Start(frame, r.c.MaxResponseBodySize)
}

// done ends the current call.
func (r *pipelineReader) done() {
	r.call = r.queue.Respond(r.closes)
	r.inBody, r.heads = false, headReader{}
}

// responseBegun reports whether the server has begun to answer the current call.
func (r *pipelineReader) responseBegun() bool {
	return r.call != nil && (r.inBody || r.heads.hints > 0 || len(r.conn.line.Recv.Peek()) > 0)
}

// inputEnds handles the end of the input, and returns the error with which the reader
// ends.
func (r *pipelineReader) inputEnds(err error) error {
	switch {
	case err == io.EOF && r.inBody && r.recv.Decoder.Kind() == http1.UntilClose:
		r.call.Lock()
		if resp := r.call.Response; resp != nil && !resp.SkipBody {
			resp.Header.SetContentLength(len(resp.body.Bytes()))
		}
		r.call.Unlock()
		r.closes = true
		r.done()
	case isTimeout(err):
		r.queue.Expire()
	case r.responseBegun() && err == io.EOF:
		// no request of this kind is sent twice: a server has processed it
		err = io.ErrUnexpectedEOF
		if r.inBody {
			r.queue.Fail(err)
		} else {
			r.queue.Fail(headerError("response", err))
		}
	case r.responseBegun():
		r.queue.Fail(err)
	}
	return err
}

// fail ends the current call, whose response is malformed.
func (r *pipelineReader) fail(err error) {
	if r.call == nil {
		r.c.logf("PipelineClient: %s: %v", r.c.Addr, err)
		return
	}
	r.queue.Fail(err)
}

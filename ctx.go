package fasthttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/watch"
)

// RequestHandler answers a request: it reads ctx.Request and fills ctx.Response, in any
// order, until it returns. Then the response is sent.
//
// ctx, and everything obtained from it, must not be used after that. A handler that
// cannot rule this out, because it gave ctx to another goroutine, must call
// ctx.TimeoutError before it returns.
type RequestHandler func(ctx *RequestCtx)

// HijackHandler takes over a connection; see RequestCtx.Hijack.
//
// c is closed when it returns, and must not be used after that, unless
// Server.KeepHijackedConns is set: then closing c is up to the application.
type HijackHandler func(c net.Conn)

// RequestCtx is a request that a server has received, with the response to it and the
// properties of the connection.
//
// It is reused after the handler has returned: do not keep it, nor anything that its
// methods return. It must not be copied, nor used by more than one goroutine at once,
// except for the TimeoutError methods, which any goroutine may call at any time.
//
// It is a context.Context: see Done and Value.
type RequestCtx struct {
	_ noCopy

	// Request is the request. It must not be copied.
	Request Request

	// Response is the response. It must not be copied.
	Response Response

	s         *Server
	c         *engine.Conn
	service   atomic.Pointer[engine.Service] // of c, or of the last connection
	exchange  *exchange                      // while the handler runs
	streaming deadliner                      // while it sends the body stream of the response; timeoutMu guards it

	requestNum uint64
	receivedAt clock.Moment // when it was received, or the zero Moment
	initTime   time.Time    // the same if the context was given to Init
	remoteAddr net.Addr     // set with SetRemoteAddr
	initAddr   net.Addr     // given to Init, if there is no connection
	initLogger Logger       // given to Init or Init2, or nil
	initConn   engine.Conn
	log        ctxLogger

	watch           atomic.Pointer[watch.Watch]
	timeoutResponse atomic.Pointer[Response]
	timeoutMu       lockorder.Mutex[lockorder.RequestCtx] // held while the context times out or uses the connection
	content         *bytes.Reader                         // of a buffered body, once it was asked for
	run             *timedRun                             // the last run that got the context, unless it is late
	lateRun         *timedRun                             // the last late run, which still has the body: Response is the answer to it
	phase           atomic.Uint32                         // a ctxPhase, changed with timeoutMu held
	fullDuplex      bool                                  // see EnableFullDuplex
	used            bool                                  // since the last reset
	stream          io.Reader                             // of the body of Response, unless it was closed; guarded by timeoutMu

	freeOutput        *bufpool.Buffer // for output, which the pool of contexts keeps with the context
	onShutdown        *watch.Func     // the function given last to OnShutdown
	traced            *traceTimes     // of the request, or of an earlier one; nil if none was traced
	hijack            HijackHandler
	switched          *EventConn // see SwitchProtocols, which sets hijack as well
	hijackNoResponse  bool
	hijackDropped     bool
	hijackImmediately bool // see bridge.HijackImmediately
	hijackReleases    bool // see bridge.ReleaseHijacked
}

// newRequestCtx returns a context for requests of s.
func newRequestCtx(s *Server) *RequestCtx {
	ctx := &RequestCtx{s: s}
	ctx.Response.body.Owner = ctx
	return ctx
}

// discard releases the streams, files and values of a context that is not reused.
func (ctx *RequestCtx) discard() {
	// a panic in a Close of the application matters no more than the one before it
	defer func() { _ = recover() }()
	ctx.endShutdownFuncs()
	_ = ctx.Response.body.CloseStream()
	ctx.Request.RemoveMultipartFormFiles()
	ctx.Request.values.Reset()
}

// Init prepares the context for a handler that is called without a Server. req
// is copied; remoteAddr and logger may be nil.
func (ctx *RequestCtx) Init(req *Request, remoteAddr net.Addr, logger Logger) {
	ctx.init(nil, logger)
	ctx.initAddr = remoteAddr
	if req != nil {
		req.CopyTo(&ctx.Request)
	}
}

// Init2 prepares the context for a handler that is called without a Server. Only the
// addresses of conn are used; reduceMemoryUsage has no effect.
func (ctx *RequestCtx) Init2(conn net.Conn, logger Logger, reduceMemoryUsage bool) {
	ctx.init(conn, logger)
}

func (ctx *RequestCtx) init(conn net.Conn, logger Logger) {
	ctx.initAddr, ctx.initLogger = nil, logger
	now := time.Now()
	if s := noServer(); ctx.s != s {
		ctx.s = s
	}
	c := &ctx.initConn
	c.Set, c.NC, c.ID, c.Opened, c.Service, c.Requests = &ctx.s.conns, conn, engine.NewID(), now.Sub(clock.Began), ctx.s.conns.Service(), 1
	ctx.serveOn(c)
	ctx.Response.body.Owner = ctx
	ctx.timeoutMu.Lock()
	ctx.timeoutResponse.Store(nil)
	ctx.move(ctxInit)
	ctx.timeoutMu.Unlock()
	ctx.reset()
	ctx.Request.isTLS = ctx.IsTLS()
	ctx.requestNum = 1
	ctx.initTime = now
}

// noServer returns the server of the contexts that are made without one.
var noServer = sync.OnceValue(func() *Server {
	s := &Server{NoDefaultServerHeader: true, bare: true}
	s.prepare()
	return s
})

// Method returns the method of the request.
func (ctx *RequestCtx) Method() []byte { return ctx.Request.Header.Method() }

// IsGet reports whether the method is GET.
func (ctx *RequestCtx) IsGet() bool { return ctx.Request.Header.IsGet() }

// IsPost reports whether the method is POST.
func (ctx *RequestCtx) IsPost() bool { return ctx.Request.Header.IsPost() }

// IsPut reports whether the method is PUT.
func (ctx *RequestCtx) IsPut() bool { return ctx.Request.Header.IsPut() }

// IsDelete reports whether the method is DELETE.
func (ctx *RequestCtx) IsDelete() bool { return ctx.Request.Header.IsDelete() }

// IsHead reports whether the method is HEAD.
func (ctx *RequestCtx) IsHead() bool { return ctx.Request.Header.IsHead() }

// IsConnect reports whether the method is CONNECT.
func (ctx *RequestCtx) IsConnect() bool { return ctx.Request.Header.IsConnect() }

// ConnectProtocol returns the protocol that an extended CONNECT request asks for (RFC 8441), such
// as "websocket", or nil for any other request. There are such requests only over HTTP/2 and HTTP/3, with
// HTTP2Config.ExtendedConnect. A handler that knows the protocol sets a 2xx status, and calls
// Hijack or SwitchProtocols, whose connection is the stream of the request. Without such a call,
// or a body stream in the response, a 2xx response is replaced by a 501.
func (ctx *RequestCtx) ConnectProtocol() []byte { return ctx.Request.Header.ConnectProtocol() }

// IsOptions reports whether the method is OPTIONS.
func (ctx *RequestCtx) IsOptions() bool { return ctx.Request.Header.IsOptions() }

// IsTrace reports whether the method is TRACE.
func (ctx *RequestCtx) IsTrace() bool { return ctx.Request.Header.IsTrace() }

// IsPatch reports whether the method is PATCH.
func (ctx *RequestCtx) IsPatch() bool { return ctx.Request.Header.IsPatch() }

// IsQuery reports whether the method is QUERY.
func (ctx *RequestCtx) IsQuery() bool { return ctx.Request.Header.IsQuery() }

// RequestURI returns the request target as it was received.
func (ctx *RequestCtx) RequestURI() []byte { return ctx.Request.Header.RequestURI() }

// URI returns the URI of the request.
func (ctx *RequestCtx) URI() *URI { return ctx.Request.URI() }

// Path returns the path of the URI, decoded and normalized.
func (ctx *RequestCtx) Path() []byte { return ctx.URI().Path() }

// Host returns the host that the request is for, in lower case: the authority of an
// absolute target, otherwise the Host field.
func (ctx *RequestCtx) Host() []byte { return ctx.URI().Host() }

// Referer returns the value of the Referer field.
func (ctx *RequestCtx) Referer() []byte { return ctx.Request.Header.Referer() }

// UserAgent returns the value of the User-Agent field.
func (ctx *RequestCtx) UserAgent() []byte { return ctx.Request.Header.UserAgent() }

// QueryArgs returns the arguments in the query of the URI; they are parsed on
// first use.
func (ctx *RequestCtx) QueryArgs() *Args { return ctx.URI().QueryArgs() }

// PostArgs returns the arguments in a body of type
// application/x-www-form-urlencoded; they are parsed on first use. There are none if the
// body has more than 10,000, or could not be read: see PostBodyError.
func (ctx *RequestCtx) PostArgs() *Args { return ctx.Request.PostArgs() }

// PostBody returns the body of the request. With Server.StreamRequestBody it
// reads the whole body into memory first; see RequestBodyStream. If that fails it returns
// nil: see PostBodyError.
func (ctx *RequestCtx) PostBody() []byte { return ctx.Request.Body() }

// PostBodyError returns why PostBody, PostArgs, FormValue or MultipartForm has returned
// nothing, or nil; see Request.BodyError. With Server.StreamRequestBody a handler must
// check it before it concludes that the client has sent an empty body.
func (ctx *RequestCtx) PostBodyError() error { return ctx.Request.BodyError() }

// RequestBodyStream returns a reader of the body of the request, or nil if there is no
// content. With Server.StreamRequestBody, or RequestConfig.BodyMode, it is the body as
// it arrives. The server discards the rest that is unread when the handler returns, and
// closes the connection if that is more than 256 KiB. Otherwise it is the body that was
// received before the handler was called, the same reader each time; there is none for
// a multipart form that was parsed while it arrived.
func (ctx *RequestCtx) RequestBodyStream() io.Reader {
	switch {
	case ctx.Request.body.Stream != nil:
		return ctx.Request.body.Stream
	case ctx.content == nil && len(ctx.Request.bodyBytes()) > 0:
		ctx.content = bytes.NewReader(ctx.Request.bodyBytes())
	case ctx.content == nil:
		return nil
	}
	return ctx.content
}

// ConnID returns a number that identifies the connection within the process.
func (ctx *RequestCtx) ConnID() uint64 {
	if ctx.c == nil {
		return 0
	}
	return ctx.c.ID
}

// ConnRequestNum returns the number of the request on its connection, from 1.
func (ctx *RequestCtx) ConnRequestNum() uint64 { return ctx.requestNum }

// ConnTime returns when the connection was accepted.
func (ctx *RequestCtx) ConnTime() time.Time {
	if ctx.c == nil {
		return time.Time{}
	}
	return ctx.c.OpenedAt()
}

// ID returns a number for the request: ConnID in the upper, ConnRequestNum in
// the lower 32 bits.
func (ctx *RequestCtx) ID() uint64 { return ctx.ConnID()<<32 | ctx.requestNum&0xffffffff }

// Time returns when the request was received, shortly before the handler was
// called. With Server.LazyRequestTime it is the time of the first call.
func (ctx *RequestCtx) Time() time.Time {
	if ctx.receivedAt.IsZero() {
		if !ctx.initTime.IsZero() || ctx.s == nil || !ctx.s.LazyRequestTime {
			return ctx.initTime
		}
		ctx.receivedAt = clock.Read()
	}
	return ctx.receivedAt.Time()
}

// Duration returns how long ago the request was received: the time since Time, or 0 if it is
// not known. It is the same time for all hooks that are called when the response was sent: the
// clock is read once for them.
func (ctx *RequestCtx) Duration() time.Duration {
	if ctx.receivedAt.IsZero() {
		if at := ctx.Time(); ctx.receivedAt.IsZero() {
			if at.IsZero() {
				return 0
			}
			return max(time.Since(at), 0)
		}
	}
	now := time.Duration(0)
	if t := ctx.traced; t != nil {
		if t.sent == notAsked {
			t.sent = clock.Monotonic()
		}
		now = t.sent
	}
	if now == 0 {
		now = clock.Monotonic()
	}
	return max(ctx.receivedAt.Until(now), 0)
}

// ErrMissingFile reports that a multipart form has no file under the key.
var ErrMissingFile = errors.New("fasthttp: there is no uploaded file associated with the given key")

// FormValueFunc looks up a form value; see Server.FormValueFunc. It returns nil if
// there is none.
type FormValueFunc func(*RequestCtx, string) []byte

// NetHttpFormValueFunc is a FormValueFunc that looks where net/http does, in the order
// of net/http: in the body first, then in the query. An empty argument counts as
// missing, except in a multipart form.
var NetHttpFormValueFunc = func(ctx *RequestCtx, key string) []byte {
	if value := ctx.PostArgs().Peek(key); len(value) > 0 {
		return value
	}
	if value := ctx.multipartValue(key); value != nil {
		return value
	}
	if value := ctx.QueryArgs().Peek(key); len(value) > 0 {
		return value
	}
	return nil
}

// FormValue returns the first value under key, which is searched for in the query, in
// a body of type application/x-www-form-urlencoded, and in a multipart form, in this
// order; Server.FormValueFunc may set another. It is nil if there is none, and if the body
// could not be read: see PostBodyError.
//
// A multipart form is parsed on first use, without a limit for its size other than
// the server's: if Server.StreamRequestBody is set, and bodies therefore have no
// limit, call MultipartFormWithLimit first.
func (ctx *RequestCtx) FormValue(key string) []byte {
	if ctx.s != nil && ctx.s.FormValueFunc != nil {
		return ctx.s.FormValueFunc(ctx, key)
	}
	if value := ctx.QueryArgs().Peek(key); len(value) > 0 {
		return value
	}
	if value := ctx.PostArgs().Peek(key); len(value) > 0 {
		return value
	}
	return ctx.multipartValue(key)
}

// multipartValue returns the first value of the multipart form under key, or
// nil.
func (ctx *RequestCtx) multipartValue(key string) []byte {
	form, err := ctx.MultipartForm()
	if err != nil || len(form.Value[key]) == 0 {
		return nil
	}
	return []byte(form.Value[key][0])
}

// FormFile returns the first file of the multipart form under key, or ErrMissingFile
// if there is none, or the error of MultipartForm. See there for how long the file
// lives, and SaveMultipartFile for keeping it longer.
func (ctx *RequestCtx) FormFile(key string) (*multipart.FileHeader, error) {
	form, err := ctx.MultipartForm()
	if err != nil {
		return nil, err
	}
	files := form.File[key]
	if len(files) == 0 {
		return nil, ErrMissingFile
	}
	return files[0], nil
}

// MultipartForm returns the form in a body of type multipart/form-data, or
// ErrNoMultipartForm; see Request.MultipartForm. It is valid, and its files exist,
// until the handler returns.
func (ctx *RequestCtx) MultipartForm() (*multipart.Form, error) {
	return ctx.Request.MultipartForm()
}

// MultipartFormWithLimit is MultipartForm with a limit for the body in bytes;
// see Request.MultipartFormWithLimit.
func (ctx *RequestCtx) MultipartFormWithLimit(maxBodySize int) (*multipart.Form, error) {
	return ctx.Request.MultipartFormWithLimit(maxBodySize)
}

// LimitRequestBody limits the body of the request to limit bytes, as http.MaxBytesReader does.
// It is for bodies that the handler gets as they arrive, by StreamRequestBody or
// BodyModeStream, to which MaxRequestBodySize does not apply. If the body is a stream, it
// counts the bytes that are read after the call. A limit lower than an earlier one replaces
// it, a higher one changes nothing.
//
// The error is ErrBodyTooLarge if the body is known to be larger. Otherwise reading it,
// or a form in it, fails with an error that wraps ErrBodyTooLarge once there are more
// than limit bytes. The server stops reading a stream that exceeds the limit, and
// closes the connection after the response, whose status should be 413. A stream with
// which the application has replaced the body is limited only by the body that it reads
// from.
func (ctx *RequestCtx) LimitRequestBody(limit int64) error {
	req := &ctx.Request
	limit = max(limit, 0)
	// of a handler with a timeout, the context around it has the source
	if source, ok := req.body.Stream.(content.Source); ok {
		return source.Limit(limit)
	}
	switch {
	case req.onlyForm() && req.form.read > limit, int64(len(req.body.Bytes())) > limit:
		return ErrBodyTooLarge
	}
	return nil
}

var _ context.Context = (*RequestCtx)(nil)

// Deadline returns false: requests have no deadline of their own. It is a method of
// context.Context.
func (ctx *RequestCtx) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Value returns the value that SetUserValue has kept under key, or else the value that the
// context given to SetContext has for it, or nil.
func (ctx *RequestCtx) Value(key any) any {
	switch key {
	case ownKey:
		return nil
	case selfKey{}:
		return ctx
	}
	value := ctx.Request.UserValue(key)
	if value == nil && len(ctx.Request.values) > 0 {
		if set := ctx.setContext(); set != nil {
			value = set.Value(key)
		}
	}
	return value
}

// setContext returns the context given to SetContext, or returned by the function given to
// SetContextFunc, or nil.
func (ctx *RequestCtx) setContext() context.Context {
	switch set := ctx.Request.UserValue(contextKey{}).(type) {
	case context.Context:
		return set
	case contextFunc:
		return set(ctx)
	}
	return nil
}

// contextKey is the key of the user value with the context given to SetContext, or the function
// given to SetContextFunc. So it is shared with the other contexts of the request, and dropped,
// like any user value.
type contextKey struct{}

// contextFunc is a function given to SetContextFunc.
type contextFunc func(ctx *RequestCtx) context.Context

// selfKey is the key for which a RequestCtx returns itself, to recognize the contexts that are
// derived from it.
type selfKey struct{}

// Context returns the context given to SetContext or SetContextFunc. Without one, it returns a context for the
// request to derive others from: its Value returns user values, and it ends when ctx ends. It is
// valid as long as ctx.
func (ctx *RequestCtx) Context() context.Context {
	if set := ctx.setContext(); set != nil {
		return set
	}
	return requestContext{ctx}
}

// SetContext makes ctx.Value also find the values of c, so that they travel with the request to
// other handlers, and to calls that get ctx as their context: the span of a tracer, for example.
// c is derived from ctx.Context(), or from a context that has nothing to do with the request:
//
//	spanned, span := tracer.Start(ctx.Context(), "request")
//	defer span.End()
//	ctx.SetContext(spanned)
//	next(ctx)
//
// A value set with SetUserValue takes precedence; for a single value it is enough.
// Deadline, Done and Err of ctx do not change, whatever c has: use ctx.Context() for these. c replaces an earlier one; nil removes it. It is dropped together with the user
// values. SetContext panics if c is derived from a RequestCtx itself, since a value that
// neither has would be looked for without end.
func (ctx *RequestCtx) SetContext(c context.Context) {
	if c == nil {
		ctx.RemoveUserValue(contextKey{})
		return
	}
	if _, derived := c.Value(selfKey{}).(*RequestCtx); derived {
		panic("fasthttp: SetContext needs a context derived from ctx.Context(), not from ctx")
	}
	ctx.SetUserValue(contextKey{}, c)
}

// SetContextFunc is SetContext for a context that few requests need, and that takes time to make: f
// is called whenever ctx.Context() is called, or ctx.Value for a key without a user value. It
// returns the same context for the same request each time, or nil for none. Several goroutines may
// call it at once. It may use the values of ctx, but neither ctx.Context() nor ctx.Value; a
// context to derive from is the one that ctx.Context() has returned before SetContextFunc was called.
func (ctx *RequestCtx) SetContextFunc(f func(ctx *RequestCtx) context.Context) {
	if f == nil {
		ctx.RemoveUserValue(contextKey{})
		return
	}
	ctx.SetUserValue(contextKey{}, contextFunc(f))
}

// requestContext is the context of a request without the context given to SetContext.
type requestContext struct{ ctx *RequestCtx }

func (c requestContext) Deadline() (deadline time.Time, ok bool) { return c.ctx.Deadline() }
func (c requestContext) Done() <-chan struct{}                   { return c.ctx.Done() }
func (c requestContext) Err() error                              { return c.ctx.Err() }

// AfterFunc lets package context derive contexts without a goroutine for each.
func (c requestContext) AfterFunc(f func()) (stop func() bool) { return c.ctx.AfterFunc(f) }

func (c requestContext) Value(key any) any {
	if key == ownKey {
		return nil
	}
	return c.ctx.Request.UserValue(key)
}

// ownKey is the key by which package context asks a context whether it is one of its
// own. It does so from other goroutines, when a context derived from a request ends, so
// the values of the request must be left alone.
var ownKey = func() any {
	p := new(keyProbe)
	_ = context.Cause(p)
	return p.key
}()

// keyProbe is an ended context that remembers the key that it was asked for.
type keyProbe struct {
	onlyDone
	key any
}

func (p *keyProbe) Err() error { return context.Canceled }

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

// SetUserValue keeps a value with the request, for handlers that share it, and for
// Server.ResponseSent. The values are dropped when the response was sent, or has failed;
// io.Closers are closed then.
func (ctx *RequestCtx) SetUserValue(key, value any) { ctx.Request.SetUserValue(key, value) }

// SetUserValueBytes is SetUserValue for the string that key holds.
func (ctx *RequestCtx) SetUserValueBytes(key []byte, value any) {
	ctx.Request.SetUserValueBytes(key, value)
}

// UserValue returns the value kept under key, or nil.
func (ctx *RequestCtx) UserValue(key any) any { return ctx.Request.UserValue(key) }

// UserValueBytes is UserValue for the string that key holds.
func (ctx *RequestCtx) UserValueBytes(key []byte) any { return ctx.Request.UserValueBytes(key) }

// VisitUserValues calls f for all values whose key is a string. The keys that f
// gets are copies, which it may keep and change.
func (ctx *RequestCtx) VisitUserValues(f func([]byte, any)) {
	ctx.Request.VisitUserValues(f)
}

// VisitUserValuesAll calls f for all values.
func (ctx *RequestCtx) VisitUserValuesAll(f func(any, any)) {
	ctx.Request.VisitUserValuesAll(f)
}

// ResetUserValues removes all values, and closes each one that is an io.Closer.
func (ctx *RequestCtx) ResetUserValues() { ctx.Request.ResetUserValues() }

// RemoveUserValue removes the value kept under key.
func (ctx *RequestCtx) RemoveUserValue(key any) { ctx.Request.RemoveUserValue(key) }

// RemoveUserValueBytes is RemoveUserValue for the string that key holds.
func (ctx *RequestCtx) RemoveUserValueBytes(key []byte) {
	ctx.Request.RemoveUserValue(bytesconv.String(key))
}

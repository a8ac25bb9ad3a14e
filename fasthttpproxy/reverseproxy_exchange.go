package fasthttpproxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/watch"
)

// proxyExchange is a request that a ReverseProxy forwards, and its response.
type proxyExchange struct {
	p   *ReverseProxy
	ctx *fasthttp.RequestCtx

	req      *fasthttp.Request  // that the server gets
	resp     *fasthttp.Response // of the server
	informer *informer          // its function is OnInform of req
	body     *proxiedRequest    // the body of req, or nil if it is no stream
	protocol string             // to which the client wants to switch, or ""
	left     atomic.Bool        // the client has ended the connection
	dropped  droppedFields      // from the request
	replied  droppedFields      // from the response
	text     [128]byte          // for the fields that are added

	hook watch.Hook // of the client's end

	mu       sync.Mutex
	cancels  bridge.Canceler // at the client's end
	done     chan struct{}   // of the context; nil until something asks for it
	unhook   func() bool     // keeps the client's end from closing done; not nil if done is open
	funcs    []*endFunc      // of AfterFunc
	released bool            // the exchange is over
}

// serve makes the response.
func (x *proxyExchange) serve() {
	p, ctx := x.p, x.ctx
	if p.unusable != nil {
		x.fail(fasthttp.StatusInternalServerError, p.unusable)
		return
	}
	protocol, ok := p.upgrade(ctx)
	if !ok {
		x.fail(fasthttp.StatusNotImplemented, errNoTunnel)
		return
	}
	x.protocol = protocol
	hops, limited := maxForwards(&ctx.Request.Header)
	if limited && hops == 0 {
		answerLastHop(ctx)
		return
	}
	x.req, x.resp = fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	x.resp.StreamBody = true
	// a body that need not be forwarded piece by piece takes less time
	bridge.BufferReceived(x.resp)
	x.fillRequest()
	if limited {
		x.req.Header.Set(fasthttp.HeaderMaxForwards, strconv.Itoa(hops-1))
	}
	extended := protocol != "" && p.speaksHTTP2()
	if protocol != "" {
		x.askForProtocol(extended)
	}
	if p.Rewrite != nil {
		if err := p.Rewrite(ctx, x.req); err != nil {
			x.fail(fasthttp.StatusBadGateway, err)
			return
		}
	}
	if x.leavesTarget() {
		x.fail(fasthttp.StatusBadRequest, errOutsideTarget)
		return
	}
	if p.anyScheme {
		x.leaveScheme()
	}
	x.informer = informers.Get().(*informer)
	x.informer.x.Store(x)
	x.req.OnInform = x.informer.inform
	err := p.client.DoContext(x, x.req, x.resp)
	if err != nil && extended && errors.Is(err, fasthttp.ErrNoExtendedConnect) {
		x.askForProtocol(false)
		err = p.client.DoContext(x, x.req, x.resp)
	}
	if err != nil {
		x.fail(x.diagnose(err))
		return
	}
	if status, err := x.respond(); err != nil {
		x.fail(status, err)
	}
}

var (
	errNoTunnel   = errors.New("fasthttpproxy: a ReverseProxy opens no tunnels of this kind")
	errUnasked101 = errors.New("the server has switched to another protocol than the one asked for")
)

// A proxyExchange is the context of its calls: it has the values of the request, and ends when the
// client leaves, or with the exchange.
var _ context.Context = (*proxyExchange)(nil)

// aVeryLongTime is longer than any exchange takes.
const aVeryLongTime = 10 * 365 * 24 * time.Hour

// Deadline implements context.Context. The deadline is far away for an LBClient that would set a
// near one.
func (x *proxyExchange) Deadline() (time.Time, bool) {
	if lb, ok := x.p.client.(*fasthttp.LBClient); ok && lb.Timeout == 0 {
		return time.Now().Add(aVeryLongTime), true
	}
	return time.Time{}, false
}

// Done implements context.Context.
func (x *proxyExchange) Done() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done == nil {
		done := make(chan struct{})
		x.done = done
		if x.released {
			close(done)
		} else {
			x.unhook = x.ctx.AfterDisconnect(func() {
				x.left.Store(true)
				close(done)
			})
		}
	}
	return x.done
}

// AfterFunc is the method that context.AfterFunc looks for. A call that needs no channel costs less
// by it.
func (x *proxyExchange) AfterFunc(f func()) (stop func() bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.released {
		go f()
		return func() bool { return false }
	}
	end := &endFunc{f: f}
	unhook := x.ctx.AfterDisconnect(func() {
		x.left.Store(true)
		if end.claim() {
			f()
		}
	})
	if len(x.funcs) == cap(x.funcs) {
		// a tunnel may last, and have many contexts
		x.funcs = slices.DeleteFunc(x.funcs, (*endFunc).isOver)
	}
	x.funcs = append(x.funcs, end)
	return func() bool {
		unhook()
		return end.claim()
	}
}

// endFunc is a function that is called at the end of an exchange: when the client leaves, or later.
type endFunc struct {
	f    func()
	over atomic.Bool
}

// isOver reports whether the function was called or stopped.
func (e *endFunc) isOver() bool { return e.over.Load() }

// claim reports whether the function was neither called nor stopped before.
func (e *endFunc) claim() bool { return !e.over.Swap(true) }

// CancelAtEnd implements bridge.CancelingContext, by which the usual call needs no function either.
func (x *proxyExchange) CancelAtEnd(c bridge.Canceler) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.released || x.cancels != nil || !bridge.HookDisconnect(x.ctx, &x.hook, x) {
		return false
	}
	x.cancels = c
	return true
}

// StopCanceling implements bridge.CancelingContext.
func (x *proxyExchange) StopCanceling() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.cancels = nil
	return x.hook.Stop()
}

// ClientLeft is called when the client has left. The call may be over then.
func (x *proxyExchange) ClientLeft() {
	x.left.Store(true)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cancels != nil {
		x.cancels.Cancel(context.Canceled)
	}
}

// Err implements context.Context.
func (x *proxyExchange) Err() error {
	if x.left.Load() {
		return context.Canceled
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.released {
		return context.Canceled
	}
	return nil
}

// Value implements context.Context. A dial that outlives its call may still ask.
func (x *proxyExchange) Value(key any) any {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.released {
		return nil
	}
	return x.ctx.Value(key)
}

// informer has a function that a request keeps during its call. It is reused, since each method value
// would take memory.
type informer struct {
	x      atomic.Pointer[proxyExchange]
	inform func(h *fasthttp.ResponseHeader) error
}

var informers = sync.Pool{New: func() any {
	i := new(informer)
	i.inform = func(h *fasthttp.ResponseHeader) error {
		if x := i.x.Load(); x != nil {
			return x.inform(h)
		}
		return nil
	}
	return i
}}

// inform forwards an informational response. The server itself sends 100 (Continue) when the
// content is read.
func (x *proxyExchange) inform(h *fasthttp.ResponseHeader) error {
	if h.StatusCode() == fasthttp.StatusContinue {
		return nil
	}
	dropped := droppedFields{keep: true}
	dropped.removeFrom(h)
	return x.ctx.Inform(h)
}

// respond makes the response of the server the response of ctx. If it returns an error, and its
// status, the response is not used.
func (x *proxyExchange) respond() (failed int, err error) {
	status := x.resp.StatusCode()
	switch switched := status == fasthttp.StatusSwitchingProtocols; {
	case x.protocol == "" && switched:
		return fasthttp.StatusBadGateway, fmt.Errorf("%w: %w", ErrBadGateway, errUnasked101)
	case x.protocol != "" && (switched || x.req.Header.IsConnect() && status/100 == 2):
		return fasthttp.StatusBadGateway, x.switchProtocol()
	case x.ctx.IsConnect() && status/100 == 2:
		// the client would take the response for the beginning of its protocol
		return fasthttp.StatusBadGateway, fmt.Errorf("%w: %w", ErrBadGateway, errUnasked101)
	}
	stream := x.copyResponse()
	if modify := x.p.ModifyResponse; modify != nil {
		return x.modify(stream, modify)
	}
	return 0, nil
}

// modify calls the ModifyResponse function. The body that it sets may read stream, the body of the
// response of the server: replacing that one does not end the exchange yet.
func (x *proxyExchange) modify(stream *proxiedResponse, modify func(ctx *fasthttp.RequestCtx) error) (failed int, err error) {
	if stream == nil {
		return fasthttp.StatusBadGateway, modify(x.ctx)
	}
	stream.isHeld = true
	returned := false
	defer func() {
		if !returned {
			x.release() // modify has panicked, and the application may recover
		}
	}()
	err = modify(x.ctx)
	stream.isHeld, returned = false, true
	switch body := x.ctx.Response.BodyStream(); {
	case err != nil:
		return fasthttp.StatusBadGateway, err
	case stream.err != nil:
		// modify has got a part of the body
		return x.diagnose(stream.err)
	case body == nil:
		x.release()
	case body != io.Reader(stream):
		x.endWithRequest()
	}
	return 0, nil
}

// endWithRequest makes the exchange end with the request of the client.
func (x *proxyExchange) endWithRequest() { x.ctx.SetUserValue(endKey{x}, exchangeEnd{x}) }

// endKey is the key of the user value that ends an exchange. A handler may begin more than one.
type endKey struct{ x *proxyExchange }

type exchangeEnd struct{ x *proxyExchange }

// Close implements io.Closer. It is called when the request ends.
func (e exchangeEnd) Close() error {
	e.x.release()
	return nil
}

// shortBody is the size up to which copying a body costs less than a new buffer.
const shortBody = 16 << 10

// copyResponse copies the response of the server to ctx. The body of a stream is forwarded when
// the handler has returned, and ends the exchange.
func (x *proxyExchange) copyResponse() *proxiedResponse {
	from, to := x.resp, &x.ctx.Response
	size := from.Header.ContentLength()
	stream := from.BodyStream()
	if stream == nil {
		bridge.MoveHeader(&to.Header, &from.Header)
	} else {
		from.Header.CopyTo(&to.Header)
	}
	x.replied.keep = true
	x.replied.removeFrom(&to.Header)
	keepDate(&to.Header)
	to.Header.SetNoDefaultContentType(true)
	switch {
	case x.ctx.IsHead():
		to.SkipBody = true
	case stream != nil:
		// each piece that the server sends is forwarded at once
		to.ImmediateHeaderFlush = true
		body := &proxiedResponse{stream: stream, x: x}
		to.SetBodyStream(body, size)
		return body
	case len(from.Body()) <= shortBody:
		to.SetBody(from.Body())
	default:
		to.SwapBody(from.SwapBody(nil))
	}
	x.release()
	return nil
}

// fail makes the response to an exchange that has failed.
func (x *proxyExchange) fail(status int, err error) {
	x.release()
	ctx := x.ctx
	ctx.Error(fasthttp.StatusMessage(status), status)
	switch {
	case x.p.ErrorHandler != nil:
		x.p.ErrorHandler(ctx, err)
	case !errors.Is(err, ErrClientLeft):
		ctx.Logger().Printf("%v", err)
	}
}

// release ends the exchange. If the response of the server was not read to its end, its
// connection is closed.
func (x *proxyExchange) release() {
	x.mu.Lock()
	if x.released || x.req == nil {
		x.mu.Unlock()
		return
	}
	x.released = true
	if x.unhook != nil && x.unhook() {
		close(x.done)
	}
	x.mu.Unlock()
	if i := x.informer; i != nil {
		i.x.Store(nil)
		informers.Put(i)
	}
	_ = x.resp.CloseBodyStream()
	x.body.end()
	fasthttp.ReleaseRequest(x.req)
	fasthttp.ReleaseResponse(x.resp)
	for _, end := range x.funcs {
		// the call itself has stopped its own
		if end.claim() {
			go end.f()
		}
	}
}

// proxiedResponse is the body of a forwarded response. Its errors make the server abort the
// response.
type proxiedResponse struct {
	stream io.Reader
	x      *proxyExchange
	isHeld bool  // the end of the body is not the end of the exchange
	err    error // of stream
}

// Read implements io.Reader. The trailer fields that arrive after the body become trailer fields
// of the response.
func (b *proxiedResponse) Read(p []byte) (int, error) {
	n, err := b.stream.Read(p)
	if err == io.EOF {
		for name, value := range b.x.resp.Header.TrailerFields() {
			if !b.x.replied.has(name) {
				// fields that were accepted on receipt can be sent
				_ = b.x.ctx.Response.Header.AddTrailerFieldBytes(name, value)
			}
		}
	} else if err != nil {
		b.err = err
	}
	return n, err
}

// SendsPieces implements fasthttp.PiecewiseStream.
func (b *proxiedResponse) SendsPieces() bool { return true }

// Close implements io.Closer. The server calls it after the response was sent, or has failed.
func (b *proxiedResponse) Close() error {
	if !b.isHeld {
		b.x.release()
	}
	return nil
}

// proxiedRequest is the body of a request while it arrives. The client reads it on a goroutine of
// its own, and may do so while the response is forwarded already.
type proxiedRequest struct {
	ctx    *fasthttp.RequestCtx
	stream io.Reader

	// the header of the request of the client is not used for trailer fields: a function of the
	// application may be reading it
	received fasthttp.RequestHeader  // gets the trailer fields of the client
	to       *fasthttp.RequestHeader // gets the ones that are forwarded
	dropped  *droppedFields

	mu      sync.Mutex
	idle    sync.Cond // signals the end of reading
	reading bool
	closed  bool
	err     error // of the stream
}

func newProxiedRequest(ctx *fasthttp.RequestCtx, stream io.Reader, to *fasthttp.RequestHeader, dropped *droppedFields) *proxiedRequest {
	b := &proxiedRequest{ctx: ctx, stream: stream, to: to, dropped: dropped}
	b.idle.L = &b.mu
	bridge.TrailersTo(ctx, &b.received)
	return b
}

// Trailers implements bridge.TrailerSource. The section begins with the fields of Rewrite.
func (b *proxiedRequest) Trailers() any {
	own := new(fasthttp.RequestHeader)
	for name, value := range b.to.TrailerFields() {
		_ = own.AddTrailerFieldBytes(name, value)
	}
	b.to = own
	return own
}

// Read implements io.Reader.
func (b *proxiedRequest) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return 0, net.ErrClosed
	}
	b.reading = true
	b.mu.Unlock()
	n, err := b.stream.Read(p)
	if err == io.EOF {
		for name, value := range b.received.TrailerFields() {
			if !b.dropped.has(name) {
				_ = b.to.AddTrailerFieldBytes(name, value)
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = false
	if err != nil && err != io.EOF && !b.closed {
		b.err = err
	}
	b.idle.Broadcast()
	return n, err
}

// SendsPieces implements fasthttp.PiecewiseStream.
func (b *proxiedRequest) SendsPieces() bool { return true }

// Close implements io.Closer: the client reads no more. The server discards the rest.
func (b *proxiedRequest) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.close()
	return nil
}

// close is Close. mu is held.
func (b *proxiedRequest) close() {
	if b.closed {
		return
	}
	b.closed = true
	if c, ok := b.stream.(io.Closer); ok && !b.reading {
		_ = c.Close()
	}
}

// end ends the reading. When it returns, no goroutine reads from the client.
func (b *proxiedRequest) end() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.close()
	if !b.reading {
		return
	}
	b.interrupt()
	for b.reading {
		b.idle.Wait()
	}
}

// interrupt ends a Read that waits for the client.
func (b *proxiedRequest) interrupt() {
	c, ok := b.stream.(io.Closer)
	if ok && string(b.ctx.Request.Header.Protocol()) == "HTTP/2.0" {
		// a stream may be closed while it is read
		_ = c.Close()
		return
	}
	_ = b.ctx.SetReadDeadline(time.Unix(1, 0))
}

// failure returns the error of reading from the client.
func (b *proxiedRequest) failure() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

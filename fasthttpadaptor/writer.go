package fasthttpadaptor

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/lockorder"
)

// bufferLimit is how much of a response is kept in memory before it is sent in pieces.
// A shorter response is sent as a whole, with its length, when the handler has
// returned.
const bufferLimit = 32 << 10

var (
	errBegun = errors.New("fasthttpadaptor: the response has begun, and is not sent to the connection as it is, so that cannot be hijacked")
	errOver  = errors.New("fasthttpadaptor: the handler has returned")
	errGone  = errors.New("fasthttpadaptor: the client is gone, or the response was dropped")
)

// responseWriter is the http.ResponseWriter of a handler. The handler's goroutine
// writes to it. The server's goroutine, which has called the RequestHandler, sets the
// response from it.
type responseWriter struct {
	ctx     *fasthttp.RequestCtx
	body    *requestBody // nil if the request has none
	context *requestContext
	isHead  bool
	streams bool // the connection carries other requests, too
	preset  int  // the status that was set before the handler was called

	header http.Header // of the handler

	// mu guards the fields below, for handlers that write from several goroutines in turn
	mu       lockorder.Mutex[lockorder.ResponseWriter]
	status   int         // 0 until WriteHeader
	head     http.Header // a copy of header at the time of WriteHeader
	length   int64       // the length that the handler has announced; -1 if none
	written  int64       // bytes that the handler has written, or has tried to write
	sniff    []byte      // the beginning of the body
	buffered int         // bytes in the body of ctx.Response
	state    state
	duplex   bool
	closes   bool // the connection is not reused
	flushed  bool // a response without a body was flushed: it must not be replaced
	deadline writeDeadline

	turn     chan turn     // gets one value, for the server's goroutine
	stream   *stream       // nil until the response begins before the handler returns
	hijacked chan net.Conn // the result of Hijack; made by Hijack
	released releaseSignal // closed when the server is done with a hijacked request; made by Hijack
	owns     bool          // the handler has got the connection
	done     chan struct{} // closed when the handler has returned; nil before turnBegun and turnHijack
	fault    any           // the value of a panic of the handler; valid when that has returned
}

// turn is the first event for which the server's goroutine waits.
type turn uint8

const (
	turnBegun    turn = iota // the response begins before the handler returns
	turnHijack               // the handler has called Hijack before that
	turnReturned             // the handler has returned
)

type state uint8

const (
	stateBuffering state = iota
	stateSending         // the server reads from the stream
	stateHijacked
	stateOver // the handler has returned
)

func newResponseWriter(ctx *fasthttp.RequestCtx, r *http.Request, body *requestBody, c *requestContext) *responseWriter {
	ctx.Response.ResetBody()
	return &responseWriter{
		ctx: ctx, body: body, context: c,
		isHead:  r.Method == http.MethodHead,
		streams: ctx.IsHTTP2() || r.ProtoMajor == 3,
		preset:  presetStatus(&ctx.Response),
		header:  make(http.Header),
		length:  -1,
		duplex:  ctx.FullDuplex(),
		turn:    make(chan turn, 1),
	}
}

// presetStatus returns the status of a response whose handler sets none: the status set by a
// handler around it.
func presetStatus(resp *fasthttp.Response) int {
	if status := resp.StatusCode(); status >= 200 && status <= 999 {
		return status
	}
	return http.StatusOK
}

// Header implements http.ResponseWriter.
func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.state == stateHijacked || w.state == stateOver:
	case w.status != 0:
		w.ctx.Logger().Printf("fasthttpadaptor: superfluous WriteHeader call with %d after %d", status, w.status)
	case status < 100 || status > 999:
		panic(fmt.Sprintf("invalid WriteHeader code %v", status))
	case status < 200 && status != http.StatusSwitchingProtocols:
		w.inform(status)
	default:
		w.writeHeader(status)
	}
}

// inform sends an informational response. It ignores 100 Continue, which is sent when
// the handler reads the body.
func (w *responseWriter) inform(status int) {
	if status == http.StatusContinue {
		return
	}
	var h fasthttp.ResponseHeader
	h.SetStatusCode(status)
	setFields(&h, w.header)
	// an error of the connection will occur again when the response is sent
	_ = w.ctx.Inform(&h)
}

func (w *responseWriter) writeHeader(status int) {
	w.status = status
	w.head = w.header.Clone()
	if w.head == nil {
		w.head = make(http.Header)
	}
	if text := w.head.Get("Content-Length"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			w.ctx.Logger().Printf("fasthttpadaptor: invalid Content-Length of %q", text)
		} else {
			w.length = n
		}
	}
}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.mayWrite(len(p)); err != nil {
		return 0, err
	}
	if w.isHead {
		w.startSniff(p)
		return len(p), nil
	}
	if w.state == stateBuffering {
		w.startSniff(p)
		if w.buffered+len(p) <= bufferLimit {
			w.ctx.Response.AppendBody(p)
			w.buffered += len(p)
			return len(p), nil
		}
		w.begin()
	}
	return w.stream.write(p)
}

// WriteString implements io.StringWriter.
func (w *responseWriter) WriteString(s string) (int, error) {
	w.mu.Lock()
	if w.state == stateBuffering && !w.isHead && w.buffered+len(s) <= bufferLimit {
		defer w.mu.Unlock()
		if err := w.mayWrite(len(s)); err != nil {
			return 0, err
		}
		if len(w.sniff) < sniffLength {
			w.startSniff([]byte(s[:min(len(s), sniffLength)]))
		}
		w.ctx.Response.AppendBodyString(s)
		w.buffered += len(s)
		return len(s), nil
	}
	w.mu.Unlock()
	return w.Write([]byte(s))
}

var _ io.StringWriter = (*responseWriter)(nil)

// mayWrite counts n more bytes of the body, or returns the error of a Write that must not
// write them. As with net/http, a Write that is too long writes nothing, and neither do later
// ones.
func (w *responseWriter) mayWrite(n int) error {
	if err := w.ensureStatus(); err != nil || n == 0 {
		return err
	}
	if !bodyAllowed(w.status) {
		return http.ErrBodyNotAllowed
	}
	w.written += int64(n)
	if w.length >= 0 && w.written > w.length {
		return http.ErrContentLength
	}
	return nil
}

// ensureStatus sets the status if the handler has set none. It fails if nothing may be
// written any more.
func (w *responseWriter) ensureStatus() error {
	switch w.state {
	case stateHijacked:
		return http.ErrHijacked
	case stateOver:
		return errOver
	}
	if w.status == 0 {
		w.writeHeader(w.preset)
	}
	return nil
}

// sniffLength is how much of a body is used to guess its type.
const sniffLength = 512

// startSniff keeps the beginning of the body, to guess its type if the handler does not
// set it.
func (w *responseWriter) startSniff(p []byte) {
	if n := min(sniffLength-len(w.sniff), len(p)); n > 0 && !w.knowsType() {
		w.sniff = append(w.sniff, p[:n]...)
	}
}

// knowsType reports whether the handler has set the type of the body, or has forbidden
// to guess it. As in net/http, content with a coding is not looked at.
func (w *responseWriter) knowsType() bool {
	_, typed := w.head["Content-Type"]
	return typed || w.head.Get("Content-Encoding") != "" || w.head.Get("Transfer-Encoding") != ""
}

func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

// Flush implements http.Flusher.
func (w *responseWriter) Flush() { _ = w.FlushError() }

// FlushError sends the content written so far. An error means that the connection has ended. A
// response without a body is sent when the handler returns.
func (w *responseWriter) FlushError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.ensureStatus(); err != nil {
		return err
	}
	if w.isHead || !bodyAllowed(w.status) {
		w.flushed = true
		return nil
	}
	if w.state == stateBuffering {
		w.begin()
	}
	return w.stream.flush()
}

// SetReadDeadline sets the deadline for reading the body of the request. Like SetWriteDeadline, it
// does not wait for a Write of another goroutine.
func (w *responseWriter) SetReadDeadline(deadline time.Time) error {
	return w.deadline.setRead(w.ctx, deadline)
}

// SetWriteDeadline sets the deadline for writing the response.
func (w *responseWriter) SetWriteDeadline(deadline time.Time) error {
	return w.deadline.set(w.ctx, deadline)
}

// EnableFullDuplex lets the handler continue to read the body of the request after the
// response has begun. It must be called before that. Over HTTP/2 it is not needed.
func (w *responseWriter) EnableFullDuplex() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state == stateBuffering {
		w.duplex = true
		w.ctx.EnableFullDuplex()
	}
	return nil
}

// begin starts the response before the handler has returned.
func (w *responseWriter) begin() {
	switch {
	case w.body == nil || w.duplex:
	case w.body.exceedsDrainLimit():
		w.closes = true
		w.ctx.EnableFullDuplex()
	case !w.body.drain():
		w.closes = true
	}
	// watching the client cannot begin while the server writes
	w.context.watch()
	w.stream = newStream(w)
	w.stream.unsent = w.ctx.Response.SwapBody(nil)
	w.state = stateSending
	w.done = make(chan struct{})
	w.turn <- turnBegun
}

// finish ends the response when the handler has returned.
func (w *responseWriter) finish() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.context.cancel()
	w.deadline.end()
	if w.state == stateHijacked {
		if w.panicked() && !w.owns {
			// otherwise the server logs it; the context is not of this goroutine
			log.Print(w.fault)
		}
		return
	}
	if w.panicked() && w.answered() {
		// only the log can report the panic: the status is already set
		w.ctx.Logger().Printf("fasthttpadaptor: %v", w.fault)
	}
	if w.status == 0 && w.fault == nil {
		w.writeHeader(w.preset)
	}
	// if the response has begun, its Connection field was already sent
	if w.body != nil && !w.body.leave() && w.state == stateBuffering {
		w.closes = true
	}
	w.state = stateOver
}

// panicked reports whether the handler has ended with a panic that must be reported.
func (w *responseWriter) panicked() bool {
	return w.fault != nil && w.fault != any(http.ErrAbortHandler)
}

// answered reports whether the response of the handler has begun, so that no other can
// replace it.
func (w *responseWriter) answered() bool { return w.state == stateSending || w.flushed }

// trailers returns the fields that the handler has set to be sent after the body.
func (w *responseWriter) trailers(yield func(name string, values []string) bool) {
	announced := announcedTrailers(w.head)
	for name, values := range w.header {
		suffix, prefixed := strings.CutPrefix(name, http.TrailerPrefix)
		if prefixed {
			name = http.CanonicalHeaderKey(suffix)
		} else if !announced[name] {
			continue
		}
		if !yield(name, values) {
			return
		}
	}
}

// announcedTrailers returns the names in the Trailer field.
func announcedTrailers(head http.Header) map[string]bool {
	var names map[string]bool
	for _, list := range head["Trailer"] {
		for name := range strings.SplitSeq(list, ",") {
			if names == nil {
				names = make(map[string]bool)
			}
			names[http.CanonicalHeaderKey(strings.TrimSpace(name))] = true
		}
	}
	return names
}

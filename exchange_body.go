package fasthttp

import (
	"bytes"
	"io"
	"math"
	"runtime"
	"runtime/debug"

	"github.com/valyala/fasthttp/internal/bodymem"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// Bodies in memory count towards Server.MaxRequestBodyMemory, except small ones, which are
// the usual case. The methods up to detachBodyMemory follow the life of such a body:
// reserveBodyMemory while it arrives, bodyArrived at its end, and then one of the other three.

// reserveBodyMemory counts room bytes as the memory of the body, after got more bytes of it
// have arrived. If done is set it was received as a whole, so it cannot stall anymore. The
// error is ErrBodyTooLarge or ErrRequestBodyMemory if there is no memory for the body.
func (x *exchange) reserveBodyMemory(room, got int, done bool) error {
	m := &x.s.bodies
	if !m.Fits(room) {
		return ErrBodyTooLarge
	}
	if x.bodyMemory == nil {
		x.bodyMemory = m.New(x.t, x.c.ID)
	}
	if !m.Reserve(x.bodyMemory, room, got, done) {
		return ErrRequestBodyMemory
	}
	return nil
}

// bodyArrived is called when the body has arrived, or is no longer awaited.
func (x *exchange) bodyArrived() {
	if x.bodyMemory != nil {
		x.s.bodies.Arrived(x.bodyMemory)
	}
}

// endBodyMemory is called when the exchange no longer uses the body. The body is still counted
// while a late handler within a TimeoutHandler has it.
func (x *exchange) endBodyMemory() {
	switch {
	case x.bodyMemory == nil:
	case x.ctx != nil && x.ctx.lendsBody():
		x.detachBodyMemory(x.ctx.lateRun.ctx)
	default:
		x.releaseBodyMemory()
	}
}

// releaseBodyMemory stops counting the body, which is no longer used.
func (x *exchange) releaseBodyMemory() {
	if held := x.bodyMemory; held != nil {
		x.bodyMemory = nil
		x.s.bodies.Release(held)
	}
}

// detachBodyMemory counts the body until ctx, which keeps it, is garbage-collected.
func (x *exchange) detachBodyMemory(ctx *RequestCtx) {
	if held := x.bodyMemory; held != nil {
		x.bodyMemory = nil
		runtime.AddCleanup(ctx, bodymem.Detached.Release, x.s.bodies.Detach(held))
	}
}

// parseFrom is the size in bytes above which the body of a multipart form is parsed while it
// arrives. The default limit of bodies never allows such a body.
const parseFrom = DefaultMaxRequestBodySize

// parsesForm reports whether the body, of which got bytes have arrived, is a form too large
// to be collected in memory. A form with content codings is collected like any other body:
// it is decoded if the handler asks for that.
func (x *exchange) parsesForm(framing http1.Framing, got int64) bool {
	if framing.Kind == http1.Length {
		got = framing.Length
	}
	if got <= parseFrom || x.s.DisablePreParseMultipartForm || x.streamsBodies() {
		return false
	}
	h := &x.ctx.Request.Header
	return len(h.MultipartFormBoundary()) > 0 && h.list.FindID(field.ContentEncoding, 0) < 0
}

// streamBody turns a body whose beginning is in memory into a stream: first the beginning, then
// the content of source. The caller releases the buffer of the beginning once it was read.
func (x *exchange) streamBody(source contentSource) (beginning *bufpool.Buffer) {
	req := &x.ctx.Request
	beginning, req.body.buf = req.body.buf, nil
	req.source = source
	req.body.setStream(io.MultiReader(bytes.NewReader(beginning.B), source), -1)
	return beginning
}

// parseForm parses the form of the request, whose body is a stream, and discards the content
// after the form. beginning is the buffer that streamBody has returned, or nil.
func (x *exchange) parseForm(beginning *bufpool.Buffer) error {
	room := formMemory
	if x.bodyMemory != nil {
		room += int(x.bodyMemory.Bytes())
	}
	if err := x.reserveBodyMemory(room, 0, false); err != nil {
		return err
	}
	if err := x.ctx.Request.parseForm(int64(max(x.bodyLimit(), 0)), (*formDecoder).startPlain); err != nil {
		return err
	}
	bufpool.Put(beginning)
	x.t.formParsed()
	x.bodyArrived()
	if x.s.Trace != nil {
		x.traceBody()
	}
	return nil
}

// ErrRequestBodyMemory is the error of a request that was refused because the bodies in the
// memory of the Server have reached MaxRequestBodyMemory.
var ErrRequestBodyMemory error = http1.ErrBodyMemory

const (
	// defaultBodyMemory is the limit in bytes for the buffers of all bodies, if the runtime
	// has no memory limit.
	defaultBodyMemory = 1 << 30
	// uncountedBody is the size up to which a buffer is not counted.
	uncountedBody = 16 << 10
	// aheadRoom is the size above which a buffer is counted before it is allocated.
	aheadRoom = 64 << 10
	// bodyRetryAfter is the number of seconds after which a refused client may try again.
	bodyRetryAfter = "1"
)

// bodyMemoryLimit returns the limit in bytes for the buffers of all bodies. The default has
// room for the largest allowed body, whose buffer may be twice its size.
func (s *Server) bodyMemoryLimit() int64 {
	switch {
	case s.MaxRequestBodyMemory > 0:
		return int64(s.MaxRequestBodyMemory)
	case s.MaxRequestBodyMemory < 0:
		return math.MaxInt64
	}
	limit := int64(defaultBodyMemory)
	if all := debug.SetMemoryLimit(-1); all < math.MaxInt64 {
		limit = all / 2
	}
	largest := int64(s.settings().maxBodySize)
	return max(limit, min(largest, math.MaxInt64/2)*2)
}

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

// holdBody counts the memory of the body of the current request, of which got bytes
// have just come. A body that is done cannot stall any more.
func (x *exchange) holdBody(room, got int, done bool) error {
	m := &x.s.bodies
	if !m.Fits(room) {
		return ErrBodyTooLarge
	}
	if x.held == nil {
		x.held = m.New(x.t, x.c.ID)
	}
	if !m.Hold(x.held, room, got, done) {
		return ErrRequestBodyMemory
	}
	return nil
}

// bodyArrived says that the body has arrived, or is not waited for any more.
func (x *exchange) bodyArrived() {
	if x.held != nil {
		x.s.bodies.Arrived(x.held)
	}
}

// endBodyCount says that the exchange does not use the body any more. If a handler within a
// TimeoutHandler still has it, it counts on.
func (x *exchange) endBodyCount() {
	switch {
	case x.held == nil:
	case x.ctx != nil && x.ctx.left != nil:
		x.leaveBodyCount(x.ctx.left.ctx)
	default:
		x.dropBodyCount()
	}
}

// dropBodyCount says that the body is not used any more.
func (x *exchange) dropBodyCount() {
	if held := x.held; held != nil {
		x.held = nil
		x.s.bodies.Drop(held)
	}
}

// leaveBodyCount counts the body until the context that keeps it is garbage.
func (x *exchange) leaveBodyCount(ctx *RequestCtx) {
	if held := x.held; held != nil {
		x.held = nil
		runtime.AddCleanup(ctx, bodymem.Left.Drop, x.s.bodies.Leave(held))
	}
}

// parseFrom is the size over which the body of a multipart form is parsed while
// it arrives: with the default limit for bodies that is never needed.
const parseFrom = DefaultMaxRequestBodySize

// parsesForm reports whether the body, of which got bytes have come, is a form that is too
// large to be held in memory. A form with content codings is held in memory as any
// other body: it is decoded if the handler asks for it.
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

// readOn makes the body a stream: the beginning, which is in memory, and then what source
// gets.
func (x *exchange) readOn(source contentSource) (beginning *bufpool.Buffer) {
	req := &x.ctx.Request
	beginning, req.body.buf = req.body.buf, nil
	req.source = source
	req.body.setStream(io.MultiReader(bytes.NewReader(beginning.B), source), -1)
	return beginning
}

// parseForm parses the form of the current request, whose body is a stream until then.
// What comes after the form is discarded. beginning is what readOn has returned, or nil.
func (x *exchange) parseForm(beginning *bufpool.Buffer) error {
	room := formMemory
	if x.held != nil {
		room += int(x.held.Bytes())
	}
	if err := x.holdBody(room, 0, false); err != nil {
		return err
	}
	if err := x.ctx.Request.parseForm(int64(max(x.bodyLimit(), 0)), (*formDecoder).startPlain); err != nil {
		return err
	}
	bufpool.Put(beginning)
	x.t.formParsed()
	x.bodyArrived()
	return nil
}

// ErrRequestBodyMemory says that a request was refused since the bodies that a
// Server holds have reached MaxRequestBodyMemory.
var ErrRequestBodyMemory error = http1.ErrBodyMemory

// Small bodies, as most are, are not counted.

const (
	// defaultBodyMemory is how much all bodies may take, unless the memory limit of
	// the runtime is set.
	defaultBodyMemory = 1 << 30
	// uncountedBody is the size up to which a buffer is not counted.
	uncountedBody = 16 << 10
	// aheadRoom is the size over which a buffer is counted before it is allocated.
	aheadRoom = 64 << 10
	// bodyRetryAfter is in how many seconds a refused client may try again.
	bodyRetryAfter = "1"
)

// bodyMemoryLimit returns how many bytes the buffers of all bodies may have. By
// default there is room for the largest body, whose buffer may be twice its size.
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

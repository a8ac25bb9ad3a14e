package fasthttp

import (
	"bytes"
	"io"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// spoolFrom is the size over which the body of a multipart form is parsed while
// it arrives: with the default limit for bodies that is never needed.
const spoolFrom = DefaultMaxRequestBodySize

// spoolsForm reports whether the body of the current request is a form that is too
// large to be held in memory. A form with content codings is held in memory as any
// other body: it is decoded if the handler asks for it.
func (x *exchange) spoolsForm(framing http1.Framing) bool {
	return framing.Kind == http1.Length && framing.Length > spoolFrom && x.maySpool()
}

// outgrown reports the same of a body that comes in chunks, once so much of it has
// come.
func (x *exchange) outgrown() bool {
	return x.recv.got > spoolFrom && x.recv.decoder.Kind() == http1.Chunks && x.maySpool()
}

func (x *exchange) maySpool() bool {
	return !x.streamsBodies() && x.s.maySpool(&x.ctx.Request.Header)
}

// maySpool reports whether h is the header of a form that is parsed while it arrives, if
// it is large.
func (s *Server) maySpool(h *RequestHeader) bool {
	return !s.DisablePreParseMultipartForm && len(h.MultipartFormBoundary()) > 0 &&
		h.list.FindID(field.ContentEncoding, 0) < 0
}

// spoolRest parses a form whose beginning is in memory and whose rest is still to
// come.
func (x *exchange) spoolRest() (engine.Action, bool) {
	req := &x.ctx.Request
	x.conn.SetReading(http1.ReadStream)
	x.setReadUntil(x.wholeUntil)
	x.blocking()
	if err := x.flushNow(); err != nil {
		return x.flushFailed(err)
	}
	beginning := req.body.buf
	req.body.buf = nil
	source := x.newSource()
	source.resume(x, x.recv.decoder, &req.Header.header, x.s.AcceptTrailer)
	req.source = source
	req.body.setStream(io.MultiReader(bytes.NewReader(beginning.B), source), -1)
	if err := x.spoolForm(int(x.recv.limit)); err != nil {
		return x.refuse(err)
	}
	bufpool.Put(beginning)
	return x.serve()
}

// spoolForm parses the form of the current request, whose body is a stream until then
// and may have limit bytes. Bytes of the body after the form are discarded.
func (x *exchange) spoolForm(limit int) error {
	room := formMemory
	if x.held != nil {
		room += int(x.held.Bytes())
	}
	if err := x.holdBody(room, 0, false); err != nil {
		return err
	}
	if err := x.ctx.Request.parseForm(int64(max(limit, 0)), (*formDecoder).startPlain); err != nil {
		return err
	}
	x.dropBody(true)
	x.arrived()
	// the handler gets a form, so it cannot be reading from the connection
	x.conn.SetReading(http1.ReadDone)
	return nil
}

package fasthttp

import (
	"bytes"
	"io"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/http1"
)

// A form that is too large to be held in memory is parsed while it arrives, by the goroutine
// that then calls the handler: see exchange.spoolsForm.

// spoolsForm reports whether the body of the request is such a form. Of one whose length is
// not announced that is known once so much of it has come.
func (x *h2Exchange) spoolsForm() bool {
	size := x.got
	if x.framing.Kind == http1.Length {
		size = x.framing.Length
	}
	return size > spoolFrom && x.h.s.maySpool(&x.ctx.Request.Header)
}

// receiveStream has the rest of the body read as it arrives, after the part of it that is in
// memory. end says that all of it has come.
func (x *h2Exchange) receiveStream(end bool) {
	req := &x.ctx.Request
	content := newH2Content(x, end)
	x.h.mu.Lock()
	x.content = content
	x.h.mu.Unlock()
	if len(req.body.bytes()) == 0 {
		// the body may have a buffer from an earlier request
		req.setSource(content, req.Header.contentLength)
		return
	}
	beginning := req.body.buf
	req.body.buf = nil
	x.beginning = beginning
	req.source = content
	req.body.setStream(io.MultiReader(bytes.NewReader(beginning.B), content), -1)
}

// spoolForm parses the form of the request, whose body is a stream until then. What comes
// after the form is discarded.
func (x *h2Exchange) spoolForm() error {
	room := formMemory
	if x.held != nil {
		room += int(x.held.Bytes())
	}
	if err := x.hold(room, 0, false); err != nil {
		return err
	}
	err := x.ctx.Request.parseForm(x.limit, (*formDecoder).startPlain)
	if err != nil {
		return err
	}
	bufpool.Put(x.beginning)
	x.beginning = nil
	limit := drainLimit
	x.content.Drain(&limit)
	x.h.s.bodies.Arrived(x.held)
	return nil
}

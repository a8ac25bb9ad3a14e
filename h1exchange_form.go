package fasthttp

import (
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http1"
)

// parseRest parses a form whose beginning is in memory and whose rest is still to
// come.
func (x *h1Exchange) parseRest() (engine.Action, bool) {
	x.h.conn.SetReading(http1.ReadStream)
	x.h.setReadUntil(x.h.wholeUntil)
	x.h.blocking()
	if err := x.flushNow(); err != nil {
		return x.flushFailed(err)
	}
	source := x.newSource()
	source.resume(x, x.recv.decoder, &x.ctx.Request.Header.header, x.s.AcceptTrailer)
	x.readOn(source)
	return x.serveForm()
}

// serveForm serves a request whose form is parsed as it arrives.
func (x *h1Exchange) serveForm() (engine.Action, bool) {
	if err := x.parseForm(); err != nil {
		return x.refuse(err)
	}
	return x.serve()
}

// formParsed implements serverTransport.
func (x *h1Exchange) formParsed() {
	x.dropBody(true)
	// the handler gets a form, so it cannot be reading from the connection
	x.h.conn.SetReading(http1.ReadDone)
}

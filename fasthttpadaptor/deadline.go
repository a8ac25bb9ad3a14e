package fasthttpadaptor

import (
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/lockorder"
)

// writeDeadline is the write deadline that a handler has set. When the server begins to write,
// which may be after a Flush has returned, it sets its own deadline. Then the handler's
// deadline is set again.
type writeDeadline struct {
	// responseWriter.mu is held during a Write, which a deadline must be able to end
	mu    lockorder.Mutex[lockorder.WriteDeadline]
	own   bool // the handler has set one, and the server may overwrite it
	until time.Time
	began bool // the server has set its own
	over  bool // the handler may set none any more
}

func (d *writeDeadline) set(ctx *fasthttp.RequestCtx, until time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return errOver
	}
	d.own, d.until = !d.began, until
	return ctx.SetWriteDeadline(until)
}

// setRead sets the read deadline, which the server does not overwrite.
func (d *writeDeadline) setRead(ctx *fasthttp.RequestCtx, until time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over {
		return errOver
	}
	return ctx.SetReadDeadline(until)
}

// end is called when the handler has returned or owns the connection.
func (d *writeDeadline) end() {
	d.mu.Lock()
	d.over = true
	d.mu.Unlock()
}

// keep is called when the server has set its deadline.
func (d *writeDeadline) keep(ctx *fasthttp.RequestCtx) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.began = true
	if d.own {
		_ = ctx.SetWriteDeadline(d.until)
	}
}

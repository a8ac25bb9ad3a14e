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
	mu    lockorder.Mutex[lockorder.WriteDeadline] // responseWriter.mu is held while the server reads
	own   bool                                     // the handler has set one, and the server may overwrite it
	until time.Time
	began bool // the server has set its own
}

func (d *writeDeadline) set(ctx *fasthttp.RequestCtx, until time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.own, d.until = !d.began, until
	return ctx.SetWriteDeadline(until)
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

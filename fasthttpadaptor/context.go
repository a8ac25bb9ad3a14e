package fasthttpadaptor

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/lockorder"
)

// parent is a context under another name. Code that copies the values of contexts by
// reflection, such as the adaptor of fiber v2, follows fields named Context, and panics
// at the end of the chain.
type parent = context.Context

// leaveWait is how long a client that has closed its sending side counts as waiting for its
// response. A client that has closed its connection looks the same.
var leaveWait = 5 * time.Second

// requestContext is the context of an http.Request converted from fasthttp. As with net/http,
// it ends when the client closes the connection and when the handler has returned, and not
// when the server begins to shut down. The client is watched only after the first call of Done
// or Err.
//
// Its values are the user values of the RequestCtx at the call of the handler. In a handler from
// NewHTTPHandler it ends with the context of the request of net/http, and has its values, too.
type requestContext struct {
	parent
	cancel context.CancelFunc
	local  net.Addr
	values []userValue

	mu      lockorder.Mutex[lockorder.RequestContext]
	ctx     *fasthttp.RequestCtx // nil after detach
	body    *requestBody         // if not nil, the client is watched only after the body
	watched bool                 // the client is watched, or will be after the body
	leaving *time.Timer          // ends the context of a client that has closed its sending side
}

type userValue struct{ key, value any }

// begin makes c the context of r, which is converted from the request of ctx and has this body.
func (c *requestContext) begin(ctx *fasthttp.RequestCtx, r *http.Request, body *requestBody) {
	c.ctx, c.local = ctx, ctx.LocalAddr()
	outer := context.Background()
	if on := NetHTTPRequest(ctx); on != nil {
		// only net/http knows when the client leaves
		outer = on.Context()
	}
	c.parent, c.cancel = context.WithCancel(outer)
	ctx.VisitUserValuesAll(func(key, value any) {
		c.values = append(c.values, userValue{key, value})
	})
	if body != nil && body.streamed && r.ProtoMajor < 2 {
		c.body, body.onEnd = body, c.bodyEnded
	}
}

// Done implements context.Context.
func (c *requestContext) Done() <-chan struct{} {
	c.watch()
	return c.parent.Done()
}

// Err implements context.Context.
func (c *requestContext) Err() error {
	c.watch()
	return c.parent.Err()
}

// Value implements context.Context.
func (c *requestContext) Value(key any) any {
	for _, v := range c.values {
		if v.key == key {
			return v.value
		}
	}
	if key == http.LocalAddrContextKey {
		return c.local
	}
	return c.parent.Value(key)
}

// watch makes the context end when the client closes the connection. While the client
// still sends a body over HTTP/1, watch only records that it was called.
func (c *requestContext) watch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watched || c.ctx == nil {
		return
	}
	c.watched = true
	if c.body == nil || c.body.ended.Load() {
		c.startWatch()
	}
}

func (c *requestContext) bodyEnded() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watched && c.ctx != nil {
		c.startWatch()
	}
	c.body = nil
}

func (c *requestContext) startWatch() {
	c.ctx.AfterDisconnect(c.clientDisconnected)
}

// clientDisconnected ends the context: at once, or later if the client may still read.
func (c *requestContext) clientDisconnected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil || !c.ctx.EndedSending() {
		c.cancel()
		return
	}
	c.leaving = time.AfterFunc(leaveWait, c.cancel)
}

// detach ends the use of the RequestCtx.
func (c *requestContext) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ctx = nil
	if c.leaving != nil {
		c.leaving.Stop()
	}
}

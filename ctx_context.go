package fasthttp

import (
	"context"
	"time"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

var _ context.Context = (*RequestCtx)(nil)

// Deadline returns false: requests have no deadline of their own. It is a method of
// context.Context.
func (ctx *RequestCtx) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Value returns the value that SetUserValue has kept under key, or nil.
func (ctx *RequestCtx) Value(key any) any {
	if key == ownKey {
		return nil
	}
	return ctx.Request.UserValue(key)
}

// ownKey is the key by which package context asks a context whether it is one of its
// own. It does so from other goroutines, when a context derived from a request ends, so
// the values of the request must be left alone.
var ownKey = func() any {
	p := new(keyProbe)
	_ = context.Cause(p)
	return p.key
}()

// keyProbe is an ended context that remembers the key that it was asked for.
type keyProbe struct {
	onlyDone
	key any
}

func (p *keyProbe) Err() error { return context.Canceled }

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

// SetUserValue keeps a value with the request, for handlers that share it, and for
// Server.ResponseSent. The values are dropped when the response was sent, or has failed;
// io.Closers are closed then.
func (ctx *RequestCtx) SetUserValue(key, value any) { ctx.Request.SetUserValue(key, value) }

// SetUserValueBytes is SetUserValue for the string that key holds.
func (ctx *RequestCtx) SetUserValueBytes(key []byte, value any) {
	ctx.Request.SetUserValueBytes(key, value)
}

// UserValue returns the value kept under key, or nil.
func (ctx *RequestCtx) UserValue(key any) any { return ctx.Request.UserValue(key) }

// UserValueBytes is UserValue for the string that key holds.
func (ctx *RequestCtx) UserValueBytes(key []byte) any { return ctx.Request.UserValueBytes(key) }

// VisitUserValues calls f for all values whose key is a string. The keys that f
// gets are copies, which it may keep and change.
func (ctx *RequestCtx) VisitUserValues(f func([]byte, any)) {
	ctx.Request.VisitUserValues(f)
}

// VisitUserValuesAll calls f for all values.
func (ctx *RequestCtx) VisitUserValuesAll(f func(any, any)) {
	ctx.Request.VisitUserValuesAll(f)
}

// ResetUserValues removes all values, and closes each one that is an io.Closer.
func (ctx *RequestCtx) ResetUserValues() { ctx.Request.ResetUserValues() }

// RemoveUserValue removes the value kept under key.
func (ctx *RequestCtx) RemoveUserValue(key any) { ctx.Request.RemoveUserValue(key) }

// RemoveUserValueBytes is RemoveUserValue for the string that key holds.
func (ctx *RequestCtx) RemoveUserValueBytes(key []byte) {
	ctx.Request.RemoveUserValue(bytesconv.String(key))
}

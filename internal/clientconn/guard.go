package clientconn

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/lockorder"
	"github.com/valyala/fasthttp/internal/netio"
)

// Guard owns the deadlines of a client's connection, and its cancellation: no other
// code sets a deadline. After the cancellation of a connection, no stage of a call
// can extend its time.
//
// The methods may be called concurrently.
type Guard struct {
	conn net.Conn // the lowest one: TLS above it obeys its deadlines

	mu       lockorder.Mutex[lockorder.Guard]
	phase    responsePhase
	plain    bool      // conn is of package net, whose SetDeadline sets both deadlines
	canceled error     // why the connection was canceled, or nil
	readBy   time.Time // the deadline of reading
	writeBy  time.Time // the deadline of writing
	bodyBy   time.Time // becomes readBy after the head, in the phase headPending
}

// responsePhase is the part of a response that readBy applies to.
type responsePhase uint8

const (
	wholeResponse responsePhase = iota // the head has no deadline of its own so far
	headPending                        // readBy is the deadline of the head
	headReceived                       // the head has arrived
)

// PastDeadline is a deadline that makes everything on a connection fail at once.
var PastDeadline = time.Unix(1, 0)

// Attach makes conn the connection. The deadlines of a wrapped connection are set one
// by one: a wrapper that handles them may not implement SetDeadline.
func (g *Guard) Attach(conn net.Conn) {
	g.conn = conn
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		g.plain = true
	}
}

// setBoth sets both deadlines of the connection.
func (g *Guard) setBoth(by time.Time) error {
	if g.plain {
		return g.conn.SetDeadline(by)
	}
	return errors.Join(g.conn.SetReadDeadline(by), g.conn.SetWriteDeadline(by))
}

// Renew removes deadlines that the application may have set. If the connection was
// canceled, it returns the reason.
func (g *Guard) Renew() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.canceled != nil {
		return g.canceled
	}
	g.readBy, g.writeBy = time.Time{}, time.Time{}
	return g.setBoth(time.Time{})
}

// Limit sets the deadlines of reading and of writing; zero means none. If the
// connection was canceled, Limit changes nothing and returns the reason.
func (g *Guard) Limit(readBy, writeBy time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.set(readBy, writeBy)
}

// LimitRequest sets both deadlines, as Limit does, for a new request: the head of its
// response has no deadline of its own yet.
func (g *Guard) LimitRequest(by time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.phase = wholeResponse
	return g.set(by, by)
}

// set is Limit with the mutex held.
func (g *Guard) set(readBy, writeBy time.Time) error {
	if g.canceled != nil {
		return g.canceled
	}
	switch reads, writes := readBy != g.readBy, writeBy != g.writeBy; {
	case reads && writes && readBy == writeBy:
		_ = g.setBoth(readBy)
	case reads && writes:
		_ = g.conn.SetReadDeadline(readBy)
		_ = g.conn.SetWriteDeadline(writeBy)
	case reads:
		_ = g.conn.SetReadDeadline(readBy)
	case writes:
		_ = g.conn.SetWriteDeadline(writeBy)
	}
	g.readBy, g.writeBy = readBy, writeBy
	return nil
}

// LimitRead sets the deadline of reading, as Limit does.
func (g *Guard) LimitRead(by time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase == headPending {
		g.phase = wholeResponse
	}
	return g.set(by, g.writeBy)
}

// LimitResponse sets the deadline of reading for an answer, as Limit does. Until
// PassHead reports the head of the answer, headBy applies as well. PassHead may have
// been called before: an answer need not wait for the end of the request.
func (g *Guard) LimitResponse(headBy, by time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase != headReceived {
		g.phase, g.bodyBy = headPending, by
		by = clock.Earliest(headBy, by)
	}
	return g.set(by, g.writeBy)
}

// PassHead records that the head of the answer has arrived.
func (g *Guard) PassHead() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	by := g.readBy
	if g.phase == headPending {
		by = g.bodyBy
	}
	g.phase = headReceived
	return g.set(by, g.writeBy)
}

// Shorten makes the deadline of reading an earlier one, as Limit does.
func (g *Guard) Shorten(by time.Time) error {
	g.mu.Lock()
	by = clock.Earliest(g.readBy, by)
	g.mu.Unlock()
	return g.LimitRead(by)
}

// ShortenWrite makes the deadline of writing an earlier one, as Limit does.
func (g *Guard) ShortenWrite(by time.Time) error {
	g.mu.Lock()
	by = clock.Earliest(g.writeBy, by)
	g.mu.Unlock()
	return g.LimitWrite(by)
}

// LimitWrite sets the deadline of writing, as Limit does.
func (g *Guard) LimitWrite(by time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.set(g.readBy, by)
}

// Cancel ends everything on the connection because of err. The first reason is kept.
func (g *Guard) Cancel(err error) {
	if g.cancel(err) != nil {
		g.closeConn()
	}
}

// cancel is Cancel for a connection with deadlines. It often runs on a goroutine of the client, where
// a panic of the connection would end the program.
func (g *Guard) cancel(reason error) (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.canceled != nil {
		return nil
	}
	g.canceled = reason
	defer netio.CatchPanic(&err)
	return g.setBoth(PastDeadline)
}

// StopWriting makes writing fail, for good.
func (g *Guard) StopWriting() {
	if g.stopWriting() != nil {
		g.closeConn()
	}
}

// stopWriting is StopWriting for a connection with deadlines.
func (g *Guard) stopWriting() (err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.canceled != nil {
		return nil
	}
	g.writeBy = PastDeadline
	defer netio.CatchPanic(&err)
	return g.conn.SetWriteDeadline(PastDeadline)
}

// closeConn closes a connection of the application that has no deadlines: nothing else would end a
// Read or Write. The connection will be closed once more.
func (g *Guard) closeConn() { _ = netio.CloseCaught(g.conn) }

// Err returns why the connection was canceled, or nil.
func (g *Guard) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.canceled
}

// MayRead reports whether there is time left for reading: a read that timed out may
// have begun before the deadline was moved.
func (g *Guard) MayRead() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.canceled == nil && (g.readBy.IsZero() || time.Now().Before(g.readBy))
}

// Watch makes the end of ctx cancel the connection. stop undoes that, and reports
// whether it was in time; otherwise the connection is unusable. stop is nil if ctx
// never ends. ctx may be nil.
func (g *Guard) Watch(ctx context.Context, reason func(context.Context) error) (stop func() bool) {
	if ctx == nil {
		return nil
	}
	cancel := func() { g.Cancel(reason(ctx)) }
	if own, ok := ctx.(interface{ AfterFunc(func()) func() bool }); ok {
		// it needs no channel, nor a context of its own
		return own.AfterFunc(cancel)
	}
	if ctx.Done() == nil {
		return nil
	}
	return context.AfterFunc(ctx, cancel)
}

// Following is the watch for the end of a context.
type Following struct {
	own  bridge.CancelingContext
	stop func() bool
}

// Follow is Watch for the usual call. It does not allocate if the context can do without.
func (g *Guard) Follow(ctx context.Context, reason func(context.Context) error) Following {
	if own, ok := ctx.(bridge.CancelingContext); ok && own.CancelAtEnd(g) {
		return Following{own: own}
	}
	return Following{stop: g.Watch(ctx, reason)}
}

// Stop ends the watch, and reports whether it was in time; otherwise the connection is unusable. It
// does nothing if it was called before.
func (f *Following) Stop() bool {
	own, stop := f.own, f.stop
	*f = Following{}
	switch {
	case own != nil:
		return own.StopCanceling()
	case stop != nil:
		return stop()
	}
	return true
}

package fasthttp

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// connGuard owns the deadlines of a client's connection, and its end before the
// time: nobody else sets a deadline. Once the connection was canceled no stage of
// a call can give it time again, whatever that stage was about to do.
//
// The methods may be called concurrently.
type connGuard struct {
	conn net.Conn // the lowest one: TLS above it keeps to its deadlines

	mu       sync.Mutex
	phase    answerPhase
	apart    bool  // writeBy counts; otherwise readBy is the deadline of writing, too
	plain    bool  // conn is one of package net, for which SetDeadline sets both deadlines
	canceled error // why nothing works any more, nil as long as it does
	readBy   time.Time
	writeBy  time.Time
	restBy   time.Time // becomes readBy behind the head, in the phase headFirst
}

// answerPhase is what readBy is for in the answer to a request.
type answerPhase uint8

const (
	allOfIt    answerPhase = iota // the head has no deadline of its own so far
	headFirst                     // readBy is that of the head
	behindHead                    // the head came
)

// past is a deadline that makes everything on a connection fail at once.
var past = time.Unix(1, 0)

// attach makes conn the connection. One that is wrapped has its deadlines set one by
// one: a wrapper that does something about them may know nothing of SetDeadline.
func (g *connGuard) attach(conn net.Conn) {
	g.conn = conn
	switch conn.(type) {
	case *net.TCPConn, *net.UnixConn:
		g.plain = true
	}
}

// setBoth sets both deadlines of the connection.
func (g *connGuard) setBoth(by time.Time) error {
	if g.plain {
		return g.conn.SetDeadline(by)
	}
	return errors.Join(g.conn.SetReadDeadline(by), g.conn.SetWriteDeadline(by))
}

// renew takes the deadlines off that somebody else may have set. It returns why the
// connection is of no more use, if it is.
func (g *connGuard) renew() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.canceled != nil {
		return g.canceled
	}
	g.readBy, g.apart = time.Time{}, false
	return g.setBoth(time.Time{})
}

// limit sets the deadlines of reading and of writing; a zero one is none. It
// returns why the connection was canceled, if it was, and changes nothing then.
func (g *connGuard) limit(readBy, writeBy time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.set(readBy, writeBy)
}

// limitRequest sets both deadlines, as limit does, for a request whose answer must
// not be there before.
func (g *connGuard) limitRequest(by time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.phase = allOfIt
	return g.set(by, by)
}

// writeLimit returns the deadline of writing. The mutex is held.
func (g *connGuard) writeLimit() time.Time {
	if g.apart {
		return g.writeBy
	}
	return g.readBy
}

// set is limit for who holds the mutex.
func (g *connGuard) set(readBy, writeBy time.Time) error {
	if g.canceled != nil {
		return g.canceled
	}
	switch reads, writes := readBy != g.readBy, writeBy != g.writeLimit(); {
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
	if g.readBy, g.apart = readBy, readBy != writeBy; g.apart {
		g.writeBy = writeBy
	}
	return nil
}

// limitRead sets the deadline of reading, as limit does.
func (g *connGuard) limitRead(by time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase == headFirst {
		g.phase = allOfIt
	}
	return g.set(by, g.writeLimit())
}

// limitAnswer sets the deadline of reading for an answer, as limit does. Until
// passHead says that the head of it came, headBy counts as well. That may have been
// before: an answer need not wait for the end of the request.
func (g *connGuard) limitAnswer(headBy, by time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase != behindHead {
		g.phase, g.restBy = headFirst, by
		by = earliest(headBy, by)
	}
	return g.set(by, g.writeLimit())
}

// passHead says that the head of the answer came.
func (g *connGuard) passHead() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	by := g.readBy
	if g.phase == headFirst {
		by = g.restBy
	}
	g.phase = behindHead
	return g.set(by, g.writeLimit())
}

// shorten makes the deadline of reading an earlier one, as limit does.
func (g *connGuard) shorten(by time.Time) error {
	g.mu.Lock()
	by = earliest(g.readBy, by)
	g.mu.Unlock()
	return g.limitRead(by)
}

// shortenWrite makes the deadline of writing an earlier one, as limit does.
func (g *connGuard) shortenWrite(by time.Time) error {
	g.mu.Lock()
	by = earliest(g.writeLimit(), by)
	g.mu.Unlock()
	return g.limitWrite(by)
}

// limitWrite sets the deadline of writing, as limit does.
func (g *connGuard) limitWrite(by time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.set(g.readBy, by)
}

// cancel ends everything on the connection because of err. The first reason
// stands.
func (g *connGuard) cancel(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.canceled == nil {
		g.canceled = err
		_ = g.setBoth(past)
	}
}

// err returns why the connection was canceled, or nil.
func (g *connGuard) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.canceled
}

// mayRead reports whether there is time left for reading: a read that timed out
// may have begun before somebody gave it more.
func (g *connGuard) mayRead() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.canceled == nil && (g.readBy.IsZero() || time.Now().Before(g.readBy))
}

// watch makes the end of ctx cancel the connection. stop undoes that, and reports
// whether it was in time: otherwise the connection is of no more use. It is nil
// if ctx, which may be nil, never ends.
func (g *connGuard) watch(ctx context.Context) (stop func() bool) {
	if ctx == nil || ctx.Done() == nil {
		return nil
	}
	return context.AfterFunc(ctx, func() { g.cancel(contextError(ctx)) })
}

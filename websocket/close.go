package websocket

import (
	"context"
	"io"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/ws"
)

// lingerSize is how many bytes are discarded after a fault of the peer, so that it receives
// the Close frame before the connection is reset.
const lingerSize = 64 << 10

// Close closes the connection with a closing handshake (RFC 6455 section 7): it sends a Close
// frame with CloseNormalClosure, unless one was sent, waits for the Close frame of the peer,
// for the time of CloseTimeout at most, and closes the underlying connection. If no other
// goroutine reads, Close discards messages that still arrive; otherwise the other goroutine
// must continue to read. If a handler for control frames calls Close, nothing reads, and Close
// does not wait. Further calls return net.ErrClosed.
//
// Close of gorilla/websocket closes the underlying connection at once, like CloseNow. After
// an error there is no handshake, so that Close does not wait either; but a peer that has
// violated the protocol gets a part of that time to receive its Close frame.
func (c *Conn) Close() error { return c.CloseWith(CloseNormalClosure, "") }

// CloseWith is like Close, but sends another code, and a text of at most 123 bytes of UTF-8.
// It returns an error, and does nothing, if they must not be sent.
func (c *Conn) CloseWith(code int, text string) error {
	if _, err := ws.AppendClose(nil, ws.Code(code), text); err != nil {
		return errCloseMessage
	}
	if c.closed.Load() {
		return net.ErrClosed
	}
	wait := c.closeTimeout
	if wait < 0 {
		wait = controlTimeout
	}
	deadline := time.Now().Add(wait)
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	c.stopPings() // the closing handshake has a limit of its own
	err := c.sendClose(ctx, deadline, code, text)
	if (err == nil || err == ErrCloseSent) && c.closeTimeout > 0 {
		c.awaitClose(ctx, deadline)
	}
	return c.closeNow()
}

// CloseNow closes the underlying connection, without a closing handshake. Methods that read or
// write fail. Further calls return net.ErrClosed.
func (c *Conn) CloseNow() error {
	if c.closed.Load() {
		return net.ErrClosed
	}
	return c.closeNow()
}

// awaitClose waits for the Close frame of the peer, or for the end of the connection.
func (c *Conn) awaitClose(ctx context.Context, deadline time.Time) {
	if !c.read.tryLock() {
		if c.inHandler.Load() && callsHandler() {
			// this may be the handler, for whose return the method that reads waits
			return
		}
		// methods that read return after the Close frame of the peer
		if c.read.lock(ctx, deadline) != nil {
			return
		}
	}
	defer c.read.unlock()
	c.mu.Lock()
	c.interrupted = true // handlers do not change the deadline
	_ = c.nc.SetReadDeadline(deadline)
	c.mu.Unlock()
	var ev ws.Event
	for c.readErr == nil {
		if c.next(&ev, nil) != nil {
			// also after a timeout: the rest of the message of a reader is lost
			_ = c.failed(net.ErrClosed)
		}
	}
	switch c.readErr.(type) {
	case *FaultError:
		engine.LingerUntil(c.nc, lingerSize, deadline)
	case *CloseError:
		if c.isClient {
			c.awaitEnd(deadline)
		}
	default:
		if c.readErr == ErrReadLimit {
			engine.LingerUntil(c.nc, lingerSize, deadline)
		}
	}
}

// callsHandler reports whether this goroutine runs a handler of the application for control
// frames, of any Conn: whether Conn.calling is on its stack.
func callsHandler() bool {
	var pcs [32]uintptr
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		if n == 0 {
			return false
		}
		for frames, more := runtime.CallersFrames(pcs[:n]), true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); strings.HasSuffix(f.Function, "/websocket.(*Conn).calling") {
				return true
			}
		}
	}
}

// awaitEnd waits a while for the server to close the underlying connection first (RFC 6455
// section 7.1.1).
func (c *Conn) awaitEnd(deadline time.Time) {
	if soon := time.Now().Add(time.Second); soon.Before(deadline) {
		deadline = soon
	}
	_ = c.nc.SetReadDeadline(deadline)
	b := bufpool.Get(0)
	defer bufpool.Put(b)
	for range 16 {
		if _, err := c.nc.Read(b.B[:cap(b.B)]); err != nil {
			return
		}
	}
}

// closeNow closes the underlying connection, once, and frees the memory that no other method
// uses.
func (c *Conn) closeNow() error {
	if c.closed.Swap(true) {
		return net.ErrClosed
	}
	c.stopPings()
	err := c.abort(net.ErrClosed)
	c.freeCompressor()
	c.freeClosed()
	return err
}

// goAway asks the peer to leave since the server shuts down, and waits until ctx ends, which
// it does with the shutdown or with the request.
func (c *Conn) goAway(ctx context.Context) {
	// the message being sent is not cut, unless the peer does not read it
	wait := c.closeTimeout
	if wait < 0 {
		wait = controlTimeout
	}
	if c.message.lock(ctx, time.Now().Add(wait)) == nil {
		c.stopPings()
		_ = c.sendClose(ctx, time.Now().Add(max(c.closeTimeout, controlTimeout)), CloseGoingAway, "")
		c.endMessage()
	} else {
		_ = c.CloseNow()
	}
	timer := time.NewTimer(max(c.closeTimeout, 0))
	defer timer.Stop()
	select {
	case <-c.readingOver():
		<-ctx.Done()
	case <-timer.C:
	case <-ctx.Done():
	}
	_ = c.CloseNow()
	<-ctx.Done()
}

// JoinMessages returns a reader of all messages of c, each followed by term. Its Read returns
// io.EOF at the end of the connection if the peer has sent CloseNormalClosure, and otherwise
// the errors of NextReader.
func JoinMessages(c *Conn, term string) io.Reader { return &joined{c: c, term: term} }

type joined struct {
	c    *Conn
	term string
	r    io.Reader
	rest string // of the term after a message
}

// Read implements io.Reader.
func (j *joined) Read(p []byte) (n int, err error) {
	for len(p) > 0 {
		switch {
		case j.rest != "":
			n = copy(p, j.rest)
			j.rest = j.rest[n:]
			return n, nil
		case j.r == nil:
			if _, j.r, err = j.c.NextReader(); err != nil {
				j.r = nil
				if IsCloseError(err, CloseNormalClosure) {
					err = io.EOF
				}
				return 0, err
			}
		}
		n, err = j.r.Read(p)
		if err == io.EOF {
			j.r, j.rest, err = nil, j.term, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

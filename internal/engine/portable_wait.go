package engine

import (
	"io"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/netio"
)

// This file has the waits of the portable engine for requests. If there are many
// connections, the Host takes the protocol of one that waits. Meanwhile another one, whose
// request has arrived, uses its memory, which is still in the processor's caches.

// beginWait begins the wait for the first request.
func (e *portable) beginWait() {
	size, until, ok := e.Set.Host.Dormant(&e.Conn)
	if !ok {
		e.p = e.Set.Host.Lend(&e.Conn, e, e.last)
		e.last = nil
		e.keep(nil)
		e.limit(e.p.Wait(e.forRequest()))
		return
	}
	if e.last != nil {
		_, _ = e.Set.Host.Return(e.last, false)
		e.last = nil
	}
	switch {
	case e.waits != nil:
		e.keep(nil)
	case e.space == nil || cap(e.space.B) < size || cap(e.space.B) >= 2*size:
		// there is none, or it belongs to a connection of another server
		e.keep(bufpool.Get(size))
	}
	e.limit(until)
}

// keep makes space the buffer with which the connection waits.
func (e *portable) keep(space *bufpool.Buffer) {
	if e.space != nil {
		bufpool.Put(e.space)
	}
	e.space = space
}

// putAway gives the protocol to the Host during a wait, if possible.
func (e *portable) putAway() bool {
	space, until, ok := e.Set.Host.PutAway(e.p, e.waits != nil)
	if ok {
		e.p = nil
		e.keep(space)
		e.limit(until)
	}
	return ok
}

// takeUp gives the connection a protocol again, after a wait without one.
func (e *portable) takeUp() {
	e.p = e.Set.Host.TakeUp(&e.Conn, e, e.space, e.readUntil, e.writeUntil)
	e.space = nil
}

// forRequest returns the kind of a wait for a request.
func (e *portable) forRequest() Wait {
	if e.waits != nil {
		return WaitBare
	}
	return WaitRequest
}

// receiveFirst waits for the first bytes of a request. over is true if the connection has
// ended and the protocol need not know. A shutdown ends the wait, but a request that has
// arrived by then is still served.
func (e *portable) receiveFirst() (over bool) {
	if e.awake {
		e.rest()
	}
	if e.Waiting() || !e.asked() {
		n, err := e.readFirst()
		if n > 0 && e.Begin() {
			e.began(n)
			return false
		}
		if !e.asked() || !netio.IsTimeout(err) {
			return e.wake(n, err)
		}
	}
	n, err := e.readLast()
	if err != nil {
		e.claim()
	}
	return e.wake(n, err)
}

const (
	// lastLook is how long a shutdown lets a connection that waits for a request read once
	// more. Bytes that have arrived are read at once, but on a busy machine even that time
	// may be over before Read has begun. So there is another look, and more of them while
	// the socket reports that it has something.
	lastLook  = 5 * time.Millisecond
	lastLooks = 2
	mostLooks = 100
)

// readLast reads the bytes that have arrived when the server shuts down.
func (e *portable) readLast() (n int, err error) {
	for i := 1; ; i++ {
		_ = e.nc.SetReadDeadline(time.Now().Add(lastLook))
		n, err = e.readFirst()
		if n > 0 || !netio.IsTimeout(err) || i >= lastLooks && (i >= mostLooks || !isReady(e.Set.Host.Transport(e.NC))) {
			return n, err
		}
	}
}

func (e *portable) readFirst() (int, error) {
	if e.waits != nil {
		if err := e.waits.Await(); err != nil {
			return 0, err
		}
		if e.p == nil {
			e.takeUp()
		}
	}
	var space []byte
	if e.p != nil {
		space = e.p.Space()
	} else {
		space = e.space.B[:cap(e.space.B)]
	}
	n, err := e.nc.Read(space)
	if n == 0 && err == nil {
		return netio.Again(e.nc, space)
	}
	return n, err
}

// rest prepares the connection for waiting for its next request.
func (e *portable) rest() {
	if e.Stays || !e.putAway() {
		if until := e.p.Wait(e.forRequest()); until != e.readUntil {
			e.limit(until)
		}
	}
	e.awake = false
	e.Set.setState(e.NC, StateIdle)
	e.awaitRequest()
}

// wake ends a wait for a request, in which a read has returned n and err. over is true if
// there is nothing more to do: a shutdown has closed the connection, or the peer has ended
// it.
func (e *portable) wake(n int, err error) (over bool) {
	if n == 0 && !(e.NeverBegan() && netio.IsTimeout(err)) {
		if e.claimed() || e.p == nil && err == io.EOF {
			return true
		}
		if e.p == nil {
			e.takeUp()
		}
		e.p.InputEnded(err)
		return false
	}
	ok, asked := e.begin()
	if !ok {
		return true
	}
	if asked {
		_ = e.nc.SetReadDeadline(e.readUntil)
	}
	e.began(n)
	if n == 0 {
		e.p.InputEnded(err)
	}
	return false
}

// began is called when a request has begun, with n bytes.
func (e *portable) began(n int) {
	e.awake = true
	if e.p == nil {
		e.takeUp()
	}
	if n > 0 {
		e.p.Received(n, 0)
	}
	e.Set.setState(e.NC, StateActive)
	if e.Set.Watched && !e.readUntil.IsZero() {
		// the hook may have set another deadline for the wait
		_ = e.nc.SetReadDeadline(e.readUntil)
	}
}

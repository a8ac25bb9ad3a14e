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
		e.p = e.Set.Host.AcquireProtocol(&e.Conn, e, e.cached)
		e.cached = nil
		e.setReadBuffer(nil)
		e.limit(e.p.Wait(e.forRequest()))
		return
	}
	if e.cached != nil {
		_, _ = e.Set.Host.ReleaseProtocol(e.cached, false)
		e.cached = nil
	}
	switch {
	case e.awaiter != nil:
		e.setReadBuffer(nil)
	case e.readBuffer == nil || cap(e.readBuffer.B) < size || cap(e.readBuffer.B) >= 2*size:
		// there is none, or it belongs to a connection of another server
		e.setReadBuffer(bufpool.Get(size))
	}
	e.limit(until)
}

// setReadBuffer makes space the buffer with which the connection waits.
func (e *portable) setReadBuffer(space *bufpool.Buffer) {
	if e.readBuffer != nil {
		bufpool.Put(e.readBuffer)
	}
	e.readBuffer = space
}

// parkProtocol gives the protocol to the Host during a wait, if possible.
func (e *portable) parkProtocol() bool {
	space, until, ok := e.Set.Host.ParkProtocol(e.p, e.awaiter != nil)
	if ok {
		e.p = nil
		e.setReadBuffer(space)
		e.limit(until)
	}
	return ok
}

// resumeProtocol gives the connection a protocol again, after a wait without one.
func (e *portable) resumeProtocol() {
	e.p = e.Set.Host.ResumeProtocol(&e.Conn, e, e.readBuffer, e.readUntil, e.writeUntil)
	e.readBuffer = nil
}

// forRequest returns the kind of a wait for a request.
func (e *portable) forRequest() Wait {
	if e.awaiter != nil {
		return WaitUnbuffered
	}
	return WaitRequest
}

// receiveFirst waits for the first bytes of a request. over is true if the connection has
// ended and the protocol need not know. A shutdown ends the wait, but a request that has
// arrived by then is still served.
func (e *portable) receiveFirst() (over bool) {
	if e.awake {
		e.prepareIdle()
	}
	if e.Waiting() || !e.isProbed() {
		n, err := e.readFirst()
		if n > 0 && e.Begin() {
			e.began(n)
			return false
		}
		if !e.isProbed() || !netio.IsTimeout(err) {
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
	// finalReadTimeout is how long a shutdown lets a connection that waits for a request read once
	// more. Bytes that have arrived are read at once, but on a busy machine even that time
	// may be over before Read has begun. So there is another look, and more of them while
	// the socket reports that it has something.
	finalReadTimeout = 5 * time.Millisecond
	finalReads       = 2
	maxFinalReads    = 100
)

// readLast reads the bytes that have arrived when the server shuts down.
func (e *portable) readLast() (n int, err error) {
	for i := 1; ; i++ {
		_ = e.nc.SetReadDeadline(time.Now().Add(finalReadTimeout))
		n, err = e.readFirst()
		if n > 0 || !netio.IsTimeout(err) || i >= finalReads && (i >= maxFinalReads || !isReady(e.Set.Host.Transport(e.NC))) {
			return n, err
		}
	}
}

func (e *portable) readFirst() (int, error) {
	if e.awaiter != nil {
		if err := e.awaiter.Await(); err != nil {
			return 0, err
		}
		if e.p == nil {
			e.resumeProtocol()
		}
	}
	var space []byte
	if e.p != nil {
		space = e.p.ReadBuffer()
	} else {
		space = e.readBuffer.B[:cap(e.readBuffer.B)]
	}
	n, err := e.nc.Read(space)
	if n == 0 && err == nil {
		return netio.Again(e.nc, space)
	}
	return n, err
}

// prepareIdle prepares the connection for waiting for its next request.
func (e *portable) prepareIdle() {
	if e.KeepsProtocol || !e.parkProtocol() {
		if until := e.p.Wait(e.forRequest()); until != e.readUntil {
			e.limit(until)
		}
	}
	e.awake = false
	e.setState(StateIdle)
	e.awaitRequest()
}

// wake ends a wait for a request, in which a read has returned n and err. over is true if
// there is nothing more to do: a shutdown has closed the connection, or the peer has ended
// it.
func (e *portable) wake(n int, err error) (over bool) {
	if n == 0 && !e.claimed() {
		e.inputEnds(err)
	}
	if n == 0 && !(e.GetsTimeoutResponse() && netio.IsTimeout(err)) {
		if e.claimed() || e.p == nil && err == io.EOF {
			return true
		}
		if e.p == nil {
			e.resumeProtocol()
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
		e.resumeProtocol()
	}
	if n > 0 {
		e.p.Received(n, Arrival{})
	}
	e.setState(StateActive)
	if e.Set.TracksState && !e.readUntil.IsZero() {
		// the hook may have set another deadline for the wait
		_ = e.nc.SetReadDeadline(e.readUntil)
	}
}

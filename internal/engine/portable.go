package engine

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/ioread"
)

// portable is the engine that runs anywhere and on any net.Conn: a goroutine
// for each connection, which waits in Read and Write.
type portable struct {
	*Conn
	p  Protocol
	nc net.Conn // what the protocol reads and writes
	// waits is nc if it can wait for the first byte without a buffer, and pairs if it
	// can write two parts with one call, all or nothing
	waits interface{ Await() error }
	pairs interface{ WriteBoth(a, b []byte) error }

	awake bool // something has come since the connection was last idle
	// readUntil and writeUntil are the deadlines that the protocol has set, and
	// limited says that there was one
	readUntil, writeUntil time.Time
	limited               bool
	watcher               *watcher
	buffers               [2][]byte
	both                  net.Buffers // buffers, as they are being written
}

var (
	portables = sync.Pool{New: func() any { return new(portable) }}
	conns     = sync.Pool{New: func() any { return new(Conn) }}
)

// ServeConn admits a connection, serves it by the calling goroutine until it ends, and
// closes it. The error is why it was refused, or what has ended it before its time.
func (s *Set) ServeConn(nc net.Conn) error {
	peer, err := s.Host.Admit(nc)
	if err != nil {
		s.Host.Refuse(nc, err)
		return err
	}
	return s.servePortable(s.newConn(nc, peer))
}

// servePortable serves the connection c until it ends, and closes it.
func (s *Set) servePortable(c *Conn) error {
	e := portables.Get().(*portable)
	e.Conn = c
	e.awake, e.limited = false, false
	e.readUntil, e.writeUntil = time.Time{}, time.Time{}

	ended := false
	defer func() {
		if !ended {
			if e.p != nil {
				e.p.Abandoned()
			}
			s.dropConn(e.Conn, recover())
		}
	}()
	end, err := e.run()
	ended = true
	if end == HandOver {
		e.free()
		return nil
	}
	if end == Leave && !c.Aborted {
		// the handler that reads from the connection is to leave it; TLS is for
		// one reader
		_ = c.NC.SetReadDeadline(Passed)
		LingerOn(c.NC)
	}
	if e.p != nil {
		// what lingers holds no memory
		var fault error
		if _, fault = s.Host.Return(e.p, false); err == nil {
			err = fault
		}
	}
	if end == Linger && !c.Aborted {
		LingerOn(e.nc)
	}
	if closed := s.closeConn(c); err == nil && !errors.Is(closed, net.ErrClosed) {
		err = closed
	}
	if end != Leave {
		e.free()
	}
	return err
}

// free gives what is left of an ended connection back.
func (e *portable) free() {
	e.Conn, e.p, e.nc, e.waits, e.pairs = nil, nil, nil, nil, nil
	portables.Put(e)
}

// newConn registers a connection that was admitted.
func (s *Set) newConn(nc net.Conn, peer netip.Addr) *Conn {
	c := conns.Get().(*Conn)
	s.register(c, nc, peer)
	return c
}

// closeConn closes a connection and forgets it.
func (s *Set) closeConn(c *Conn) error {
	nc := c.NC
	if c.Aborted {
		// a reset tells the peer that the message was cut off, whatever its
		// framing; so does TLS that does not end in order
		nc = s.Host.Transport(nc)
		if tcp, ok := nc.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	}
	err := nc.Close()
	s.Host.StateChanged(c.NC, StateClosed)
	s.forgetConn(c)
	return err
}

// forgetConn takes a connection out of the books.
func (s *Set) forgetConn(c *Conn) {
	// a shutdown may still be about to ask
	_ = c.asked()
	s.unregister(c)
	if c.Pinned.Load() {
		return
	}
	c.NC, c.Set = nil, nil
	conns.Put(c)
}

// dropConn ends a connection whose goroutine was ended from inside: by
// runtime.Goexit, with which a failing test leaves its handler, or by a panic of
// something that is not called with care, such as a logger. Whatever was in
// use stays with whoever may still have it.
func (s *Set) dropConn(c *Conn, panicked any) {
	if c != nil {
		c.Aborted = true
		c.Pinned.Store(true)
		_ = s.closeConn(c)
	}
	if panicked != nil {
		s.Host.Logf("fasthttp: panic serving a connection: %v\n%s", panicked, debug.Stack())
	}
}

// run does what the protocol asks for until the connection ends or belongs to
// somebody else. It returns Close, Linger, Leave or HandOver.
func (e *portable) run() (end Action, err error) {
	s := e.Set
	nc, over, err := s.Host.Opening(e.Conn)
	if over || err != nil {
		return Close, err
	}
	e.nc = nc
	e.waits, _ = nc.(interface{ Await() error })
	e.pairs, _ = nc.(interface{ WriteBoth(a, b []byte) error })
	e.p = s.Host.Lend(e.Conn, e, nil)
	e.limit(e.p.Wait(e.forRequest()))
	for {
		switch action := e.p.Step(); action {
		case Read:
			if claimed := e.receive(); claimed {
				return Close, nil
			}
		case Flush:
			if err := e.flush(); err != nil {
				return Close, err
			}
		case HandOver:
			e.handOver()
			return HandOver, nil
		default:
			return action, nil
		}
	}
}

// forRequest is the kind of a wait for a request.
func (e *portable) forRequest() Wait {
	if e.waits != nil {
		return WaitBare
	}
	return WaitRequest
}

// limit sets the deadline of reads that begin.
func (e *portable) limit(until time.Time) {
	if !until.Equal(e.readUntil) {
		e.LimitReads(until)
	}
}

// receive reads from the connection. claimed says that a shutdown has closed it.
func (e *portable) receive() (claimed bool) {
	first := e.p.Idle()
	if !first {
		e.limit(e.p.Wait(WaitInput))
	} else if e.awake {
		e.rest()
	}
	n, err := 0, error(nil)
	if first {
		n, err = e.receiveFirst()
	} else {
		n, err = ioread.Some(e.nc, e.p.Space())
	}
	if e.claimed() || first && (n > 0 || isTimeout(err) && e.NeverBegan()) && !e.wake() {
		return true
	}
	if n > 0 {
		e.p.Received(n)
	} else {
		e.p.InputEnded(err)
	}
	return false
}

// receiveFirst waits for the first bytes of a request. A shutdown that finds the
// connection waiting ends the wait: what has come by then is served all the same.
func (e *portable) receiveFirst() (n int, err error) {
	if !e.asked() {
		if n, err = e.readFirst(); !isTimeout(err) || !e.asked() {
			return n, err
		}
	}
	_ = e.nc.SetReadDeadline(time.Now().Add(lastLook))
	if n, err = e.readFirst(); err != nil {
		e.claim()
	}
	return n, err
}

// lastLook is how long a connection is read from that waits for a request when the
// server shuts down. What is there is got at once; the time is for a machine that
// is busy.
const lastLook = 5 * time.Millisecond

func (e *portable) readFirst() (int, error) {
	if e.waits != nil {
		if err := e.waits.Await(); err != nil {
			return 0, err
		}
	}
	return ioread.Some(e.nc, e.p.Space())
}

// rest prepares the connection for waiting for its next request.
func (e *portable) rest() {
	e.limit(e.p.Wait(e.forRequest()))
	e.awake = false
	e.Set.Host.StateChanged(e.NC, StateIdle)
	e.awaitRequest()
}

// wake says that the first bytes of a request are there. It is false if a
// shutdown has closed the connection.
func (e *portable) wake() bool {
	ok, asked := e.begin()
	if !ok {
		return false
	}
	if asked {
		_ = e.nc.SetReadDeadline(e.readUntil)
	}
	e.awake = true
	e.p.Wait(WaitNone)
	e.Set.Host.StateChanged(e.NC, StateActive)
	return true
}

// flush writes the output of the protocol.
func (e *portable) flush() error {
	if until := e.p.Wait(WaitRoom); !until.Equal(e.writeUntil) {
		e.LimitWrites(until)
	}
	head, tail, _ := e.p.Output()
	var n int64
	var err error
	switch {
	case len(tail) == 0:
		var wrote int
		wrote, err = e.nc.Write(head)
		n = int64(wrote)
	case e.pairs != nil:
		if err = e.pairs.WriteBoth(head, tail); err == nil {
			n = int64(len(head) + len(tail))
		}
	default:
		e.buffers = [2][]byte{head, tail}
		e.both = e.buffers[:]
		n, err = e.both.WriteTo(e.nc)
		e.buffers = [2][]byte{}
	}
	if err != nil && e.pairs != nil {
		// what is encrypted is sent as a whole
		n = 0
	}
	e.p.Written(n, err)
	return err
}

// Blocking implements Link. Its deadlines are always those of the connection.
func (e *portable) Blocking(_, _ time.Time) net.Conn { return e.nc }

// LimitReads implements Link.
func (e *portable) LimitReads(until time.Time) {
	e.readUntil = until
	e.limited = e.limited || !until.IsZero()
	_ = e.nc.SetReadDeadline(until)
}

// LimitWrites implements Link.
func (e *portable) LimitWrites(until time.Time) {
	e.writeUntil = until
	e.limited = e.limited || !until.IsZero()
	_ = e.nc.SetWriteDeadline(until)
}

// ForgetDeadlines implements Link.
func (e *portable) ForgetDeadlines(until time.Time) {
	e.readUntil, e.writeUntil = until, time.Time{}
	_ = e.nc.SetReadDeadline(until)
	_ = e.nc.SetWriteDeadline(time.Time{})
}

// Interrupt implements Link.
func (e *portable) Interrupt() {
	if err := e.nc.SetReadDeadline(Passed); err != nil {
		_ = e.nc.Close()
	}
}

// ClaimStalled implements Link: it is a goroutine that waits.
func (e *portable) ClaimStalled(Protocol) (end func(err error)) { return nil }

// SendsFiles implements Link.
func (e *portable) SendsFiles() bool { return false }

// KeepsSpace implements Link.
func (e *portable) KeepsSpace() bool { return true }

// watcher reads ahead while a handler runs, to learn of the end of the
// connection. What it reads instead is the first byte of another request.
type watcher struct {
	stopped atomic.Bool
	ended   chan struct{}
	read    bool
	first   [1]byte
}

func (r *watcher) run(nc net.Conn, w Watcher) {
	defer close(r.ended)
	n, err := ioread.Some(nc, r.first[:])
	r.read = n > 0
	if err != nil && !r.stopped.Load() {
		w.PeerGone(err == io.EOF)
	}
}

// Watch implements Link.
func (e *portable) Watch(w Watcher, mayRead bool) {
	if !mayRead {
		return
	}
	_ = e.nc.SetReadDeadline(time.Time{})
	e.watcher = &watcher{ended: make(chan struct{})}
	go e.watcher.run(e.nc, w)
}

// Unwatch implements Link.
func (e *portable) Unwatch() (unlimited bool) {
	r := e.watcher
	if r == nil {
		return false
	}
	e.watcher = nil
	r.stopped.Store(true)
	_ = e.nc.SetReadDeadline(Passed)
	<-r.ended
	e.LimitReads(time.Time{})
	if r.read {
		e.p.Space()[0] = r.first[0]
		e.p.Received(1)
	}
	return true
}

// handOver gives the connection to the application.
func (e *portable) handOver() {
	s, c, nc := e.Set, e.Conn, e.NC
	if e.limited {
		_ = nc.SetDeadline(time.Time{})
	}
	take := e.p.HandOver()
	_, _ = s.Host.Return(e.p, false)
	e.p = nil
	s.Host.StateChanged(nc, StateHijacked)
	s.forgetConn(c)
	e.Conn = nil
	take(nc, nil)
}

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

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/rawsys"
)

// portable is the engine that runs anywhere and on any net.Conn: each connection has a
// goroutine, which waits in Read and Write.
type portable struct {
	Conn
	p  Protocol
	nc net.Conn // the connection that the protocol reads and writes
	// cached is a protocol of cachedFor that another connection can reuse, or nil
	cached    Protocol
	cachedFor *Set
	// awaiter is nc if it can wait for the first byte without a buffer. pairs is nc if it can
	// write two parts with one call, all or nothing
	awaiter    interface{ Await() error }
	pairWriter interface{ WriteBoth(a, b []byte) error }

	awake bool // something has arrived since the connection was last idle
	// While the Host has the protocol, p is nil and the connection waits with space, unless
	// it waits without a buffer. It may hold space beside a protocol, too, from an earlier
	// connection.
	readBuffer *bufpool.Buffer
	// readUntil and writeUntil are the deadlines that the protocol has set. limited
	// records, for reading and for writing, whether there was one
	readUntil, writeUntil time.Time
	limited               [2]bool
	watcher               *peerWatcher
	hijacked              bool         // the connection was given to the application
	released              bool         // the Host has p back, which only other goroutines still use
	closed                bool         // close was called
	shared                sharedWrites // used if the protocol is Concurrent
	// interrupted is set if Interrupt was called since the last read: its deadline holds,
	// even if another one was set at the same moment
	interrupted atomic.Bool
	buffers     [2][]byte
	both        net.Buffers // buffers, during a write
}

var portables = sync.Pool{New: func() any { return new(portable) }}

// ServeConn admits a connection, serves it on the calling goroutine until it ends, and
// closes it. The error is the reason why the connection was refused, or ended early.
func (s *Set) ServeConn(nc net.Conn) error {
	peer, err := s.Host.Admit(nc)
	if err != nil {
		s.Host.Refuse(nc, err)
		return err
	}
	e := s.newPortable(nc, peer)
	if e == nil {
		return nil
	}
	return e.serve()
}

// newPortable registers a connection that was admitted. It returns nil if the connection has ended
// with a panic of the hook, or of its logger.
func (s *Set) newPortable(nc net.Conn, peer netip.Addr) (registered *portable) {
	e := portables.Get().(*portable)
	if e.cachedFor != s {
		e.cached, e.cachedFor = nil, nil
	}
	e.HasReadGoroutine = true
	s.register(&e.Conn, nc, rawsys.Address{}, peer)
	defer func() {
		if registered == nil {
			e.abortProtocol(recover())
		}
	}()
	e.setState(StateNew)
	return e
}

// serve serves the connection until it ends, and closes it.
func (e *portable) serve() error {
	ended := false
	defer func() {
		if !ended {
			e.abortProtocol(recover())
		}
	}()
	end, err := e.run()
	if end == Hijack {
		ended = true
		e.release()
		return nil
	}
	if end == CloseDetached && !e.IsAborted() {
		// the handler that reads from the connection must stop reading; TLS is for one
		// reader
		_ = e.NC.SetReadDeadline(PastDeadline)
		LingerOn(e.NC, LingerSize)
	}
	most := e.lingerSize()
	if e.p != nil {
		// a lingering connection holds no memory
		var fault error
		e.released = true
		if e.cached, fault = e.Set.Host.ReleaseProtocol(e.p, end == Close && !e.HasEscaped()); err == nil {
			err = fault
		}
		e.cachedFor = e.Set
	}
	e.endsBecause(err)
	if end == Linger && !e.IsAborted() {
		LingerOn(e.nc, most)
	}
	if closed := e.close(); closed != nil && err == nil && !errors.Is(closed, net.ErrClosed) {
		err = closed
	}
	ended = true
	if end != CloseDetached {
		e.release()
	}
	return err
}

// close closes the connection and forgets it, even if Close of an application's connection
// panics.
func (e *portable) close() error {
	e.closed = true
	defer e.unregister()
	defer e.setState(StateClosed)
	return e.closeTransport(e.NC)
}

// closeAborted is close for a connection that may have failed in it before.
func (e *portable) closeAborted() {
	// another panic says nothing new
	defer func() { _ = recover() }()
	if e.Abort(); !e.closed {
		_ = e.close()
	}
}

// unregister removes the connection from the Set.
func (e *portable) unregister() {
	// a shutdown may still be about to ask
	_ = e.isProbed()
	e.Set.unregister(&e.Conn)
}

// release makes e available for another connection, unless the application may still hold a
// reference.
func (e *portable) release() {
	if e.HasEscaped() {
		return
	}
	e.Set, e.NC, e.p, e.nc, e.awaiter, e.pairWriter, e.watcher = nil, nil, nil, nil, nil, nil, nil
	e.awake, e.limited, e.hijacked, e.released, e.closed = false, [2]bool{}, false, false, false
	e.interrupted.Store(false)
	e.readUntil, e.writeUntil = time.Time{}, time.Time{}
	portables.Put(e)
}

// abortProtocol ends a connection whose goroutine has ended early: by runtime.Goexit, with which a
// failing test leaves its handler, or by a panic of code outside of handlers and hooks,
// such as a logger, or a connection of the application. Memory in use is not reused, since
// references to it may remain.
func (e *portable) abortProtocol(panicked any) {
	// a hook of the application, or its logger, may end the goroutine again
	defer func() {
		if !e.hijacked {
			e.MarkEscaped()
			e.closeAborted()
		}
	}()
	// a shutdown of the server waits for the log
	defer e.logPanic(panicked)
	if e.p != nil && !e.released {
		e.p.Abandoned()
	}
}

// logPanic logs the value of a panic; nil means that the goroutine has ended without one.
func (e *portable) logPanic(panicked any) {
	if panicked != nil {
		e.Set.Host.Logf("fasthttp: panic serving a connection: %v\n%s", panicked, debug.Stack())
	}
}

// run performs the protocol's actions until the connection ends or is handed over. It
// returns Close, Linger, CloseDetached or Hijack.
func (e *portable) run() (end Action, err error) {
	s := e.Set
	nc, over, err := s.Host.Opening(&e.Conn)
	if over || err != nil {
		return Close, err
	}
	e.nc = nc
	e.awaiter, _ = nc.(interface{ Await() error })
	e.pairWriter, _ = nc.(interface{ WriteBoth(a, b []byte) error })
	e.beginWait()
	return e.perform(true)
}

// perform is run after the opening. idle reports whether the connection waits for a request.
func (e *portable) perform(idle bool) (end Action, err error) {
	for {
		action := Read
		if !idle {
			action = e.p.Step()
			idle = action == Read && e.p.Idle()
		}
		switch action {
		case Read:
			if !idle {
				e.receive()
			} else if over := e.receiveFirst(); over {
				return Close, nil
			}
			idle = false
		case Flush, FlushIdle:
			again := false
			if e.Concurrent {
				again, err = e.writeShared()
			} else {
				err = e.write()
			}
			if err != nil {
				return Close, err
			}
			idle = !again && (action == FlushIdle || e.p.Idle())
		case Pause:
			e.pause()
		case Hijack:
			e.hijack()
			return Hijack, nil
		case Upgrade:
			e.NoWriteTimeout = false
			e.upgrade()
		default:
			return action, nil
		}
	}
}

// limit sets the deadline of the reads that begin.
func (e *portable) limit(until time.Time) {
	if until != e.readUntil && !until.Equal(e.readUntil) {
		e.LimitReads(until)
	}
}

// receive waits for the rest of a request.
func (e *portable) receive() {
	e.limit(e.p.Wait(WaitInput))
	if e.Concurrent && e.interrupted.Load() {
		_ = e.nc.SetReadDeadline(PastDeadline)
	}
	n, err := netio.Some(e.nc, e.p.ReadBuffer())
	if e.Concurrent && n == 0 {
		// the protocol's next deadline must be set, even if it is the same as before
		e.interrupted.Store(false)
		e.readUntil = PastDeadline
	}
	if n > 0 {
		e.p.Received(n, Arrival{})
	} else {
		e.inputEnds(err)
		e.p.InputEnded(err)
	}
}

// write writes the output of the protocol.
func (e *portable) write() error {
	if !e.NoWriteTimeout {
		if until := e.p.Wait(WaitWritable); until != e.writeUntil && !until.Equal(e.writeUntil) {
			e.LimitWrites(until)
		}
	}
	head, tail, _ := e.p.Output()
	var n int64
	var err error
	switch {
	case len(tail) == 0:
		var wrote int
		wrote, err = e.nc.Write(head)
		n = int64(wrote)
	case e.pairWriter != nil:
		if err = e.pairWriter.WriteBoth(head, tail); err == nil {
			n = int64(len(head) + len(tail))
		}
	default:
		e.buffers = [2][]byte{head, tail}
		e.both = e.buffers[:]
		n, err = e.both.WriteTo(e.nc)
		e.buffers = [2][]byte{}
	}
	if err != nil && e.pairWriter != nil {
		// the number of encrypted bytes sent is not known
		n = 0
	}
	e.p.Written(n, err)
	return err
}

// Blocking implements Link. Its deadlines are always the connection's.
func (e *portable) Blocking(_, _ time.Time) net.Conn { return e.nc }

// LimitReads implements Link.
func (e *portable) LimitReads(until time.Time) {
	e.readUntil = until
	e.limited[0] = e.limited[0] || !until.IsZero()
	_ = e.nc.SetReadDeadline(until)
}

// LimitWrites implements Link.
func (e *portable) LimitWrites(until time.Time) {
	e.writeUntil = until
	e.limited[1] = e.limited[1] || !until.IsZero()
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
	e.interrupted.Store(true)
	e.shared.resume()
	if err := e.nc.SetReadDeadline(PastDeadline); err != nil {
		_ = e.nc.Close()
	}
}

// ClaimStalled implements Link. It does nothing: here a goroutine waits.
func (e *portable) ClaimStalled(Protocol) (confirm func() (end func(err error))) { return nil }

// SendsFiles implements Link.
func (e *portable) SendsFiles() bool { return false }

// peerWatcher reads ahead while a handler runs, to detect the end of the connection. The byte
// that it may read is the first one of another request.
type peerWatcher struct {
	e       *portable
	nc      net.Conn
	w       Watcher
	run     func() // watch
	on      bool
	stopped atomic.Bool
	ended   chan struct{} // gets a value at the end
	read    bool
	first   [1]byte
}

func newPeerWatcher() *peerWatcher {
	r := &peerWatcher{ended: make(chan struct{}, 1)}
	r.run = r.watch
	return r
}

func (r *peerWatcher) watch() {
	ended := false
	defer func() {
		defer func() { r.ended <- struct{}{} }()
		if !ended {
			r.fail(recover())
		}
	}()
	r.await()
	ended = true
}

// fail ends a connection whose Read has panicked, or has ended the goroutine of the watcher.
// Nothing else might recover a panic on that goroutine.
func (r *peerWatcher) fail(panicked any) {
	// the logger of the application may end the goroutine again
	defer func() {
		r.e.Abort()
		r.e.Set.guarded(func() { _ = r.nc.Close() })
		r.w.PeerGone(false)
	}()
	r.e.logPanic(panicked)
}

// await waits until a byte arrives, the connection ends, or Unwatch is called.
func (r *peerWatcher) await() {
	n, err := netio.Some(r.nc, r.first[:])
	for netio.IsTimeout(err) && !r.stopped.Load() {
		// the deadline of a handler is no end of the connection
		if r.nc.SetReadDeadline(time.Time{}) != nil {
			break
		}
		if r.stopped.Load() {
			// Unwatch may have set its deadline before this one
			return
		}
		n, err = netio.Some(r.nc, r.first[:])
	}
	r.read = n > 0
	if err != nil && !r.stopped.Load() {
		r.w.PeerGone(err == io.EOF)
	}
}

// Watch implements Link.
func (e *portable) Watch(w Watcher, mayRead bool) {
	// without deadlines Unwatch could not end the Read
	if !mayRead || e.nc.SetReadDeadline(time.Time{}) != nil {
		return
	}
	if e.watcher == nil {
		e.watcher = newPeerWatcher()
	}
	r := e.watcher
	r.e, r.nc, r.w, r.on, r.read = e, e.nc, w, true, false
	r.stopped.Store(false)
	go r.run()
}

// Unwatch implements Link.
func (e *portable) Unwatch() (unlimited bool) {
	r := e.watcher
	if r == nil || !r.on {
		return false
	}
	r.on = false
	r.stopped.Store(true)
	_ = e.nc.SetReadDeadline(PastDeadline)
	<-r.ended
	r.e, r.w = nil, nil
	e.LimitReads(time.Time{})
	if r.read {
		e.p.ReadBuffer()[0] = r.first[0]
		e.p.Received(1, Arrival{})
	}
	return true
}

// hijack gives the connection to the application.
func (e *portable) hijack() {
	s, nc := e.Set, e.NC
	if e.limited[0] || e.limited[1] || e.HasEscaped() {
		// a handler may have set deadlines, too
		_ = nc.SetDeadline(time.Time{})
	}
	take := e.p.Hijack()
	_, _ = s.Host.ReleaseProtocol(e.p, false)
	e.p = nil
	e.SetEnd(EndHandedOver)
	e.setState(StateHijacked)
	e.hijacked = true
	e.unregister()
	take(nc, nil)
}

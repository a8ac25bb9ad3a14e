package fasthttp

import (
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/ioread"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// portable is the engine that runs anywhere and on any net.Conn: a goroutine
// for each connection, which waits in Read and Write.
type portable struct {
	exchange
	nc  net.Conn
	tls *tlswire.View // nc, where that is a connection of crypto/tls

	awake   bool // something has come since the connection was last idle
	watcher *watcher
	buffers [2][]byte
	both    net.Buffers // buffers, as they are being written
}

var portables = sync.Pool{New: func() any { return new(portable) }}

// servePortable serves the connection c until it ends, and closes it.
func (s *Server) servePortable(c *serverConn) error {
	p := portables.Get().(*portable)
	p.attach(s, c, p)
	p.nc = unproxied(c.nc)
	p.awake, p.keepsSpace = false, true
	p.now = c.openedAt()

	ended := false
	defer func() {
		if !ended {
			p.dropBodyCount()
			s.dropConn(p.c, recover())
		}
	}()
	hijacked, err := p.run()
	ended = true
	if p.given && !c.aborted {
		// the handler that reads from it is to leave it; a view of TLS is for
		// one reader
		_ = c.nc.SetReadDeadline(time.Unix(1, 0))
		lingerOn(c.nc)
	}
	if !hijacked {
		if err == nil {
			err = p.fault
		}
		// what lingers holds no memory
		p.exchange.release()
		if p.linger && !c.aborted {
			lingerOn(p.nc)
		}
		closed := s.closeConn(c)
		if err == nil && !errors.Is(closed, net.ErrClosed) {
			err = closed
		}
	}
	if p.given {
		return err
	}
	p.exchange = exchange{}
	p.nc, p.tls = nil, nil
	portables.Put(p)
	return err
}

// dropConn ends a connection whose goroutine was ended from inside: by
// runtime.Goexit, with which a failing test leaves its handler, or by a panic of
// something that is not called with care, such as the Logger. Whatever was in
// use stays with whoever may still have it.
func (s *Server) dropConn(c *serverConn, panicked any) {
	if c != nil {
		c.aborted = true
		c.pinned.Store(true)
		_ = s.closeConn(c)
	}
	if panicked != nil {
		s.logger().Printf("fasthttp: panic serving a connection: %v\n%s", panicked, debug.Stack())
	}
}

// run does what the exchange asks for until the connection ends or belongs to
// somebody else.
func (p *portable) run() (hijacked bool, err error) {
	if p.s.ProxyProtocol != nil {
		if err := p.s.awaitHeader(p.c); err != nil {
			return false, err
		}
	}
	if p.c.isTLS {
		if over, err := p.beginTLS(); over {
			return false, err
		}
	}
	p.limitFirst()
	for {
		switch p.step() {
		case stepRead:
			if err := p.receive(); err != nil {
				if p.phase == phaseEnd && (err == io.EOF || isCommon(err)) {
					err = nil
				}
				if p.phase == phaseEnd && p.flushThen(stepClose) == stepClose {
					return false, err
				}
			}
		case stepFlush:
			if err := p.flush(); err != nil {
				p.cutOff(err)
				return false, err
			}
		case stepHijack:
			return p.handOver(), nil
		case stepClose:
			return false, nil
		}
	}
}

// receive reads from the connection.
func (p *portable) receive() error {
	first := p.idle()
	if !first {
		p.limitRequest()
	} else if p.awake {
		p.rest()
	}
	n, err := 0, error(nil)
	if first {
		n, err = p.receiveFirst()
	} else {
		n, err = p.awaitBody(p.nc)
	}
	if p.c.claimed() || first && (n > 0 || isTimeout(err) && p.c.neverBegan()) && !p.wake() {
		p.phase = phaseEnd
		return nil
	}
	if n > 0 {
		p.received(n)
		return nil
	}
	p.ended(err)
	return err
}

// receiveFirst waits for the first bytes of a request. A shutdown that finds the
// connection waiting ends the wait: what has come by then is served all the same.
func (p *portable) receiveFirst() (n int, err error) {
	if !p.c.asked() {
		if n, err = p.readFirst(); !isTimeout(err) || !p.c.asked() {
			return n, err
		}
	}
	_ = p.nc.SetReadDeadline(time.Now().Add(lastLook))
	if n, err = p.readFirst(); err != nil {
		p.c.claim()
	}
	return n, err
}

// lastLook is how long a connection is read from that waits for a request when the
// server shuts down. What is there is got at once; the time is for a machine that
// is busy.
const lastLook = 5 * time.Millisecond

func (p *portable) readFirst() (int, error) {
	if p.tls != nil {
		if err := p.awaitTLS(); err != nil {
			return 0, err
		}
	}
	return ioread.Some(p.nc, p.space())
}

// rest prepares the connection for waiting for its next request.
func (p *portable) rest() {
	s := p.s
	if p.ctx != nil {
		s.releaseCtx(p.ctx)
		p.ctx = nil
	}
	bufpool.Put(p.out)
	p.out = nil
	p.giveSpace()
	if p.c.requests > 0 {
		// empty lines do not begin a new wait
		p.timed, p.headTimed = false, false
		p.limitIdle(s.idleTimeout())
	}
	p.awake = false
	s.setState(p.c, StateIdle)
	p.c.setWaiting()
}

// wake says that the first bytes of a request are there. It is false if a
// shutdown has closed the connection.
func (p *portable) wake() bool {
	ok, asked := p.c.setBusy()
	if !ok {
		return false
	}
	if asked {
		_ = p.nc.SetReadDeadline(p.readUntil)
	}
	s := p.s
	p.awake = true
	p.woken()
	s.setState(p.c, StateActive)
	return true
}

// flush writes what the exchange has put together.
func (p *portable) flush() error {
	p.limitResponse()
	var n int64
	var err error
	if len(p.tail) == 0 {
		var wrote int
		wrote, err = p.nc.Write(p.out.B)
		n = int64(wrote)
	} else if p.tls != nil {
		err = p.tls.WriteBoth(p.out.B, p.tail)
	} else {
		p.buffers = [2][]byte{p.out.B, p.tail}
		p.both = p.buffers[:]
		n, err = p.both.WriteTo(p.nc)
		p.buffers = [2][]byte{}
	}
	if err != nil {
		if p.tls == nil {
			// what is encrypted is sent as a whole
			p.taken(int(n))
		}
		return err
	}
	p.flushed()
	return nil
}

// blocking implements link. Its deadlines are always those of the connection.
func (p *portable) blocking(_, _ time.Time) net.Conn { return p.nc }

// limitReads implements link.
func (p *portable) limitReads(until time.Time) { _ = p.nc.SetReadDeadline(until) }

// limitWrites implements link.
func (p *portable) limitWrites(until time.Time) { _ = p.nc.SetWriteDeadline(until) }

// interrupt implements link.
func (p *portable) interrupt() {
	if err := p.nc.SetReadDeadline(time.Unix(1, 0)); err != nil {
		_ = p.nc.Close()
	}
}

// claimStalled implements link: who waits is a goroutine.
func (p *portable) claimStalled(*exchange) (end func()) { return nil }

// forgetDeadlines implements link.
func (p *portable) forgetDeadlines() {
	if !p.timed {
		// it was that of an earlier wait
		p.readUntil = time.Time{}
	}
	p.writeUntil = time.Time{}
	_ = p.nc.SetReadDeadline(p.readUntil)
	_ = p.nc.SetWriteDeadline(time.Time{})
}

// watcher reads ahead while a handler runs, to learn of the end of the
// connection. What it reads instead is the first byte of another request.
type watcher struct {
	stopped atomic.Bool
	ended   chan struct{}
	read    bool
	first   [1]byte
}

func (r *watcher) run(nc net.Conn, w *watch) {
	defer close(r.ended)
	n, err := ioread.Some(nc, r.first[:])
	r.read = n > 0
	if err != nil && !r.stopped.Load() {
		w.endAs(err == io.EOF)
	}
}

// watch implements link.
func (p *portable) watch(w *watch) {
	if p.streaming && !p.ctx.Request.stream.done || len(p.pending()) > 0 {
		return
	}
	_ = p.nc.SetReadDeadline(time.Time{})
	p.watcher = &watcher{ended: make(chan struct{})}
	go p.watcher.run(p.nc, w)
}

// unwatch implements link.
func (p *portable) unwatch() {
	r := p.watcher
	if r == nil {
		return
	}
	p.watcher = nil
	r.stopped.Store(true)
	_ = p.nc.SetReadDeadline(time.Unix(1, 0))
	<-r.ended
	p.readUntil = time.Time{}
	_ = p.nc.SetReadDeadline(time.Time{})
	if r.read {
		p.space()[0] = r.first[0]
		p.received(1)
	}
}

const (
	// lingerTime and lingerSize bound how long the rest of a request is read
	// away that was answered before its end.
	lingerTime = 500 * time.Millisecond
	lingerSize = 256 << 10
)

// lingerOn ends the sending side of a connection and reads away what the peer
// is still sending: closing right away would make the system reset it, and the
// peer could lose the response (RFC 9112 section 9.6).
func lingerOn(nc net.Conn) {
	half, ok := nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	_ = nc.SetReadDeadline(time.Now().Add(lingerTime))
	waste := bufpool.Get(defaultReadSize)
	defer bufpool.Put(waste)
	for left := lingerSize; left > 0; {
		n, err := nc.Read(waste.B[:cap(waste.B)])
		if err != nil {
			return
		}
		left -= n
	}
}

// handOver gives the connection to the handler that Hijack was called with.
func (p *portable) handOver() bool {
	s, c := p.s, p.c
	hc := &hijackedConn{Conn: c.nc}
	if rest := p.pending(); len(rest) > 0 {
		hc.ahead = append([]byte(nil), rest...)
	}
	if !p.readUntil.IsZero() || !p.writeUntil.IsZero() {
		_ = c.nc.SetDeadline(time.Time{})
	}
	ctx := p.letGo()
	p.exchange.release()
	s.setState(c, StateHijacked)
	s.forgetConn(c)
	p.c = nil
	go s.runHijacked(ctx, hc)
	return true
}

// letGo takes the context of a request whose connection was hijacked out of the
// exchange. The HijackHandler may use it, and user values end with that.
func (x *exchange) letGo() *RequestCtx {
	ctx := x.ctx
	x.ctx = nil
	// what was not read of the body is read by nobody, and connections that are the
	// application's can live for days
	ctx.Request.RemoveMultipartFormFiles()
	if ctx.Request.stream.in != nil {
		_ = ctx.Request.stream.Close()
	}
	ctx.c = &serverConn{s: x.s, nc: x.c.nc, id: x.c.id, opened: x.c.opened, done: x.c.done, isTLS: x.c.isTLS, requests: x.c.requests}
	return ctx
}

// runHijacked runs the HijackHandler of a request, and ends that.
func (s *Server) runHijacked(ctx *RequestCtx, hc *hijackedConn) {
	handler, returned := ctx.hijack, false
	ctx.hijack = nil
	defer func() {
		if r := recover(); r != nil {
			s.logger().Printf("fasthttp: panic in a HijackHandler: %v\n%s", r, debug.Stack())
		}
		if !returned || !s.KeepHijackedConns {
			_ = hc.Close()
		}
		s.endHijacked(ctx, returned)
	}()
	handler(hc)
	returned = true
}

// endHijacked gives back the context of a request whose connection was hijacked,
// unless its handler has left it half-done.
func (s *Server) endHijacked(ctx *RequestCtx, returned bool) {
	defer func() {
		if r := recover(); r != nil {
			s.logger().Printf("fasthttp: panic in a user value: %v\n%s", r, debug.Stack())
		}
	}()
	if w := ctx.watch.Load(); !returned || w != nil && !w.finish() {
		ctx.discard()
		return
	}
	s.releaseCtx(ctx)
}

// hijackedConn is a connection with what had been read ahead of it in front.
type hijackedConn struct {
	net.Conn
	ahead []byte
}

// Read implements net.Conn.
func (c *hijackedConn) Read(p []byte) (int, error) {
	if len(c.ahead) == 0 {
		return c.Conn.Read(p)
	}
	n := copy(p, c.ahead)
	if c.ahead = c.ahead[n:]; len(c.ahead) == 0 {
		c.ahead = nil
	}
	return n, nil
}

// UnsafeConn returns the connection itself. What was read ahead is not in it.
func (c *hijackedConn) UnsafeConn() net.Conn { return c.Conn }

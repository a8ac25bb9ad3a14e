package websocket

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/ws"
)

// socketEvents is a Socket as the server sees it.
type socketEvents Socket

var _ fasthttp.EventHandler = (*socketEvents)(nil)

// assemblers have no limit, since the ws.Conn has one.
var assemblers = sync.Pool{New: func() any { return &ws.Assembler{Limit: -1} }}

// pongGrace is how long a peer has after the time for its answer is over: the answer may have
// arrived while OnMessage was blocking.
const pongGrace = 100 * time.Millisecond

// Opened implements fasthttp.EventHandler.
func (e *socketEvents) Opened(c *fasthttp.EventConn) {
	s := (*Socket)(e)
	c.SetWriteTimeout(s.settings.write)
	s.hear()
	s.tickAfter(s.settings.ping)
	if f := s.settings.handler.OnOpen; f != nil {
		f(s)
	}
}

// tickAfter makes the server call Tick after about d. It varies, so that sockets that were opened
// together do not wake together.
func (s *Socket) tickAfter(d time.Duration) {
	if d > 0 {
		s.conn.SetTick(d - time.Duration(rand.Int64N(int64(d/5)+1)))
	}
}

// hear records that something has arrived.
func (s *Socket) hear() {
	if s.settings.ping > 0 {
		s.heard = uint32(clock.Monotonic().Milliseconds())
	}
}

// quiet returns how long nothing has arrived.
func (s *Socket) quiet() time.Duration {
	return time.Duration(uint32(clock.Monotonic().Milliseconds())-s.heard) * time.Millisecond
}

// Received implements fasthttp.EventHandler.
func (e *socketEvents) Received(c *fasthttp.EventConn, p []byte) (n int) {
	s := (*Socket)(e)
	s.hear()
	corked := false
	for {
		var ev ws.Event
		size, err := s.feed(p[n:], &ev)
		n += size
		if err != nil {
			return len(p)
		}
		switch ev.Opcode {
		case ws.Continuation:
			return n
		case ws.Text, ws.Binary:
			// answers wait for those to the messages that have arrived as well
			if more := n < len(p); more != corked {
				corked = more
				if corked {
					c.Cork()
				} else {
					c.Uncork()
				}
			}
			if !s.add(&ev) {
				return len(p)
			}
		}
	}
}

// feed passes received bytes to the ws.Conn, and answers control frames.
func (s *Socket) feed(p []byte, ev *ws.Event) (n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state&socketAborted != 0 {
		return len(p), nil
	}
	if s.state&(socketPinged|socketLate) != 0 {
		s.state &^= socketPinged | socketLate
		s.tickAfter(s.settings.ping)
	}
	n, err = s.ws.Feed(p, ev)
	if err != nil {
		s.failFor(err.(*ws.Error))
		return n, err
	}
	switch ev.Opcode {
	case ws.Ping:
		// there is nothing to answer after a Close frame
		_ = s.control(ws.Pong, ev.Payload)
	case ws.Close:
		s.more().closed = &CloseError{int(ev.Code), string(ev.Payload)}
		if s.ws.Phase() == ws.Closed {
			_ = s.conn.Close()
			break
		}
		// the answer has the same code (RFC 6455 section 5.5.1)
		_ = s.close(ev.Code, "")
	}
	return n, nil
}

// failFor closes the socket for a fault of the peer. mu is held.
func (s *Socket) failFor(fault *ws.Error) {
	if s.extra != nil && s.extra.fault != nil {
		return
	}
	if fault == ws.ErrMessageSize {
		s.fail(ErrReadLimit)
	} else {
		s.fail(&FaultError{int(fault.Code), fault})
	}
	_ = s.close(fault.Code, "")
	_ = s.conn.Close()
}

// add handles a part of a message, and calls OnMessage if it is the last one. It returns false if
// the message is malformed, or too large after decompression.
func (s *Socket) add(ev *ws.Event) bool {
	data := ev.Payload
	if !ev.First || !ev.End {
		if data, _ = s.assembler().Add(ev); !ev.End {
			return true
		}
	}
	if ev.Compressed {
		return s.handleCompressed(ev.Opcode, data)
	}
	if f := s.settings.handler.OnMessage; f != nil {
		f(s, Message{int(ev.Opcode), data})
	}
	s.dropParts()
	return true
}

// assembler returns the memory of a message in several parts.
func (s *Socket) assembler() *ws.Assembler {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.more()
	if x.parts == nil {
		x.parts = assemblers.Get().(*ws.Assembler)
		s.collects = true
	}
	return x.parts
}

// dropParts releases that memory, if there is any.
func (s *Socket) dropParts() {
	if !s.collects {
		return
	}
	s.collects = false
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.extra
	x.parts.Release()
	assemblers.Put(x.parts)
	if x.parts = nil; x.isEmpty() {
		s.extra = nil
		socketExtras.Put(x)
	}
}

// Drained implements fasthttp.EventHandler.
func (e *socketEvents) Drained(*fasthttp.EventConn) {
	s := (*Socket)(e)
	if f := s.settings.handler.OnDrain; f != nil {
		f(s)
	}
}

// Tick implements fasthttp.EventHandler.
func (e *socketEvents) Tick(c *fasthttp.EventConn) {
	s := (*Socket)(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	ping := s.settings.ping
	switch quiet := s.quiet(); {
	case s.state&socketLate != 0:
		s.fail(ErrPongTimeout)
		c.Abort()
	case s.state&socketPinged != 0:
		s.state |= socketLate
		c.SetTick(pongGrace)
	case quiet < ping-ping/5:
		s.tickAfter(ping - quiet)
	case s.control(ws.Ping, nil) != nil:
	case s.settings.pong < 0:
		s.tickAfter(ping)
	default:
		s.state |= socketPinged
		c.SetTick(s.settings.pong)
	}
}

// ShuttingDown implements fasthttp.EventHandler.
func (e *socketEvents) ShuttingDown(*fasthttp.EventConn) {
	_ = (*Socket)(e).Close(CloseGoingAway, "")
}

// Ended implements fasthttp.EventHandler.
func (e *socketEvents) Ended(_ *fasthttp.EventConn, err error) {
	s := (*Socket)(e)
	groups := s.end()
	s.mu.Lock()
	code, reason := s.outcome(err)
	s.mu.Unlock()
	s.dropParts()
	if x := s.context(); x != nil {
		x.release()
	}
	for _, g := range groups {
		g.leaveAtEnd(s)
	}
	if f := s.settings.handler.OnClose; f != nil {
		f(s, code, reason)
	}
}

// end records that the connection has ended, and returns the groups that the socket has to leave.
func (s *Socket) end() (groups []*Group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state |= socketEnded
	if s.extra != nil {
		groups, s.extra.groups = s.extra.groups, nil
	}
	return groups
}

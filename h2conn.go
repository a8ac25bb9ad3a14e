package fasthttp

import (
	"sync"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/engine"
	"github.com/valyala/fasthttp/internal/http2"
)

// h2Conn is a connection of a server that speaks HTTP/2: what http2.Conn knows of it, its
// input and output, and its requests, each with an exchange. It is the engine.Protocol that
// an engine drives (h2conn_protocol.go). Handlers run on goroutines of their own, which put
// responses into the http2.Conn and wake the engine.
//
// An idle connection has an h2Conn, but no buffer.
type h2Conn struct {
	s    *Server
	c    *engine.Conn
	link engine.Link

	in   *bufpool.Buffer // received; the bytes before read are consumed
	read int

	mu   sync.Mutex // guards what follows, and what an h2Exchange says of it
	conn http2.Conn
	out  *bufpool.Buffer // being written; the bytes before sent were
	sent int
	// outSize is how many bytes are taken from conn at a time
	outSize int
	output  h2Output
	input   h2Input
	fault   error // why the connection has ended before its time

	first   *h2Exchange // those that were not released
	spare   *h2Exchange // those for others, by their next
	queue   h2Queue     // those whose handlers wait for their turn
	waiting int         // how many of them there are
	running int         // goroutines that serve
	leader  uint32      // the one of them that serves all, one after the other, or 0
	leaders uint32      // how many there have been
	turns   uint32      // how many exchanges leaders have begun to serve
	held    int         // bytes of responses that wait until the leader has served more
	watch   *time.Timer // looks whether it goes on; nil until it is needed

	watching bool   // the timer runs
	watched  uint32 // turns when it was started

	ticked uint32 // when time was last looked at, in milliseconds
	heard  uint32 // when bytes last came
	idle   uint32 // since when there is no request
	asked  bool   // a PING asks whether the peer is still there
	left   bool   // Shutdown was called a second ago or earlier
	rested bool   // the application was told that the connection is idle
	known  bool   // a shutdown of the server finds the connection
	begun  bool   // the preface has come
	paused bool   // feed has stopped since too much output waits; begun, known and paused are the engine's
	spares uint8  // how many exchanges the connection has put into spare
	lean   bool   // the connection has given its spare memory back since then

	start *blockStart  // of the last usual response, or nil
	now   clock.Moment // when the requests came that are being received, once it was asked for
}

// h2Output is who writes output.
type h2Output uint8

const (
	h2Quiet   h2Output = iota // nobody, and there is none that nobody knows of
	h2Woken                   // the engine was told that there is some
	h2Writing                 // the engine is at it
)

// h2Input is how far the input has come.
type h2Input uint8

const (
	h2Fresh h2Input = iota // nothing has come yet
	h2Open                 // more may come
	h2Ended                // nothing comes any more
	h2Gone                 // the engine has left the connection
)

// h2Queue is a list of exchanges, those first that came first.
type h2Queue struct{ first, last *h2Exchange }

func (q *h2Queue) put(x *h2Exchange) {
	if q.last == nil {
		q.first = x
	} else {
		q.last.next = x
	}
	q.last = x
}

func (q *h2Queue) take() *h2Exchange {
	x := q.first
	if x == nil {
		return nil
	}
	if q.first = x.next; q.first == nil {
		q.last = nil
	}
	x.next = nil
	return x
}

// newH2Conn makes a connection speak HTTP/2 from now on.
func newH2Conn(s *Server, c *engine.Conn, l engine.Link) *h2Conn {
	h := &h2Conn{s: s, c: c, link: l, outSize: h2SmallOutput}
	// handlers may use it after its end, see release
	c.PinOnly()
	c.Concurrent, c.Variant = true, variantHTTP2
	now := h2Now()
	h.ticked, h.heard, h.idle = now, now, now
	h.conn.Init(http2.Server, &s.h2.limits, now)
	return h
}

// h2Now returns the time in milliseconds since any moment.
func h2Now() uint32 { return uint32(clock.Monotonic().Milliseconds()) }

// pending returns the bytes that were received and not yet consumed.
func (h *h2Conn) pending() []byte {
	if h.in == nil {
		return nil
	}
	return h.in.B[h.read:]
}

// wakes reports whether the caller, who has made output, must wake the engine once it has
// released mu.
func (h *h2Conn) wakes() bool {
	if h.output != h2Quiet || h.input == h2Gone || !h.conn.HasOutput() && !h.conn.Done() {
		return false
	}
	h.output = h2Woken
	return true
}

// add adds an exchange to those of the connection, and remove removes it. mu is held.
func (h *h2Conn) add(x *h2Exchange) {
	h.lean = false
	if h.rested {
		h.rested = false
		h.changed(engine.StateActive)
	}
	x.after = h.first
	if h.first != nil {
		h.first.before = x
	}
	h.first = x
}

func (h *h2Conn) remove(x *h2Exchange) {
	if x.before != nil {
		x.before.after = x.after
	} else {
		h.first = x.after
	}
	if x.after != nil {
		x.after.before = x.before
	}
	x.before, x.after = nil, nil
	if h.first == nil {
		h.idle, h.rested = h2Now(), true
		h.changed(engine.StateIdle)
	}
}

// changed tells the application of a state of the connection.
func (h *h2Conn) changed(state engine.State) {
	if h.s.ConnState != nil && h.input != h2Gone {
		(*host)(h.s).StateChanged(h.c.NC, state)
	}
}

// dispatch puts an exchange into the queue of those that are to be served.
func (h *h2Conn) dispatch(x *h2Exchange) {
	h.mu.Lock()
	h.enqueue(x)
	h.mu.Unlock()
}

// enqueue is dispatch for a caller who holds mu.
func (h *h2Conn) enqueue(x *h2Exchange) {
	x.phase, x.feeding = h2Serves, false
	h.queue.put(x)
	h.waiting++
}

// leave begins to end the connection in order, unless that has begun: to say it again would
// not wait for the peer. mu is held.
func (h *h2Conn) leave() {
	if h.conn.Life() == http2.LifeOpen {
		h.conn.Shutdown()
	}
}

// shutdown begins to end the connection since the server shuts down.
func (h *h2Conn) shutdown() {
	h.mu.Lock()
	h.leave()
	wake := h.wakes()
	h.mu.Unlock()
	if wake {
		h.link.Wake()
	}
	// a goroutine that waits for input is to look at the time from now on
	h.link.Interrupt()
}

// end says that the peer is gone: all requests have ended.
func (h *h2Conn) end(input h2Input) {
	h.mu.Lock()
	if h.input < input {
		h.input = input
	}
	h.conn.Close(http2.NoError)
	var ended []*h2Exchange
	for x := h.first; x != nil; x = x.after {
		ended = append(ended, x)
	}
	over := ended[:0]
	for _, x := range ended {
		if x.cutOff(errH2Gone) {
			over = append(over, x)
		}
	}
	h.mu.Unlock()
	for _, x := range over {
		h.s.h2.workers.Do((*h2Released)(x))
	}
}

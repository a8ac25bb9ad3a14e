package engine

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/rawsys"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// State is a state of a connection, as passed to the Host. The values equal those of
// ConnState in the server's package.
type State int

const (
	// StateNew is the state of a connection that was accepted.
	StateNew State = iota
	// StateActive begins with the first byte of a request.
	StateActive
	// StateIdle begins when a request has been answered.
	StateIdle
	// StateHijacked is the state of a connection that was handed over.
	StateHijacked
	// StateClosed is the state of a connection that was closed.
	StateClosed
)

// End is the reason for which a connection has ended. The values from EndServer on are in the
// order of ConnEnd in the server's package.
type End uint8

const (
	endUnknown End = iota
	// EndServer is the end after the last response, as one of the two sides wanted.
	EndServer
	// EndPeer is an end that the peer has caused by closing or resetting the connection.
	EndPeer
	// EndTimeout is the end because of a time limit.
	EndTimeout
	// EndShutdown is the end because the server shuts down.
	EndShutdown
	// EndHandedOver is the end of the server's part: the application has the connection.
	EndHandedOver
	// EndFault is the end because of an error.
	EndFault
	// EndAborted is the end because of Abort.
	EndAborted
)

// SetEnd records the reason for which the connection is about to end, unless another one is
// known. Only the owner of the connection calls it.
func (c *Conn) SetEnd(why End) {
	if c.knownEnd() == endUnknown {
		c.marks.Or(uint32(why) << endShift)
	}
}

func (c *Conn) knownEnd() End { return End(c.marks.Load() >> endShift) }

// EndReason returns the reason for which the connection has ended.
func (c *Conn) EndReason() End {
	switch end := c.knownEnd(); {
	case end != endUnknown:
		return end
	case c.IsAborted():
		return EndAborted
	case c.Stopping():
		return EndShutdown
	}
	return EndServer
}

// endsBecause records the error of reading, writing or of the protocol with which the connection
// ends; nil means none.
func (c *Conn) endsBecause(err error) {
	switch {
	case err == nil:
	case err == io.EOF:
		// the usual end, which must not cost more
		c.SetEnd(EndPeer)
	case !netio.IsTimeout(err):
		c.SetEnd(endOf(err))
	case !c.Stopping():
		// a shutdown ends waits by deadlines
		c.SetEnd(EndTimeout)
	}
}

// inputEnds is endsBecause for the end of the input. For a Concurrent protocol a timeout is none.
func (c *Conn) inputEnds(err error) {
	if !c.Concurrent || !netio.IsTimeout(err) {
		c.endsBecause(err)
	}
}

// endOf returns the reason for an error other than a timeout.
func endOf(err error) End {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return EndPeer
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op != "remote error" && op.Op != "local error" {
		// the latter are alerts of TLS
		return EndPeer
	}
	return EndFault
}

var connIDs atomic.Uint64

// NewID returns a number that no other connection of the process has had.
func NewID() uint64 { return connIDs.Add(1) }

// Conn is the state of a connection for its whole lifetime.
type Conn struct {
	// Set is the set that the connection is in.
	Set *Set
	// NC is the connection that the application sees.
	NC net.Conn
	// ID is a number that no other connection of the process has had.
	ID uint64
	// Opened is the time of clock.Monotonic at which the connection was accepted.
	Opened time.Duration
	// Service is the run of the server that the connection belongs to.
	Service *Service

	// Requests counts the requests that the protocol has answered. Empty is for the
	// protocol's use: it is 0 until a byte arrives.
	Requests uint64
	Empty    uint8
	// IsTLS is set for a TLS connection.
	IsTLS bool
	// HasReadGoroutine is set by the engine if a goroutine waits for input and holds the
	// ReadBuffer of the protocol meanwhile.
	HasReadGoroutine bool
	// Concurrent is set if the protocol makes output at any time: see Link.Wake.
	Concurrent bool
	// NoWriteTimeout is set if the protocol never limits a wait for room. The engine need not
	// ask it then.
	NoWriteTimeout bool
	// KeepsProtocol is set if the Host would not put the protocol away. The engine need not ask it
	// then, either.
	KeepsProtocol bool
	// Variant is for the Host, which may record here which protocol AcquireProtocol returns.
	Variant        uint8
	shutdownProbes uint8 // how often shutdowns have found it in stageProbed

	marks atomic.Uint32 // see Abort, RecordEscape and SetEnd
	stage atomic.Int32  // a stage

	prev, next *Conn
	// peer is the peer's address if it is known, or else the address it counts for
	peer rawsys.Address
}

const (
	aborted uint32 = 1 << iota
	escaped
	leftByShutdown // by a shutdown that gave up
	counted        // the result of Host.Admit was an address

	endShift = 8 // of the End, which is in the bits above the others
)

// State implements Link for the connections of the engines, of which c is a part.
func (c *Conn) State() *Conn { return c }

// Stopping reports whether the connection must end after its request: the server is
// shutting down, or a shutdown gave up and left the connection open.
func (c *Conn) Stopping() bool { return c.marks.Load()&leftByShutdown != 0 || c.Set.stopping.Load() }

// Abort makes the engine reset the connection instead of closing it cleanly. Any goroutine
// may call it.
func (c *Conn) Abort() { c.marks.Or(aborted) }

// IsAborted reports whether Abort was called.
func (c *Conn) IsAborted() bool { return c.marks.Load()&aborted != 0 }

// MarkEscaped keeps the Conn from being reused, since a reference to it may remain.
func (c *Conn) MarkEscaped() { c.marks.Or(escaped) }

// HasEscaped reports whether RecordEscape or MarkEscaped was called.
func (c *Conn) HasEscaped() bool { return c.marks.Load()&escaped != 0 }

// stage is how far a connection is on its way from one request to the next. On the portable
// engine it decides whether a shutdown or the connection's goroutine ends the connection;
// on the event engine the owner ends it.
type stage int32

const (
	stageBusy    stage = iota // a request has begun
	stageOpening              // the opening before the first request is under way
	stageWaiting              // it waits for a request
	stageProbing              // it waits, and a shutdown is about to end the wait
	stageProbed               // it waits, and a shutdown needs to know whether there is a request
	stageClaimed              // a shutdown has claimed it, and closes it
	stages
)

// stageChanges holds, for each stage, the set of stages that may follow it, as bits.
var stageChanges = [stages]uint8{
	stageBusy:    1 << stageWaiting,
	stageOpening: 1<<stageWaiting | 1<<stageProbed,
	stageWaiting: 1<<stageBusy | 1<<stageProbing | 1<<stageProbed,
	stageProbing: 1<<stageProbed | 1<<stageClaimed,
	stageProbed:  1<<stageBusy | 1<<stageClaimed,
	stageClaimed: 0,
}

func (c *Conn) loadStage() stage { return stage(c.stage.Load()) }

// change replaces the stage from by the stage to, if the connection is in from.
func (c *Conn) change(from, to stage) bool {
	if stageChanges[from]&(1<<to) == 0 {
		panic("engine: a connection changes to a stage that cannot follow")
	}
	return c.stage.CompareAndSwap(int32(from), int32(to))
}

// OpenedAt returns when the connection was accepted.
func (c *Conn) OpenedAt() time.Time {
	now := time.Now()
	return now.Add(c.Opened - now.Sub(clock.Began))
}

// RecordEscape is MarkEscaped for a reference of the application. It also records the addresses: the
// application may ask for them after the connection has ended.
func (c *Conn) RecordEscape() {
	c.MarkEscaped()
	// an engine that gets them from the system knows them then
	_, _ = c.NC.RemoteAddr(), c.NC.LocalAddr()
}

// GetsTimeoutResponse reports whether a connection has not sent a single byte, and its peer gets a
// response after the time for that. There is none at the end of a wait for another
// request.
func (c *Conn) GetsTimeoutResponse() bool {
	return c.NoRequestYet() && c.Set.Limits.RespondsOnTimeout
}

// NoRequestYet reports whether a connection has not begun a request.
func (c *Conn) NoRequestYet() bool { return c.Requests == 0 && c.Empty == 0 }

// EndOpening marks the opening, such as a PROXY header or a handshake, as done, as far as
// the protocol is concerned.
func (c *Conn) EndOpening() { c.change(stageOpening, stageWaiting) }

// setState reports to the Host that a state of the connection begins.
func (c *Conn) setState(state State) {
	if s := c.Set; s.TracksState {
		s.Host.StateChanged(c, state)
	}
}

// Begin makes a waiting connection busy. It returns false if the server is shutting down.
func (c *Conn) Begin() bool { return c.change(stageWaiting, stageBusy) }

// Opening reports whether the opening before the first request is under way.
func (c *Conn) Opening() bool { return c.loadStage() == stageOpening }

// Waiting reports whether the connection waits for a request.
func (c *Conn) Waiting() bool { return c.loadStage() == stageWaiting }

// claimIdle claims a connection that waits for a request. The caller must call closeIt
// without holding a lock of the Set: it closes the connection, unless the system has received
// something that is not handled yet. closeIt is nil for a busy connection.
func (c *Conn) claimIdle() (closeIt func()) {
	if own, ok := transportOf(c.NC).(idleClaimer); ok {
		return own.claimIdle()
	}
	nc := c.NC
	switch c.loadStage() {
	case stageOpening:
		// a request may follow the handshake at once
		c.change(stageOpening, stageProbed)
	case stageWaiting:
		if !c.change(stageWaiting, stageProbing) {
			return nil
		}
		// the connection is not closed before its stage is stageProbed
		return func() {
			failed := true
			defer func() {
				if failed {
					c.change(stageProbing, stageClaimed)
					_ = nc.Close()
				}
			}()
			if nc.SetReadDeadline(PastDeadline) == nil {
				failed = false
				c.change(stageProbing, stageProbed)
			}
		}
	case stageProbed:
		if c.shutdownProbes++; c.shutdownProbes < maxShutdownProbes || !c.claim() {
			return nil
		}
		// the goroutine that reads from it sees the end and cleans up; the closing alert of
		// a TLS connection may take until the peer reads
		return func() { go c.Set.guarded(func() { _ = nc.Close() }) }
	}
	return nil
}

// CloseAborted resets the connection after Abort, below the engine. Any goroutine may call it.
func (c *Conn) CloseAborted() error { return c.closeTransport(c.NC) }

// closeTransport closes nc, a connection of package net or one above it.
func (c *Conn) closeTransport(nc net.Conn) error {
	if c.IsAborted() {
		// a reset shows the peer that the message was cut off, whatever its framing; so
		// does TLS without its closing alert
		nc = c.Set.Host.Transport(nc)
		if tcp, ok := nc.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	}
	return nc.Close()
}

// transportOf returns the connection below a TLS connection, or nc itself if it is none.
func transportOf(nc net.Conn) net.Conn {
	if over, ok := nc.(*tls.Conn); ok {
		nc, _ = tlswire.Transport(over.NetConn())
	}
	return nc
}

// idleClaimer is a connection whose engine knows whether it is idle.
type idleClaimer interface {
	claimIdle() (closeIt func())
}

// maxShutdownProbes is how many rounds of a shutdown a connection may take to find out whether there
// is a request: it may be in a handshake, or have no deadlines. A handshake takes two round
// trips and a signature, on a busy machine or from afar up to a second.
const maxShutdownProbes = 50

// awaitRequest marks the connection as waiting for a request. Only its goroutine calls it,
// while the connection is busy or waits already.
func (c *Conn) awaitRequest() {
	c.change(stageBusy, stageWaiting)
	if c.Set.stopping.Load() {
		c.change(stageWaiting, stageProbed)
	}
}

// begin marks the connection as busy when the first bytes of a request have arrived. ok is
// false if a shutdown has claimed the connection. asked is true if a shutdown has set its
// deadline on the connection, to learn whether there is a request.
func (c *Conn) begin() (ok, asked bool) {
	for {
		switch now := c.loadStage(); now {
		case stageBusy:
			return true, false
		case stageClaimed:
			return false, false
		case stageProbing:
			runtime.Gosched()
		case stageOpening:
			c.EndOpening()
		default:
			if c.change(now, stageBusy) {
				return true, now == stageProbed
			}
		}
	}
}

// isProbed reports whether a shutdown needs to know whether there is a request. It waits while
// the connection is in stageProbing.
func (c *Conn) isProbed() bool {
	now := c.loadStage()
	for ; now == stageProbing; now = c.loadStage() {
		runtime.Gosched()
	}
	return now == stageProbed
}

// claim claims a connection in stageProbed, which has no request, for the caller, which closes
// it. It returns false if the stage has changed.
func (c *Conn) claim() bool { return c.change(stageProbed, stageClaimed) }

func (c *Conn) claimed() bool { return c.loadStage() == stageClaimed }

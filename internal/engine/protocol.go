package engine

import (
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// Protocol is the protocol of a connection: it receives the bytes that have arrived, and
// returns the next action for the engine. It never waits for the peer, so an event loop can
// feed it single bytes. If it must wait, in the middle of a handler, its Link returns a
// connection that waits.
//
// Only the engine calls the methods, never two at once. For a Conn.Concurrent protocol, one
// other goroutine may call Wait(WaitWritable), Output and Written concurrently with the other
// methods.
type Protocol interface {
	// ReadBuffer returns the buffer for the bytes that arrive next. It is not empty.
	ReadBuffer() []byte
	// Received reports that the first n bytes of ReadBuffer have arrived. They end a wait for a
	// request. After it, deadlines that the application has set for an earlier request no longer
	// apply.
	Received(n int, a Arrival)
	// InputEnded reports that nothing more will arrive: err is io.EOF, a timeout, or
	// another error of reading.
	InputEnded(err error)

	// Step advances as far as the received bytes allow, and returns the next action. A
	// panic in it ends the connection.
	Step() Action
	// Output returns the bytes to write after Flush: head, then tail, then the part of a
	// file. There is a tail, or a file, or neither.
	Output() (head, tail []byte, file *FilePart)
	// Written reports that n more bytes of the output were written. If err is not nil,
	// nothing more will be written: the connection takes no more, and is ended; or the file
	// has ended early, which is io.ErrUnexpectedEOF, and there is another Step.
	Written(n int64, err error)

	// Idle reports whether nothing has begun that would be lost if the connection ended.
	// The engine takes the protocol from an idle connection, or keeps it there.
	Idle() bool
	// Wait is called when the connection begins the wait w. It returns the deadline: the
	// zero time means none, and PastDeadline a time in the past. A deadline that the application
	// has set takes precedence, unless the protocol has set one through its Link since
	// then.
	Wait(w Wait) (until time.Time)
	// Yield announces that the other connections of the loop get their turn, and returns the
	// wait of this connection meanwhile. For WaitNone, the deadline stays as it is.
	Yield() (w Wait, until time.Time)
	// DeadlineExceeded reports that the time of a WaitInput is over, although something has arrived,
	// which is received next: it may have arrived in time. Wait then returns PastDeadline if it
	// has not.
	DeadlineExceeded()

	// Hijack gives the connection to the application after the action Hijack. The
	// engine calls take when it no longer uses the connection: with the connection to use
	// from then on, or with an error if there is none.
	Hijack() (take func(nc net.Conn, err error))
	// Abandoned reports that the protocol is no longer used, since the goroutine in one of
	// its methods has ended, or panicked.
	Abandoned()
}

// Arrival has the times of bytes that have arrived.
type Arrival struct {
	// At is a moment of clock.Monotonic soon after which they were read; 0 means just now.
	At time.Duration
	// Waited is how long they have waited for that, at least; 0 if it is not known, or not needed:
	// see Limits.Queue.
	Waited time.Duration
}

// Worker is a Conn.Concurrent protocol with requests of its own to serve, beside the bytes
// that arrive on the connection.
type Worker interface {
	Protocol
	// HasWork reports whether Work must be called. The caller owns the connection.
	HasWork() bool
	// Work serves the requests that wait or arrive meanwhile. The engine does not own the
	// connection then: another goroutine may drive the protocol. Work may take as long as
	// handlers do.
	Work()
}

// Action is the next action that a protocol needs from its engine.
type Action uint8

const (
	Read   Action = iota // receive more, and call Step again
	Flush                // write the output, and call Step again
	Close                // close the connection
	Linger               // discard the bytes that the peer still sends, then close
	Hijack               // give the connection to the application
	// CloseDetached leaves the protocol to a late handler that still uses it; the connection ends.
	CloseDetached
	// Upgrade gives the connection to another protocol, see Host.Upgrade, whose Step is
	// called next.
	Upgrade
	// FlushIdle is Flush if nothing has begun that would be lost, as Idle reports, once the
	// output is written.
	FlushIdle
	// Pause receives nothing until Link.Wake or Link.Interrupt is called, or the deadline of
	// a WaitInput has passed, and calls Step again. Only Conn.Concurrent protocols return it.
	Pause
)

// Wait is the reason why a connection waits.
type Wait uint8

const (
	WaitNone Wait = iota // for nothing
	// WaitRequest is the wait for a request to begin, with ReadBuffer as the buffer. WaitUnbuffered is
	// the same without a buffer.
	WaitRequest
	WaitUnbuffered
	WaitInput    // for the rest of a request
	WaitWritable // for room for the output
)

// PastDeadline is a deadline that makes everything on a connection fail at once.
var PastDeadline = time.Unix(1, 0)

// FilePart is a part of a file to send.
type FilePart struct {
	// File is open for reading until all of the part was written.
	File *os.File
	// Offset is the position of the part in the file, and Length its size, in bytes.
	Offset, Length int64
}

// Link is how a protocol calls the engine below it.
type Link interface {
	// State returns the state of the connection.
	State() *Conn
	// Blocking returns the connection with Read and Write that wait, until the next Step.
	// It has these deadlines, unless the application has set others; the zero time means
	// none.
	Blocking(readUntil, writeUntil time.Time) net.Conn
	// LimitReads and LimitWrites replace the deadlines of that connection.
	LimitReads(until time.Time)
	LimitWrites(until time.Time)
	// ForgetDeadlines removes the deadlines that the application has set. The deadline for
	// reading is then until, and there is none for writing.
	ForgetDeadlines(until time.Time)
	// Watch makes the engine call w when the peer goes away, until Unwatch is called.
	// Unwatch reports whether no deadline for reading is left. An engine that must read for
	// that only does so if mayRead is set.
	Watch(w Watcher, mayRead bool)
	Unwatch() (unlimited bool)
	// Interrupt ends the Read of a goroutine that waits in it, or its Pause. Any goroutine may
	// call it.
	Interrupt()
	// ClaimStalled claims a connection with the protocol p that waits for input without a
	// goroutine. The caller may hold a lock, but must call confirm without it, since that
	// asks the system. It must then call end, which ends the input with an error. confirm is
	// nil if the connection has an owner, or another protocol; end is nil if it has input.
	ClaimStalled(p Protocol) (confirm func() (end func(err error)))
	// SendsFiles reports whether Output may have a file.
	SendsFiles() bool
	// Wake reports output made by a goroutine other than the engine's. The engine writes
	// it, while the connection waits for input or soon after. If the protocol has set
	// Conn.Concurrent, any goroutine may call it, even after the end of the connection. It
	// may call methods of the protocol, and wait for room. It may also call Step, and serve
	// requests by Work: a goroutine inside of a handler calls Push instead.
	Wake()
	// Push is Wake that calls only Output, Written and Wait. It returns false if a
	// goroutine outside of handlers must call Wake for the rest.
	Push() (over bool)
}

// Watcher is called at the end of a connection. If half is set, the peer has only ended its
// sending side.
type Watcher interface {
	// PeerGone is called once, by a goroutine of the engine, and must not wait.
	PeerGone(half bool)
}

// Host is the server to which connections belong. Its methods may be called concurrently.
type Host interface {
	// AcquireProtocol returns the protocol of a connection when bytes arrive on it. last is a protocol
	// that ReleaseProtocol returned, or nil.
	AcquireProtocol(c *Conn, l Link, last Protocol) Protocol
	// ReleaseProtocol takes a protocol back. If reuse is set it may return one that AcquireProtocol can give to
	// another connection. fault is the reason why the connection ended early, or nil.
	ReleaseProtocol(p Protocol, reuse bool) (last Protocol, fault error)
	// ParkProtocol takes back the protocol of a connection that waits for a request, until bytes
	// arrive, if possible. It returns a buffer to wait with, unless bare is set, and the
	// deadline of the wait. Dormant replaces AcquireProtocol if a connection also waits for its first
	// request without a protocol: it reports whether it does, and the size of the buffer.
	ParkProtocol(p Protocol, bare bool) (space *bufpool.Buffer, until time.Time, ok bool)
	Dormant(c *Conn) (size int, until time.Time, ok bool)
	// ResumeProtocol returns the protocol of a connection that has waited without one. The protocol
	// uses the buffer, which may be nil, for its ReadBuffer, and the deadlines of the Link.
	ResumeProtocol(c *Conn, l Link, space *bufpool.Buffer, readUntil, writeUntil time.Time) Protocol
	// Upgrade takes the protocol of a connection back, and returns the one that continues
	// with the bytes that the other has received.
	Upgrade(c *Conn, l Link, p Protocol) Protocol

	// Admit counts a connection as being served, until ConnClosed is called. Refuse sends a
	// response on one that was not admitted, and closes it.
	Admit(nc net.Conn) (peer netip.Addr, err error)
	Refuse(nc net.Conn, why error)
	// OnOverload is called after a connection was refused. It may wait.
	OnOverload(why error)
	// Prepare sets the options of an accepted connection. Sockets accepted as descriptors
	// inherit theirs from the listener. Keepalive returns the period of the listener's TCP
	// keep-alive probes; 0 means no probes.
	Prepare(nc net.Conn)
	Keepalive() (period time.Duration)
	// KindOf reports whether a connection has an opening before its protocol, and whether
	// it is a TLS connection.
	KindOf(nc net.Conn) (opening, isTLS bool)
	// Opening performs the opening of a connection before its protocol, and may wait: a
	// PROXY header, a TLS handshake. It returns the connection to continue with. over is
	// true if it was served already, or must not be served.
	Opening(c *Conn) (nc net.Conn, over bool, err error)
	// Handshake performs the handshake of a TLS connection, and calls EndOpening after it.
	// If the peer has chosen a protocol that other code serves, serve is not nil: it serves
	// the connection, and returns when the connection must be closed.
	Handshake(c *Conn) (serve func() error, err error)
	// Transport returns the connection below nc whose reset cuts nc off.
	Transport(nc net.Conn) net.Conn
	// ConnClosed is called when an admitted connection is no longer served.
	ConnClosed(peer netip.Addr)

	// ExpectsHeader reports whether a socket begins with a PROXY header, and how long that
	// may take. The socket is closed unless served is true. HeaderFailed is called if there
	// was no header. AdmitClient counts the connection as one of the address in the header;
	// Refuse follows if that fails.
	ExpectsHeader(nc net.Conn) (wait time.Duration, expected, served bool)
	HeaderFailed(c *Conn, err error)
	AdmitClient(c *Conn) error

	// StateChanged is called when a state of a connection begins, if the Set has TracksState.
	StateChanged(c *Conn, state State)
	// Logf logs an error that the operator of the server should know of.
	Logf(format string, args ...any)
}

// HandshakesPerProc is how many TLS handshakes compute at once on the event engine, per
// processor.
const HandshakesPerProc = 4

// Limits are how long connections wait. 0 means no limit.
type Limits struct {
	// Handshake is for the handshake of a TLS connection. It must be set if there are
	// any.
	Handshake time.Duration
	// First is for the first byte on a new connection, and Idle for the first byte of
	// another request.
	First, Idle time.Duration
	// RespondsOnTimeout is set if the peer gets a response when First is over.
	RespondsOnTimeout bool
	// Queue is about how long bytes may wait until the protocol receives them. 0 means that
	// Arrival.Waited is not needed.
	Queue time.Duration
}

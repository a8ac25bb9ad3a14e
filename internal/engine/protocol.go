package engine

import (
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// Protocol is the protocol of a connection: it receives the bytes that have arrived,
// and says what the engine is to do. It never waits for the peer, so an event loop
// can feed it single bytes. If it must wait, in the middle of a handler, it asks its
// Link for a connection that waits.
//
// Only the engine calls the methods, one at a time. For a protocol that is Conn.Concurrent,
// Wait(WaitRoom), Output and Written may be called beside the other methods, by one
// goroutine at a time.
type Protocol interface {
	// Space returns the buffer for the bytes that arrive next. It is not empty.
	Space() []byte
	// Received says that the first n bytes of Space have arrived: just now if at is 0,
	// otherwise soon after the moment at, as clock.Monotonic says. They end a wait for a
	// request, after which deadlines that the application has set for an earlier request
	// hold no more.
	Received(n int, at time.Duration)
	// InputEnded says that nothing arrives any more: err is io.EOF, a timeout, or
	// another error of reading.
	InputEnded(err error)

	// Step goes as far as the received bytes reach, and returns what is to be done. A
	// panic in it ends the connection.
	Step() Action
	// Output returns what is to be written after Flush: head, then tail, then the
	// part of a file. There is either a tail or a file, or neither.
	Output() (head, tail []byte, file *FilePart)
	// Written says that n bytes more of the output were written. If err is not nil no
	// more will be: the connection takes no more, and is ended; or the file has ended
	// early, which is io.ErrUnexpectedEOF, and there is another Step.
	Written(n int64, err error)

	// Idle reports whether nothing has begun that would be lost if the connection
	// ended. The engine takes the protocol from an idle connection, or keeps it there.
	Idle() bool
	// Wait says what the connection waits for from now on, and returns until when: the
	// zero time stands for ever, and Passed for a time that is over. A deadline that
	// the application has set comes first, unless the protocol has set one by its Link
	// since then.
	Wait(w Wait) (until time.Time)
	// Turn says that the other connections of the loop get their turn, and returns
	// what this one waits for meanwhile. If that is WaitNone, the deadline stays as
	// it is.
	Turn() (w Wait, until time.Time)
	// Expired says that the time of a WaitInput is over, although something has come,
	// which is received next: it may have come in time. Wait says whether it has.
	Expired()

	// HandOver gives the connection to the application after the action of that name.
	// The engine calls take when it does not use the connection any more: with the
	// connection to use from then on, or with an error if there is none.
	HandOver() (take func(nc net.Conn, err error))
	// Abandoned says that the protocol is used no more since the goroutine that was
	// in one of its methods has ended, or panicked.
	Abandoned()
}

// Worker is a protocol that is Conn.Concurrent and has requests of its own to serve, beside
// what comes on the connection.
type Worker interface {
	Protocol
	// HasWork reports whether Work is to be called. The caller owns the connection.
	HasWork() bool
	// Work serves the requests that wait, and those that come meanwhile. The engine does
	// not own the connection then: another goroutine may drive the protocol. Work may take
	// as long as handlers do.
	Work()
}

// Action is what a protocol asks its engine for.
type Action uint8

const (
	Read     Action = iota // receive more, and call Step again
	Flush                  // write the output, and call Step again
	Close                  // close the connection
	Linger                 // discard the bytes that the peer still sends, then close
	HandOver               // give the connection to the application
	// Leave leaves the protocol to a handler that is late and still uses it; the
	// connection ends.
	Leave
	// Upgrade gives the connection to another protocol, see Host.Upgrade, whose Step is
	// called next.
	Upgrade
	// FlushRest is Flush if nothing has begun that would be lost, as Idle reports, once the
	// output is written.
	FlushRest
)

// Wait is what a connection waits for.
type Wait uint8

const (
	WaitNone Wait = iota // for nothing
	// WaitRequest is the wait for a request to begin, with Space in hand, and WaitBare
	// the same without.
	WaitRequest
	WaitBare
	WaitInput // for the rest of a request
	WaitRoom  // for room for the output
)

// Passed is a deadline that makes everything on a connection fail at once.
var Passed = time.Unix(1, 0)

// FilePart is a part of a file that is to be sent.
type FilePart struct {
	// File is open for reading, and stays so until all was written.
	File *os.File
	// Offset is where the part begins in the file, in bytes, and Length how long it is.
	Offset, Length int64
}

// Link is what a protocol may ask of the engine below it.
type Link interface {
	// Blocking returns the connection with Read and Write that wait, until the next
	// Step. It has these deadlines, unless the application has set other ones; the
	// zero time stands for none.
	Blocking(readUntil, writeUntil time.Time) net.Conn
	// LimitReads and LimitWrites replace the deadlines of that connection.
	LimitReads(until time.Time)
	LimitWrites(until time.Time)
	// ForgetDeadlines removes the deadlines that the application has set. Those of
	// the protocol are until for reading, and none for writing.
	ForgetDeadlines(until time.Time)
	// Watch makes the engine call w when the peer goes away, until Unwatch is called,
	// which reports whether there is no deadline for reading any more. An engine that
	// must read for that only does so if mayRead is set.
	Watch(w Watcher, mayRead bool)
	Unwatch() (unlimited bool)
	// Interrupt ends the Read of a goroutine that waits in it. It may be called by any
	// goroutine.
	Interrupt()
	// ClaimStalled claims a connection with the protocol p that waits for input
	// without a goroutine. The caller must call end, which ends the input with an
	// error. end is nil if the connection has an owner, another protocol, or input.
	ClaimStalled(p Protocol) (end func(err error))
	// SendsFiles reports whether Output may have a file.
	SendsFiles() bool
	// KeepsSpace reports whether a goroutine waits for input, with Space in hand.
	KeepsSpace() bool
	// Wake says that there is output, made by another goroutine than that of the engine:
	// the engine writes it, while the connection waits for input or soon after. Any
	// goroutine may call it, also after the end of the connection, if the protocol has set
	// Conn.Concurrent. It may call methods of the protocol, and wait for room. It may also
	// call Step, and serve requests by Work: a goroutine that is inside of a handler calls
	// Push instead.
	Wake()
	// Push is Wake that calls Output, Written and Wait alone. It is false if a goroutine
	// that is not inside of a handler must call Wake for the rest.
	Push() (over bool)
}

// Watcher learns of the end of a connection. With half set the peer has only ended
// its sending side.
type Watcher interface {
	// PeerGone is called once, by a goroutine of the engine's, and must not wait.
	PeerGone(half bool)
}

// Host is the server that connections belong to. Its methods may be called
// concurrently.
type Host interface {
	// Lend returns the protocol of a connection, when something comes on it. last is
	// one that was returned by Return, or nil.
	Lend(c *Conn, l Link, last Protocol) Protocol
	// Return takes a protocol back. With reuse set it may return one that Lend can
	// make that of another connection. fault is why the connection has ended before
	// its time, or nil.
	Return(p Protocol, reuse bool) (last Protocol, fault error)
	// PutAway takes back the protocol of a connection that waits for a request, until
	// something has come, if that is possible. It returns a buffer to wait with, unless bare
	// is set, and until when to wait. Dormant reports whether a connection waits in that way
	// for its first request, too, in the place of Lend, and what size the buffer has.
	PutAway(p Protocol, bare bool) (space *bufpool.Buffer, until time.Time, ok bool)
	Dormant(c *Conn) (size int, until time.Time, ok bool)
	// TakeUp returns the protocol of a connection that has waited without one. The protocol
	// gets the buffer, which may be nil, and uses it for Space, and the deadlines that the
	// Link has.
	TakeUp(c *Conn, l Link, space *bufpool.Buffer, readUntil, writeUntil time.Time) Protocol
	// Upgrade takes the protocol of a connection back, and returns the one that goes on
	// with what the other has received.
	Upgrade(c *Conn, l Link, p Protocol) Protocol

	// Admit counts a connection as being served, until Gone. Refuse answers one that
	// was not admitted, and closes it.
	Admit(nc net.Conn) (peer netip.Addr, err error)
	Refuse(nc net.Conn, why error)
	// Crowded is called after a connection was refused. It may wait.
	Crowded(why error)
	// Prepare sets the options of a connection that was accepted. Sockets that are
	// accepted as descriptors inherit theirs from the listener, which gets the period of
	// TCP's keep-alive probes from Keepalive; 0 stands for no probes.
	Prepare(nc net.Conn)
	Keepalive() (period time.Duration)
	// KindOf reports whether something comes before the protocol on a connection,
	// and whether it is a TLS connection.
	KindOf(nc net.Conn) (opening, isTLS bool)
	// Opening does the opening of a connection before its protocol, and may wait: the
	// header of a proxy, a TLS handshake. It returns the connection to go on with;
	// over says that it was served already, or that it is not to be.
	Opening(c *Conn) (nc net.Conn, over bool, err error)
	// Handshake performs the handshake of a TLS connection, and calls EndOpening after
	// it. If the peer has chosen a protocol that somebody else serves, serve is not nil:
	// it does so, and returns when the connection is to be closed.
	Handshake(c *Conn) (serve func() error, err error)
	// Transport returns the connection below nc whose reset cuts nc off.
	Transport(nc net.Conn) net.Conn
	// Gone says that a connection that was admitted is served no more.
	Gone(peer netip.Addr)

	// ExpectsHeader reports whether a socket begins with a header of the PROXY protocol,
	// and how long it may take for that. It is closed unless it is served. HeaderFailed
	// says that there was no header, and AdmitClient, which Refuse follows if it fails,
	// counts the connection as one of the address that the header has named.
	ExpectsHeader(nc net.Conn) (wait time.Duration, expected, served bool)
	HeaderFailed(c *Conn, err error)
	AdmitClient(c *Conn) error

	// StateChanged is called when a state of a connection begins, if the Set is
	// Watched.
	StateChanged(nc net.Conn, state State)
	// Logf logs an error that the operator of the server should know of.
	Logf(format string, args ...any)
}

// HandshakesEach is how many TLS handshakes compute at a time on the event engine, for
// each processor.
const HandshakesEach = 4

// Limits are how long connections wait. 0 stands for ever.
type Limits struct {
	// Handshake is for the handshake of a TLS connection. It must be set if there are
	// any.
	Handshake time.Duration
	// First is for the first byte on a new connection, and Idle for that of another
	// request.
	First, Idle time.Duration
	// Answered says that the peer gets a response when First is over.
	Answered bool
}

package http1

// ServerConn is the state of a server's connection: a phase of reading, one of a body that the
// peer may be waiting to send, one of writing, and one that decides whether there will be
// another request. The zero value is a connection that waits for its first request. Conn
// does no I/O; it makes its caller follow the permitted order of the phases.
//
// A phase that must not follow is a mistake of the caller, and makes ServerConn panic.
type ServerConn struct {
	reading Reading
	waiting Waiting
	writing Writing
	life    Life
}

// Reading is a phase of reading.
type Reading uint8

const (
	// ReadIdle is the wait for a request: no byte of it has arrived.
	ReadIdle Reading = iota
	// ReadWoken is the end of that wait: bytes have arrived, perhaps only empty lines.
	ReadWoken
	// ReadHead begins with the first byte of a request.
	ReadHead
	// ReadBody collects the body before the handler is called.
	ReadBody
	// ReadStream lets the handler read the body as it arrives.
	ReadStream
	// ReadDone means that the current request was read.
	ReadDone
	// ReadEnded means that reading has ended.
	ReadEnded
	readings
)

// Waiting is a phase of a peer that asks whether it may send a body (RFC 9110 section
// 10.1.1). It is separate from Reading, since the goroutine that reads a streamed body
// changes it; another goroutine may write the response.
type Waiting uint8

const (
	// WaitNever is the phase of a peer that sends its body without asking.
	WaitNever Waiting = iota
	// WaitOpen means that the peer has no answer yet.
	WaitOpen
	// WaitOver means that the peer was told to continue, or gets the response instead.
	WaitOver
	waitings
)

// Writing is a phase of writing.
type Writing uint8

const (
	// WriteIdle means that the output is whole messages, which may wait for others.
	WriteIdle Writing = iota
	// WriteQueued means that the next request waits until all output is written.
	WriteQueued
	// WriteStream writes a body while the handler produces it.
	WriteStream
	writings
)

// Life is a phase of the life of a connection.
type Life uint8

const (
	// LifeOpen means that there may be another request.
	LifeOpen Life = iota
	// LifeLast means that the peer wants the current request to be the last.
	LifeLast
	// LifeEnding means that there is no other request.
	LifeEnding
	// LifeLingering is LifeEnding while the peer may still be sending.
	LifeLingering
	// LifeDetached means that there is no other request, since a late handler may be reading
	// the body of this one, for as long as it likes. So Reading stays as it is.
	LifeDetached
	// LifeHijacked means that the application owns the connection.
	LifeHijacked
	lives
)

// after holds, for each phase, the phases that may follow it, a bit for each. It has eight
// places of eight bits, so that a lookup needs no bounds check.
var after = struct {
	reading [8]uint8
	waiting [8]uint8
	writing [8]uint8
	life    [8]uint8
}{
	reading: [8]uint8{
		ReadIdle:   1<<ReadWoken | 1<<ReadHead | 1<<ReadEnded,
		ReadWoken:  1<<ReadIdle | 1<<ReadHead | 1<<ReadEnded,
		ReadHead:   1<<ReadBody | 1<<ReadStream | 1<<ReadDone | 1<<ReadEnded,
		ReadBody:   1<<ReadStream | 1<<ReadDone | 1<<ReadEnded,
		ReadStream: 1<<ReadIdle | 1<<ReadDone | 1<<ReadEnded,
		ReadDone:   1<<ReadIdle | 1<<ReadEnded,
		ReadEnded:  0,
	},
	waiting: [8]uint8{
		WaitNever: 1<<WaitOpen | 1<<WaitOver,
		WaitOpen:  1<<WaitOver | 1<<WaitNever,
		WaitOver:  1 << WaitNever,
	},
	writing: [8]uint8{
		WriteIdle:   1<<WriteQueued | 1<<WriteStream,
		WriteQueued: 1 << WriteIdle,
		WriteStream: 1 << WriteIdle,
	},
	life: [8]uint8{
		LifeOpen:      1<<LifeLast | 1<<LifeEnding | 1<<LifeLingering | 1<<LifeDetached | 1<<LifeHijacked,
		LifeLast:      1<<LifeEnding | 1<<LifeLingering | 1<<LifeDetached | 1<<LifeHijacked,
		LifeEnding:    1<<LifeLingering | 1<<LifeHijacked,
		LifeLingering: 1<<LifeEnding | 1<<LifeHijacked,
		LifeDetached:  0,
		LifeHijacked:  0,
	},
}

const cannotFollow = "http1: a connection changes to a phase that cannot follow"

// Reading returns the phase of reading.
func (c *ServerConn) Reading() Reading { return c.reading }

// SetReading begins a phase of reading.
func (c *ServerConn) SetReading(to Reading) {
	if after.reading[c.reading&7]>>(to&7)&1 == 0 {
		panic(cannotFollow)
	}
	c.reading = to
}

// Begun reports whether a request has begun and was not yet answered.
func (c *ServerConn) Begun() bool { return c.reading > ReadWoken && c.reading < ReadEnded }

// Idle reports whether the connection waits for a request and no byte of it has arrived.
func (c *ServerConn) Idle() bool { return c.reading <= ReadWoken }

// EndReading ends reading in any phase, unless reading is left to a late handler.
func (c *ServerConn) EndReading() {
	if c.reading != ReadEnded && c.life != LifeDetached {
		c.SetReading(ReadEnded)
	}
}

// Waiting returns the phase of a peer that asks whether it may send a body.
func (c *ServerConn) Waiting() Waiting { return c.waiting }

// SetWaiting begins a phase of such a peer.
func (c *ServerConn) SetWaiting(to Waiting) {
	if after.waiting[c.waiting&7]>>(to&7)&1 == 0 {
		panic(cannotFollow)
	}
	c.waiting = to
}

// Writing returns the phase of writing.
func (c *ServerConn) Writing() Writing { return c.writing }

// SetWriting begins a phase of writing.
func (c *ServerConn) SetWriting(to Writing) {
	if after.writing[c.writing&7]>>(to&7)&1 == 0 {
		panic(cannotFollow)
	}
	c.writing = to
}

// Life returns the phase of the life of the connection.
func (c *ServerConn) Life() Life { return c.life }

// SetLife begins a phase of the life of the connection.
func (c *ServerConn) SetLife(to Life) {
	if after.life[c.life&7]>>(to&7)&1 == 0 {
		panic(cannotFollow)
	}
	c.life = to
}

// KeepAlive reports whether nothing known so far ends the connection with the current
// request.
func (c *ServerConn) KeepAlive() bool { return c.life == LifeOpen }

// Ends reports whether there is no other request.
func (c *ServerConn) Ends() bool { return c.life == LifeEnding || c.life == LifeLingering }

// Lingers reports whether the connection ends while the peer may still be sending.
func (c *ServerConn) Lingers() bool { return c.life == LifeLingering }

// ReadingDetached reports whether reading is left to a late handler.
func (c *ServerConn) ReadingDetached() bool { return c.life == LifeDetached }

// End makes the current request the last one. It may already be the last.
func (c *ServerConn) End() {
	if !c.Ends() {
		c.SetLife(LifeEnding)
	}
}

// Linger is End if the peer may still be sending.
func (c *ServerConn) Linger() {
	if c.life != LifeLingering {
		c.SetLife(LifeLingering)
	}
}

package http1

// Conn is how far a connection of a server is: a phase for what is read, one for a
// body that the peer may be waiting to send, one for what is written, and one for
// whether there will be another request. Their zero values are those of a connection
// that waits for its first request. Conn does no I/O; it holds whoever does to the
// phases that may follow each other.
//
// A phase that cannot follow is a mistake of the caller, and makes Conn panic.
type Conn struct {
	reading Reading
	waiting Waiting
	writing Writing
	life    Life
}

// Reading is a phase of reading.
type Reading uint8

const (
	// ReadIdle is the wait for a request: nothing of one has come.
	ReadIdle Reading = iota
	// ReadWoken is the end of that wait: something has come, be it empty lines.
	ReadWoken
	// ReadHead begins with the first byte of a request.
	ReadHead
	// ReadBody collects the body before the handler is called.
	ReadBody
	// ReadStream lets the handler read the body as it arrives.
	ReadStream
	// ReadDone means that the current request was read.
	ReadDone
	// ReadEnded means that nothing is read any more.
	ReadEnded
	readings
)

// Waiting is a phase of a peer that asks whether it may send a body (RFC 9110 section
// 10.1.1). It is apart from Reading since the goroutine that reads a body which is a
// stream changes it, and that can be another one than that which writes the response.
type Waiting uint8

const (
	// WaitNever is that of a peer which sends its body without asking.
	WaitNever Waiting = iota
	// WaitOpen means that the peer has no answer yet.
	WaitOpen
	// WaitOver means that the peer was told to go on, or gets the response instead.
	WaitOver
	waitings
)

// Writing is a phase of writing.
type Writing uint8

const (
	// WriteIdle means that what there is to be written are whole messages, which may
	// wait for others.
	WriteIdle Writing = iota
	// WriteQueued means that the next request waits until all is written.
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
	// LifeLeft means that there is no other request since a handler is late that may be
	// reading the body of this one, for as long as it likes. So Reading stays as it is.
	LifeLeft
	// LifeHandedOver means that the connection is the application's.
	LifeHandedOver
	lives
)

// after is which phases may follow each one: a bit for each of them. There are eight
// places, and eight bits, so that asking takes no check of an index.
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
		LifeOpen:       1<<LifeLast | 1<<LifeEnding | 1<<LifeLingering | 1<<LifeLeft | 1<<LifeHandedOver,
		LifeLast:       1<<LifeEnding | 1<<LifeLingering | 1<<LifeLeft | 1<<LifeHandedOver,
		LifeEnding:     1<<LifeLingering | 1<<LifeHandedOver,
		LifeLingering:  1<<LifeEnding | 1<<LifeHandedOver,
		LifeLeft:       0,
		LifeHandedOver: 0,
	},
}

const cannotFollow = "http1: a connection changes to a phase that cannot follow"

// Reading returns the phase of reading.
func (c *Conn) Reading() Reading { return c.reading }

// SetReading begins a phase of reading.
func (c *Conn) SetReading(to Reading) {
	if after.reading[c.reading&7]>>(to&7)&1 == 0 {
		panic(cannotFollow)
	}
	c.reading = to
}

// Begun reports whether a request has begun and was not yet answered.
func (c *Conn) Begun() bool { return c.reading > ReadWoken && c.reading < ReadEnded }

// Idle reports whether the connection waits for a request, of which nothing has come.
func (c *Conn) Idle() bool { return c.reading <= ReadWoken }

// EndReading ends reading in any phase, unless it is left to a handler that is late.
func (c *Conn) EndReading() {
	if c.reading != ReadEnded && c.life != LifeLeft {
		c.SetReading(ReadEnded)
	}
}

// Waiting returns the phase of a peer that asks whether it may send a body.
func (c *Conn) Waiting() Waiting { return c.waiting }

// SetWaiting begins a phase of such a peer.
func (c *Conn) SetWaiting(to Waiting) {
	if after.waiting[c.waiting&7]>>(to&7)&1 == 0 {
		panic(cannotFollow)
	}
	c.waiting = to
}

// Writing returns the phase of writing.
func (c *Conn) Writing() Writing { return c.writing }

// SetWriting begins a phase of writing.
func (c *Conn) SetWriting(to Writing) {
	if after.writing[c.writing&7]>>(to&7)&1 == 0 {
		panic(cannotFollow)
	}
	c.writing = to
}

// Life returns the phase of the life of the connection.
func (c *Conn) Life() Life { return c.life }

// SetLife begins a phase of that.
func (c *Conn) SetLife(to Life) {
	if after.life[c.life&7]>>(to&7)&1 == 0 {
		panic(cannotFollow)
	}
	c.life = to
}

// KeepAlive reports whether nothing is known by now that ends the connection with the
// current request.
func (c *Conn) KeepAlive() bool { return c.life == LifeOpen }

// Ends reports whether there is no other request.
func (c *Conn) Ends() bool { return c.life == LifeEnding || c.life == LifeLingering }

// Lingers reports whether the connection ends while the peer may still be sending.
func (c *Conn) Lingers() bool { return c.life == LifeLingering }

// Left reports whether reading is left to a handler that is late.
func (c *Conn) Left() bool { return c.life == LifeLeft }

// End makes the current request the last. It may have been that before.
func (c *Conn) End() {
	if !c.Ends() {
		c.SetLife(LifeEnding)
	}
}

// Linger is End if the peer may still be sending.
func (c *Conn) Linger() {
	if c.life != LifeLingering {
		c.SetLife(LifeLingering)
	}
}

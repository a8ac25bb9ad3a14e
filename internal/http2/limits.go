package http2

import "encoding/binary"

// streamWindow is the receive window of a new stream. Until the peer has acknowledged the
// settings it may assume a larger one.
func (c *Conn) streamWindow() int32 {
	if c.greeting != Greeted {
		return int32(max(c.l.Window, firstWindow))
	}
	return int32(c.l.Window)
}

// creditConn gives n bytes back to the window of the connection. The peer gets an update when half of
// the window has accumulated, or as much as the peer has left: unread content of other streams may hold
// the rest. Updates are not smaller than a sixteenth of the window.
func (c *Conn) creditConn(n int32) {
	c.credit += n
	whole := c.l.ConnWindow
	if int(c.credit) >= max(min(int(c.recvWindow), whole/2), whole/16) {
		c.returnCredit()
	}
}

func (c *Conn) returnCredit() {
	c.put32(frameWindowUpdate, 0, uint32(c.credit))
	c.recvWindow += c.credit
	c.credit = 0
}

// creditStream is creditConn for a stream. One that the peer has ended needs no window.
func (c *Conn) creditStream(s *Stream, n int32) {
	s.credit += n
	if s.credit > 0 && int(s.credit) >= (c.l.Window+1)/2 && s.receiving < Ended && c.mayHave(s) {
		c.put32(frameWindowUpdate, s.id, uint32(s.credit))
		s.recvWindow += s.credit
		s.credit = 0
	}
}

// MayReceive reports whether the windows permit the peer to send content on a stream.
func (c *Conn) MayReceive(s *Stream) bool { return c.recvWindow > 0 && s.recvWindow > 0 }

// Consumed reports that the caller is done with n bytes of the content of a stream: the
// peer may send as much again. Unconsumed content of a stream that was reset is given back
// automatically.
func (c *Conn) Consumed(s *Stream, n int) {
	k := min(int32(n), s.unread)
	s.unread -= k
	if c.life != LifeClosed && k > 0 {
		c.creditConn(k)
		c.creditStream(s, k)
	}
}

// Keep is Consumed for content that stays in memory until Release, and is therefore limited
// by Limits.Bodies. Above the limit streams wait for others. Only one continues, so that it
// can finish. Keep returns false if all kept content exceeds the sum of twice the limit and
// all stream windows. Then nothing is consumed, and the caller resets the stream.
func (c *Conn) Keep(s *Stream, n int) bool {
	if c.kept+n > 2*c.l.Bodies+c.l.Streams*c.l.Window {
		return false
	}
	c.kept += n
	s.kept += uint32(n)
	c.Consumed(s, n)
	c.moves = c.moves || c.favored == s.id
	if c.favored == s.id && s.receiving >= Ended {
		c.favored = 0
		if c.withheld {
			c.passOn()
		}
	}
	return true
}

// mayHave reports whether a stream may have more window now.
func (c *Conn) mayHave(s *Stream) bool {
	if s.kept == 0 || c.kept <= c.l.Bodies || c.favored == s.id {
		return true
	}
	if c.favored == 0 {
		c.favored, c.moves = s.id, true
		return true
	}
	c.withheld = true
	return false
}

// passOn gives streams the window that is withheld: all of them if the limit permits,
// otherwise the next one if none is favored.
func (c *Conn) passOn() {
	switch {
	case c.life == LifeClosed:
	case c.kept <= c.l.Bodies:
		c.withheld, c.favored = false, 0
		for s := range c.table.all {
			c.creditStream(s, 0)
		}
	case c.favored == 0:
		c.favor(0)
	}
}

// favor gives the withheld window to the next stream after an id, or to the first one.
func (c *Conn) favor(after uint32) {
	var next *Stream
	for s := range c.table.all {
		// ids before after become the largest
		if s.kept > 0 && int(s.credit) >= (c.l.Window+1)/2 && s.receiving < Ended &&
			(next == nil || s.id-after-1 < next.id-after-1) {
			next = s
		}
	}
	if next != nil {
		c.favored, c.moves = next.id, true
		c.creditStream(next, 0)
	}
}

// favorOther favors another stream if the peer sends nothing on the favored one.
func (c *Conn) favorOther() {
	if !c.withheld {
		return
	}
	s := c.table.find(c.favored)
	switch {
	case s == nil:
		c.favored = 0
		c.passOn()
	case !c.moves:
		c.favor(s.id)
	default:
		c.moves = false
	}
}

func (c *Conn) receiveWindow(f *frame, p []byte) (Event, *Error) {
	if len(p) != 4 {
		return Event{}, ErrFrameSize
	}
	n := binary.BigEndian.Uint32(p) & maxID
	if n > 0 && n < smallFrame {
		if err := c.late(); err != nil {
			return Event{}, err
		}
	}
	if f.id == 0 {
		return Event{}, c.growWindow(n)
	}
	if c.isIdle(f.id) {
		return Event{}, ErrIdleStream
	}
	s := c.table.find(f.id)
	switch {
	case s == nil && n > 0 && n < smallFrame:
		// it is counted
		return Event{}, nil
	case s == nil:
		return Event{}, c.late()
	case n == 0:
		return c.refuse(s, errStreamStep)
	case int64(s.sendWindow)+int64(n) > maxID:
		return c.refuse(s, errStreamWindow)
	}
	s.sendWindow += int32(n)
	c.schedule(s)
	return Event{}, nil
}

// growWindow grows the window that the peer has for all streams.
func (c *Conn) growWindow(n uint32) *Error {
	switch {
	case n == 0:
		return ErrIncrement
	case int64(c.sendWindow)+int64(n) > maxID:
		return ErrWindow
	}
	c.sendWindow += int32(n)
	return nil
}

// Limits limits the work that a peer can cause on a connection. A zero field means its
// default; a negative bucket or time means no limit. Init reads a Limits; later changes
// have no effect on existing connections.
type Limits struct {
	// Streams is how many streams of the peer may be open at once: further ones are
	// refused. Connections are ended at four times as many streams that the caller has not
	// released, most of which the peer must have reset. Default 250.
	Streams int
	// HeaderList is the size of a header section, counting 32 bytes for each field (RFC
	// 9113 section 10.5.1): above it there is an event TooLarge; a section of more than
	// twice the size ends the connection. Default 64 KiB.
	HeaderList int
	// Fields is how many fields a header section may have, without pseudo-fields, each crumb of a
	// cookie counted as one. The reactions are the same as for HeaderList. Default 500.
	Fields int
	// PendingHeads limits the header sections of all streams that the caller has not released, in
	// bytes as HeaderList counts them. Above it new streams are refused. The default of 4
	// MiB is 16 KiB for each of Streams, if that is more.
	PendingHeads int
	// Continuations is how many CONTINUATION frames a header block may have. More of them,
	// or an empty one, end the connection. Default 8.
	Continuations int
	// Frame is the largest accepted frame, from 16 KiB to 16 MiB. Default 16 KiB.
	Frame int
	// Window is how many bytes of content the peer may send on a stream, and ConnWindow on
	// all streams, before they are consumed. Exceeding it ends the stream, or the
	// connection. Defaults 256 KiB and 1 MiB; ConnWindow is at least 65,535.
	Window, ConnWindow int
	// Bodies limits the content that the caller keeps, see Conn.Keep: above it only one
	// stream at a time gets more window. Default 16 MiB.
	Bodies int
	// Output is how many bytes of frames other than DATA may wait to be written before
	// Feed accepts no more. When a quarter of it waits, small content is not added to it any
	// more, but waits in its stream. Default 256 KiB.
	Output int
	// Settings is how many settings a frame may have: more end the connection. Default 32.
	Settings int
	// DecoderTable and EncoderTable limit the tables of HPACK, in bytes. A DecoderTable
	// under 4,096 counts as 4,096. Defaults 4,096.
	DecoderTable, EncoderTable int

	// Wasted is the bucket for aborted streams: streams that the peer resets within
	// QuickReset, and streams that are reset for its fault. It holds Wasted tokens, and gets
	// one for each stream that ended well and WastedRate a second. An empty one ends the
	// connection. Defaults 1,000 and 1,000: a client may cancel all its requests several
	// times, and requests that it does not cancel may arrive faster.
	Wasted, WastedRate int
	// Glitches is the bucket for frames without benefit. It gets one token back for each
	// DATA frame with content, of either side, and each stream that ended well: clients of
	// gRPC send a PING with each of those. It loses one for each PING, SETTINGS, PRIORITY,
	// PRIORITY_UPDATE or unknown frame, each frame for a closed stream, each DATA frame
	// without content that does not end a stream, and each WINDOW_UPDATE of less than 256
	// bytes, unless it answers small DATA. Small DATA does not count: applications send
	// messages as they arise, and a frame costs no more than a request, of which any number
	// is allowed. An empty bucket ends the connection. Defaults 1,000, and 330 a second.
	Glitches, GlitchRate int

	// Greeting is how many milliseconds a peer has for its preface, its SETTINGS, and the
	// acknowledgement of ours. Preface is the part of them for the preface alone. Default
	// 10,000.
	Greeting, Preface int
	// Block is how many milliseconds a header block may wait for its end, before the
	// connection ends. Default 15,000.
	Block int
	// Stall is how many milliseconds content may wait for a window, before the stream is
	// reset, or the connection ends. In each such period a peer must also take MinData
	// bytes of a stream that waits, unless less is left. They are for servers. Defaults
	// 15,000 and 1,024.
	Stall, MinData int

	// KeepNames leaves the names of fields in lower case. KeepAll keeps fields in the list
	// even if a slot of http1.Head has them: see http1.Head.
	KeepNames, KeepAll bool

	// ExtendedConnect makes a server accept extended CONNECT requests (RFC 8441), and
	// announce that.
	ExtendedConnect bool
}

// The defaults of Limits.
const (
	DefaultStreams       = 250
	DefaultHeaderList    = 64 << 10
	DefaultFields        = 500
	DefaultPendingHeads  = 4 << 20
	DefaultContinuations = 8
	DefaultFrame         = 16 << 10
	DefaultWindow        = 256 << 10
	DefaultConnWindow    = 1 << 20
	DefaultBodies        = 16 << 20
	DefaultOutput        = 256 << 10
	DefaultSettings      = 32
	DefaultTable         = 4096
	DefaultWasted        = 1000
	DefaultWastedRate    = 1000
	DefaultGlitches      = 1000
	DefaultGlitchRate    = 330
	DefaultGreeting      = 10_000
	DefaultBlock         = 15_000
	DefaultStall         = 15_000
	DefaultMinData       = 1024
)

// heldFactor is how many times Limits.Streams the caller may hold.
const heldFactor = 4

// QuickReset is how many milliseconds a stream must last for its reset not to count as
// wasted. Clients give up requests that take too long, all of them if the server is busy;
// and Limits.Streams limits longer streams like any others.
const QuickReset = 5

// smallFrame is the size below which WINDOW_UPDATE counts as a glitch.
const smallFrame = 256

// Fill replaces the fields that are zero by their defaults, and brings the others into
// their ranges. Init needs a filled Limits, so that one serves all connections.
func (l *Limits) Fill() {
	if l.PendingHeads == 0 {
		l.PendingHeads = max(DefaultPendingHeads, l.Streams*(16<<10))
	}
	for _, f := range []struct {
		field *int
		def   int
	}{
		{&l.Streams, DefaultStreams}, {&l.HeaderList, DefaultHeaderList}, {&l.Fields, DefaultFields},
		{&l.Continuations, DefaultContinuations}, {&l.Frame, DefaultFrame},
		{&l.Window, DefaultWindow}, {&l.ConnWindow, DefaultConnWindow}, {&l.Bodies, DefaultBodies},
		{&l.Output, DefaultOutput}, {&l.Settings, DefaultSettings}, {&l.DecoderTable, DefaultTable},
		{&l.EncoderTable, DefaultTable}, {&l.Wasted, DefaultWasted}, {&l.WastedRate, DefaultWastedRate},
		{&l.Glitches, DefaultGlitches}, {&l.GlitchRate, DefaultGlitchRate}, {&l.Greeting, DefaultGreeting}, {&l.Preface, DefaultGreeting},
		{&l.Block, DefaultBlock}, {&l.Stall, DefaultStall}, {&l.MinData, DefaultMinData},
	} {
		if *f.field == 0 {
			*f.field = f.def
		}
	}
	l.Frame = min(max(l.Frame, DefaultFrame), 1<<24-1)
	l.Window = min(max(l.Window, 1), maxID)
	l.ConnWindow = min(max(l.ConnWindow, firstWindow), maxID)
	l.DecoderTable = max(l.DecoderTable, DefaultTable)
}

// Bucket is a token bucket: it counts how many more actions that cost more than they bring
// a peer may cause.
type Bucket struct {
	left int32
	at   uint32 // the time up to which it was filled
}

// NewBucket returns a Bucket with tokens. now is in milliseconds.
func NewBucket(tokens int, now uint32) Bucket { return Bucket{int32(tokens), now} }

// Take takes one token from a bucket that holds most and gets rate a second. It reports
// whether there was one.
func (b *Bucket) Take(most, rate int, now uint32) bool {
	if most < 0 {
		return true
	}
	if rate > 0 && b.left < int32(most) {
		if more := uint64(now-b.at) * uint64(rate) / 1000; more > 0 {
			b.left = int32(min(uint64(b.left)+more, uint64(most)))
			b.at = now
		}
	} else {
		b.at = now
	}
	if b.left <= 0 {
		return false
	}
	b.left--
	return true
}

// PutBack puts one token back.
func (b *Bucket) PutBack(most int) { b.left = min(b.left+1, int32(most)) }

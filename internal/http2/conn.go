package http2

import (
	"math"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
)

// Role is a side of a connection.
type Role uint8

const (
	Server Role = iota // accepts requests
	Client             // makes them
)

// Preface is the beginning of a client's connection (RFC 9113 section 3.4).
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Conn is a connection: the states of both directions and of its streams, and its output.
// The caller passes received bytes to Feed, responds to its events, and writes the bytes
// from Output. Init makes a Conn ready for use.
//
// A Conn must not be used by several goroutines at once. It allocates nothing while the
// number of its streams does not grow.
type Conn struct {
	l    *Limits
	err  *Error // why it has ended, in LifeClosed
	dec  hpack.Decoder
	enc  hpack.Encoder
	peer peer

	out          *bufpool.Buffer // frames other than DATA that waits for window
	outRead      int             // of which this many were written
	blockAt      int32           // where the block begins in out that the caller encodes
	writeEnd     int32           // where Output ends a write in out, if more than outRead
	requestBytes int             // how much was put into out for a client's requests, since it was empty

	block   *bufpool.Buffer // of a section that CONTINUATION frames continue
	pending pendingHead

	table     streamTable
	ended     ended
	ready     queue // streams with content that may be sent, in the order of sending
	drained   queue
	lost      queue
	free      *Stream
	freeCount int // number of streams in free

	now      uint32
	begun    uint32 // when the connection began
	stall    stall  // of sendWindow
	wasted   Bucket
	glitches Bucket
	answers  uint32 // frames without benefit that excuse has allowed
	strays   int32  // how much content may be on its way for streams that were reset

	sendWindow int32 // the peer's, for all streams
	recvWindow int32 // for the peer
	credit     int32 // consumed, but not yet returned
	highest    uint32
	goodLast   uint32 // the last id of the last GOAWAY, while draining
	active     int    // open streams, as SETTINGS_MAX_CONCURRENT_STREAMS counts
	held       int    // streams that the caller has not released
	heads      int    // the sizes of their header sections
	kept       int    // their content that the caller keeps
	favored    uint32 // the stream that gets window although kept is above its limit, or 0
	took       int32  // how many bytes the last step has consumed

	role         Role
	greeting     Greeting
	life         Life
	pings        uint8 // own unanswered PING frames
	shutdownPing bool  // one of them is from Shutdown
	moves        bool  // the favored stream has received content since time was last checked
	withheld     bool  // streams wait for window because of Limits.Bodies
	extended     bool  // SETTINGS_ENABLE_CONNECT_PROTOCOL of the peer is 1
}

// peer holds the settings and the GOAWAY of the peer.
type peer struct {
	window  int32  // SETTINGS_INITIAL_WINDOW_SIZE
	frame   int    // SETTINGS_MAX_FRAME_SIZE
	streams uint32 // SETTINGS_MAX_CONCURRENT_STREAMS
	last    uint32 // of GOAWAY
}

// firstWindow is the initial size of all windows.
const firstWindow = 65535

// assumedStreams is how many streams a client opens before it knows the peer's limit (RFC
// 9113 section 6.5.2 recommends a limit of at least this).
const assumedStreams = 100

// Init begins a connection: its output is the preface of this side. l must have been
// filled, and must not change while connections use it. now is the time in milliseconds
// since an arbitrary moment, as everywhere in this package; it may wrap.
func (c *Conn) Init(r Role, l *Limits, now uint32) {
	*c = Conn{
		l: l, role: r, now: now, begun: now,
		peer:       peer{window: firstWindow, frame: DefaultFrame, streams: math.MaxUint32, last: maxID},
		sendWindow: firstWindow,
		recvWindow: firstWindow,
		wasted:     NewBucket(l.Wasted, now),
		glitches:   NewBucket(l.Glitches, now),
	}
	c.dec.Init(uint32(l.DecoderTable))
	c.enc.Init(uint32(l.EncoderTable))
	if r == Client {
		c.peer.streams = assumedStreams
		c.highest = math.MaxUint32 // so that the first id is 1
		o := c.output()
		o.B = append(o.B, Preface...)
		c.setGreeting(GreetSettings)
	}
	c.sendSettings()
	if c.credit = int32(l.ConnWindow) - firstWindow; c.credit > 0 {
		c.returnCredit()
	}
}

// Greet restarts the time limit for the peer's greeting: it begins now. Nothing may have
// arrived before.
func (c *Conn) Greet(now uint32) { c.now, c.begun = now, now }

// Encoder returns the encoder for the block that BeginHeaders has begun.
func (c *Conn) Encoder() *hpack.Encoder { return &c.enc }

// Streams returns how many streams are open.
func (c *Conn) Streams() int { return c.active }

// Held returns how many streams the caller has not released.
func (c *Conn) Held() int { return c.held }

// AvailableStreams returns how many more streams a client may open.
func (c *Conn) AvailableStreams() int {
	if c.life != LifeOpen || int64(c.active) >= int64(c.peer.streams) {
		return 0
	}
	return int(min(int64(c.peer.streams)-int64(c.active), math.MaxInt32))
}

// MaxStreams returns how many streams a client may have open at once. It is 0 once no more
// may begin.
func (c *Conn) MaxStreams() int {
	if c.life != LifeOpen {
		return 0
	}
	return int(min(c.peer.streams, math.MaxInt32))
}

// PermitsExtendedConnect reports whether the server has announced that it accepts extended
// CONNECT requests (RFC 8441). Its settings must have arrived.
func (c *Conn) PermitsExtendedConnect() bool { return c.extended }

// LastID returns the highest id of the streams that have begun.
func (c *Conn) LastID() uint32 {
	if c.highest == math.MaxUint32 {
		return 0
	}
	return c.highest
}

// All calls yield for each stream that has begun and not ended, until it returns false.
func (c *Conn) All(yield func(s *Stream) bool) { c.table.all(yield) }

// Paused reports whether Feed accepts nothing until output is taken, since the peer causes
// more answers than it reads. A client's own requests do not count as answers: a server may
// read no more of them before its responses are read.
func (c *Conn) Paused() bool {
	return c.out != nil && len(c.out.B)-c.outRead-c.requestBytes > c.l.Output
}

// Done reports whether the connection must be closed: it has ended, or no more streams
// begin and none is open; and all output was taken.
func (c *Conn) Done() bool {
	return !c.HasOutput() && c.lost.first == nil && (c.life == LifeClosed || c.life == LifeDraining && c.active == 0)
}

// Trim releases memory that a connection does not need while nothing happens on it. It is
// called when nothing has happened for a while.
func (c *Conn) Trim() {
	if c.out != nil && len(c.out.B) == c.outRead {
		bufpool.Put(c.out)
		c.out, c.outRead = nil, 0
	}
	for c.freeCount > 0 {
		s := c.free
		c.free = s.next
		c.freeCount--
		s.next = nil
		streamPool.Put(s)
	}
	if c.table.n == 0 {
		c.table.slots = nil
		c.ended.trim()
	}
	c.enc.ReleaseTable()
	c.dec.Trim()
}

// Close ends the connection with a code: a last GOAWAY ends the output. Open streams have
// then ended, and the caller releases them.
func (c *Conn) Close(code Code) {
	if c.life != LifeClosed {
		c.fail(&Error{code, "fasthttp: HTTP/2: the connection was closed"})
	}
}

// fail ends the connection for a fault.
func (c *Conn) fail(e *Error) {
	c.err = e
	if c.life < LifeDraining {
		c.goodLast = c.lastOfPeer()
	}
	if c.role == Client {
		c.discardOutput()
	}
	c.goAway(c.goodLast, e.Code)
	c.setLife(LifeClosed)
	c.forgetLingering()
	bufpool.Put(c.block)
	c.block, c.pending = nil, pendingHead{}
}

// Shutdown gracefully shuts down the connection (RFC 9113 section 6.8). A server announces
// that it will accept no more streams. When the peer answers a PING, or at another call of
// Shutdown, it sends the id of the last one. From then on, or at once for a client, no
// stream begins, and the open ones run to their end.
func (c *Conn) Shutdown() {
	switch {
	case c.life == LifeOpen && c.role == Server:
		c.goAway(maxID, NoError)
		c.shutdownPing = true
		c.Ping(shutdownPingData)
		c.setLife(LifeGoingAway)
	case c.life < LifeDraining:
		c.drain()
		c.goAway(c.goodLast, NoError)
	}
}

// shutdownPingData is the payload of the PING of Shutdown.
var shutdownPingData = [8]byte{'l', 'a', 's', 't', 's', 'o', 'o', 'n'}

func (c *Conn) drain() {
	c.goodLast = c.lastOfPeer()
	c.setLife(LifeDraining)
	// for streams that a client begins before it knows
	c.excuse(uint32(c.l.Streams))
}

// lastOfPeer returns the highest id of the streams that the peer has begun.
func (c *Conn) lastOfPeer() uint32 {
	if c.role == Client {
		return 0
	}
	return c.highest
}

// HasLost reports whether Tick has reset streams: Feed returns events for them, even
// without input.
func (c *Conn) HasLost() bool { return c.lost.first != nil }

// Timed reports whether a time limit is running, so that Tick must be called, about once a
// second.
func (c *Conn) Timed() bool {
	return c.life != LifeClosed && (c.greeting != Greeted || c.pending.id != 0 || c.ready.first != nil || c.table.n > 0)
}

// PrefaceLeft returns how many milliseconds the peer still has for its preface: Tick must
// then be called. It returns -1 if there is no such limit any more.
func (c *Conn) PrefaceLeft(now uint32) int {
	if c.greeting != GreetPreface || c.life == LifeClosed || c.l.Preface < 0 {
		return -1
	}
	return max(c.l.Preface-int(now-c.begun), 0)
}

// Tick ends everything that has exceeded its time limit: streams, for which Feed returns
// events, or the connection, for which Tick returns an error.
func (c *Conn) Tick(now uint32) error {
	c.now = now
	if c.life == LifeClosed {
		return c.err
	}
	late := func(since uint32, limit int) bool { return limit > 0 && now-since >= uint32(limit) }
	switch {
	case c.greeting != Greeted && late(c.begun, c.l.Greeting), c.greeting == GreetPreface && late(c.begun, c.l.Preface):
		c.fail(ErrGreetingTimeout)
		return c.err
	case c.pending.id != 0 && late(c.pending.since, c.l.Block):
		c.fail(ErrStalled)
		return c.err
	}
	if c.role == Client {
		// a server may have reasons to read slowly: the client's caller limits the time of
		// a request
		return nil
	}
	c.favorOther()
	c.endLingering()
	if c.ready.first == nil {
		c.stall.begun = false
	}
	over := late(c.stall.since, c.l.Stall)
	if c.stall.check(c.ready.first != nil && c.sendWindow <= 0, over, c.sendWindow, c.l.MinData, now) {
		c.fail(ErrStalled)
		return c.err
	}
	for s := range c.table.all {
		if len(s.unsent) == 0 {
			continue
		}
		over := late(s.stall.since, c.l.Stall)
		if s.stall.check(s.place == isBlocked, over, s.sendWindow, c.l.MinData, now) {
			c.lose(s, errStreamStalled)
		}
	}
	return nil
}

// stall is a period of Limits.Stall, in which a peer must grow a window by MinData.
type stall struct {
	since uint32
	sent  uint32 // how much was written since then
	begun bool
}

// check reports whether the peer has granted less than least in a past period: the
// sum of the bytes sent and the window left. If waits is set there is content and no window
// for it: then another period begins.
func (s *stall) check(waits, over bool, window int32, least int, now uint32) bool {
	switch {
	case s.begun && over && int64(s.sent)+int64(max(window, 0)) < int64(least):
		return true
	case s.begun && !over:
	case waits:
		*s = stall{since: now, begun: true}
	default:
		s.begun = false
	}
	return false
}

// lose resets a stream, and lets Feed report that.
func (c *Conn) lose(s *Stream, e *Error) {
	c.resetStream(s, e.Code)
	s.code = e.Code
	c.lost.insert(s, c.lost.last, inLost)
}

// waste counts a stream without a good end, and glitch a frame without benefit.
func (c *Conn) waste() *Error {
	if !c.wasted.Take(c.l.Wasted, c.l.WastedRate, c.now) {
		return ErrWasted
	}
	return nil
}

func (c *Conn) glitch() *Error {
	if !c.glitches.Take(c.l.Glitches, c.l.GlitchRate, c.now) {
		return ErrGlitches
	}
	return nil
}

// Greeting is the progress of a connection's beginning.
type Greeting uint8

const (
	// GreetPreface waits for the preface of a client (RFC 9113 section 3.4).
	GreetPreface Greeting = iota
	// GreetSettings waits for SETTINGS, which must be the first frame.
	GreetSettings
	// GreetAck waits for the acknowledgement of the settings that were sent.
	GreetAck
	// Greeted means that both sides know each other's settings.
	Greeted
	greetings
)

// Life is a phase of the life of a connection.
type Life uint8

const (
	// LifeOpen means that streams may begin.
	LifeOpen Life = iota
	// LifeGoingAway means that a GOAWAY frame has announced that no more streams will be
	// accepted.
	// Streams that it began before it knew are still served.
	LifeGoingAway
	// LifeDraining means that no more streams begin, and that the existing ones run to
	// their end.
	LifeDraining
	// LifeClosed means that nothing more is received. The rest of the output must still be
	// written, and has a GOAWAY at its end.
	LifeClosed
	lives
)

// after holds, for each phase, the phases that may follow it: a bit for each of them.
var after = struct {
	greeting [greetings]uint8
	life     [lives]uint8
}{
	greeting: [greetings]uint8{
		GreetPreface:  1 << GreetSettings,
		GreetSettings: 1 << GreetAck,
		GreetAck:      1 << Greeted,
		Greeted:       0,
	},
	life: [lives]uint8{
		LifeOpen:      1<<LifeGoingAway | 1<<LifeDraining | 1<<LifeClosed,
		LifeGoingAway: 1<<LifeDraining | 1<<LifeClosed,
		LifeDraining:  1 << LifeClosed,
		LifeClosed:    0,
	},
}

const cannotFollow = "http2: a phase that cannot follow"

func (c *Conn) setGreeting(to Greeting) {
	if after.greeting[c.greeting]>>to&1 == 0 {
		panic(cannotFollow)
	}
	c.greeting = to
}

func (c *Conn) setLife(to Life) {
	if after.life[c.life]>>to&1 == 0 {
		panic(cannotFollow)
	}
	c.life = to
}

// Greeting returns the progress of the connection's beginning.
func (c *Conn) Greeting() Greeting { return c.greeting }

// Life returns the phase of the life of the connection.
func (c *Conn) Life() Life { return c.life }

// Kind is the kind of an Event.
type Kind uint8

const (
	None Kind = iota // nothing
	// Headers is the head of a request, with a new Stream, or of a final response.
	Headers
	// Interim is the head of a response with a status of 1xx.
	Interim
	// TooLarge takes the place of Headers if the section is too large. A server answers
	// the new Stream with 431.
	TooLarge
	// Malformed takes the place of Headers if a request is malformed, but its end and its
	// fields are clear. Err is the fault. A server answers the new Stream with 400.
	Malformed
	// Data is a part of the content, in Payload; it may be empty at the end. The caller
	// must call Consumed when it is done with it.
	Data
	// Trailers is the trailer section, which ends the stream.
	Trailers
	// Reset means that a stream has ended early, with Code: by the peer, or for a fault of
	// the peer's. RefusedStream means that the peer has not processed the request at all.
	Reset
	// Rejected means that a stream of the peer was reset before the caller has received it.
	// Err is the reason; the caller need not do anything.
	Rejected
	// GoAway means that the peer ends the connection, with Code. For each stream that it
	// has not processed, a Reset follows.
	GoAway
	// Settings means that the settings of the peer have changed: Conn.Room may have
	// changed.
	Settings
	// Pong is the answer to Conn.Ping: Payload has the same 8 bytes.
	Pong
)

// Event is something that the caller of Feed must know.
type Event struct {
	Kind    Kind    // kind of the event
	End     bool    // it ends the peer's message
	Code    Code    // of Reset, Rejected and GoAway
	Stream  *Stream // the stream of the message, or nil
	Payload []byte  // a part of the bytes passed to Feed
	Err     *Error  // why the stream was reset, or is Malformed, or nil
}

// Message receives a header section from Feed. One Message can serve many connections,
// since it holds nothing between two calls of Feed: the caller uses it, or takes its lists
// away, before the next call. The zero value is ready for use.
type Message struct {
	// Fields has the fields in their order, without pseudo-fields and, unless
	// Limits.KeepAll is set, without the fields that Head has. Its block also holds the
	// text of Head. Several Cookie fields are joined into one. In trailers, all fields are
	// here.
	Fields field.List
	// Head is the result of an HTTP/1 parser for the same message. In Framing, content of
	// unknown length has the kind UntilClose. Version has no text, and Host is :authority.
	Head http1.Head
	// Scheme is the scheme of a request, other than CONNECT without a Protocol.
	Scheme field.Span
	// Protocol is the protocol of an extended CONNECT request (RFC 8441), and empty in any
	// other request. Its target is a path then.
	Protocol field.Span

	extended bool // requests may have a Protocol
}

// reset prepares m for another section.
func (m *Message) reset(l *Limits) {
	m.Fields.Reset()
	m.Head.Reset()
	m.Head.KeepNames, m.Head.KeepAll = l.KeepNames, l.KeepAll
	m.Scheme, m.Protocol, m.extended = field.Span{}, field.Span{}, l.ExtendedConnect
}

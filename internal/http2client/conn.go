// Package http2client multiplexes requests over HTTP/2 client connections. One goroutine
// reads each connection; any goroutine with output writes, for all others too.
package http2client

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/http2"
	"github.com/valyala/fasthttp/internal/http2body"
	"github.com/valyala/fasthttp/internal/lockorder"
)

// Config is the configuration shared by the connections to a host.
type Config struct {
	Limits http2.Limits // filled
	// Ping is the time without a byte from the peer after which a PING checks that it is
	// still there, 0 for never. Pong is how long the peer may then take to send anything.
	Ping, Pong time.Duration
	// Write is how long the connection may accept no bytes while there is output.
	Write time.Duration
	// Count is called for each fault of the peer, without the lock. It may be nil.
	Count func(code http2.Code)
}

// Events is called for events of a connection. Its methods are called without the lock.
type Events interface {
	// SettingsReceived is called when the peer's settings have arrived: MaxStreams may have
	// changed.
	SettingsReceived()
	// Ended is called once, when no more streams begin.
	Ended()
}

// Exchange is the type of a stream's http2.Stream.User. Its methods are called with the
// lock, and must not wait.
type Exchange interface {
	// Receive takes an event of the kinds Headers, Interim, Data, Trailers and Reset.
	Receive(ev *http2.Event, m *http2.Message)
	// ContentSent is called when all content passed to http2.Conn.Send was taken.
	ContentSent()
	// ConnEnded is called when the connection has ended.
	ConnEnded(err error)
}

// GoAwayError is the error of a connection that the peer has ended for a fault, with a
// GOAWAY.
type GoAwayError struct {
	Code http2.Code // not NoError
	Err  error      // the error by which the end was noticed
}

// Error implements error.
func (e *GoAwayError) Error() string {
	return fmt.Sprintf("fasthttp: the server has ended the connection: %v", e.Code)
}

// Unwrap returns e.Err.
func (e *GoAwayError) Unwrap() error { return e.Err }

// Replace returns as instead of err if err is was, even inside the error of a
// connection's end.
func Replace(err, was, as error) error {
	if err == was {
		return as
	}
	if e, ok := errors.AsType[*GoAwayError](err); ok && e.Err == was {
		return &GoAwayError{e.Code, as}
	}
	return err
}

// Conn is a connection. Its streams belong to its http2.Conn, which needs the lock.
type Conn struct {
	transport *clientconn.Conn
	events    Events
	cfg       *Config

	users    atomic.Int64 // reservations
	maxUsers atomic.Int64 // how many there may be

	mu              lockorder.Mutex[lockorder.H2Client] // guards all that follows
	conn            http2.Conn
	event           http2.Event // the last one
	reader          reader
	readerCond      sync.Cond // the thread may have to read
	resume          *time.Timer
	inlineReads     uint32        // how many calls have led
	inlineReadsSeen uint32        // leads when resume was started
	readPaused      bool          // resume runs, whichever reader there is by now
	settled         bool          // the settings of the peer have arrived, in any life
	settling        chan struct{} // see Settled; nil if nothing waits
	writer          writer
	life            life
	lastWrittenID   uint32     // no stream with a higher id was written
	room            *sync.Cond // the reader waits for output to be written; nil until it does
	timer           *time.Timer
	timed           bool       // the timer runs: some time limit does
	lastRead        uint32     // when bytes last arrived
	pingSent        bool       // a PING was sent since lastRead, to check whether the peer is still there
	fault           error      // why the connection accepts no bytes
	goAwayCode      http2.Code // the code with which the peer has ended the connection, if for a fault
	readBy          time.Time  // the deadline for answers after that
	lateLooks       uint8      // how often readBy was extended
	readLimit       time.Time  // the present deadline of reading
	leadBy          time.Time  // until when the leading call waits, or zero
	called          bool       // the leading call must check its signal
	feeding         bool       // the reader, of any kind, passes on the events of received bytes
	full            bool       // there was more output than fits into the last write
	unfed           bool       // of the reader: received frames wait since a call had to leave

	out *bufpool.Buffer // of the writer

	// bodies of goroutines: the methods write, with the lock, and wait
	writes, waits func()
}

// writer is the kind of goroutine that writes.
type writer uint8

const (
	noWriter        writer = iota
	inlineWriter           // a goroutine that had output, or the reader
	writerGoroutine        // a goroutine started to wait for the connection
	writeFailed            // none any more: the connection accepts no bytes
)

// life is the phase of a Conn's life.
type life uint8

const (
	open     life = iota
	retired       // no more streams begin
	closing       // like retired, and the connection is closed once all output is written
	finished      // nothing more is read or written
	lives
)

// lifeChanges has, for each phase, the set of phases that may follow it, as bits.
var lifeChanges = [lives]uint8{
	open:     1 << retired,
	retired:  1<<closing | 1<<finished,
	closing:  1 << finished,
	finished: 0,
}

// advance changes the life to the phase, unless it has reached that or a later one, and reports
// whether it has changed. The lock is held.
func (c *Conn) advance(to life) bool {
	if c.life >= to {
		return false
	}
	if lifeChanges[c.life]&(1<<to) == 0 {
		panic("http2client: a life that cannot follow")
	}
	c.life = to
	return true
}

// retire prevents further streams, and reports whether the caller must call the owner's Ended. The
// lock is held.
func (c *Conn) retire() (tell bool) {
	c.maxUsers.Store(0)
	c.settle()
	return c.advance(retired)
}

// Settled returns a channel that is closed when the settings of the peer have arrived, or no more
// streams begin; or nil if that has happened.
func (c *Conn) Settled() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.settled || c.life != open {
		return nil
	}
	if c.settling == nil {
		c.settling = make(chan struct{})
	}
	return c.settling
}

// settle wakes what waits for Settled. The lock is held.
func (c *Conn) settle() {
	if c.settling != nil {
		close(c.settling)
		c.settling = nil
	}
}

var (
	_ http2body.Side = (*Conn)(nil)
	_ io.Closer      = (*Conn)(nil)
)

// Begin makes line an HTTP/2 connection. The caller has a reservation.
func Begin(line *clientconn.Conn, cfg *Config, owner Events) *Conn {
	c := &Conn{transport: line, cfg: cfg, events: owner}
	c.readerCond.L = &c.mu
	c.writes, c.waits = func() { c.mu.Lock(); c.write() }, c.wait
	line.StartPosting()
	line.Recv.Size = smallInput
	c.lastRead = now()
	c.conn.Init(http2.Client, &cfg.Limits, c.lastRead)
	c.users.Store(1)
	c.maxUsers.Store(int64(c.conn.MaxStreams()))
	c.mu.Lock()
	c.arm()
	c.mu.Unlock()
	go c.read()
	return c
}

var began = time.Now()

// now returns the time in milliseconds since an arbitrary moment.
func now() uint32 { return uint32(time.Since(began).Milliseconds()) }

// Reserve takes a reservation for a stream, and reports whether one was left.
func (c *Conn) Reserve() bool {
	for {
		n := c.users.Load()
		if n >= c.maxUsers.Load() {
			return false
		}
		if c.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// State reports whether the owner's SettingsReceived and Ended were called, or are being called.
func (c *Conn) State() (settled, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settled, c.life != open
}

// ReleaseReservation gives a reservation back.
func (c *Conn) ReleaseReservation() { c.users.Add(-1) }

// Lock implements http2body.Side.
func (c *Conn) Lock() { c.mu.Lock() }

// Unlock implements http2body.Side.
func (c *Conn) Unlock() { c.mu.Unlock() }

// HTTP2 implements http2body.Side. Using the result requires the lock.
func (c *Conn) HTTP2() *http2.Conn { return &c.conn }

// Wakes implements http2body.Side.
func (c *Conn) Wakes() bool { return c.writer == noWriter && c.conn.HasOutput() }

// Begun is called after a stream was opened. If mayLead is set, the result may be true:
// then the caller reads the connection. It calls ReadLoopInline whenever it waits, and StopReadInline
// once it no longer waits. The lock is held.
func (c *Conn) Begun(mayLead bool) (leads bool) {
	c.arm()
	if c.reader != noReader {
		return false
	}
	if !mayLead || c.life == finished {
		c.setReader(readerGoroutine)
		return false
	}
	c.setReader(inlineReader)
	c.inlineReads++
	return true
}

// MayBeWritten reports whether a stream that has begun may have reached the peer. The lock
// is held.
func (c *Conn) MayBeWritten(s *http2.Stream) bool { return s.ID() != 0 && s.ID() <= c.lastWrittenID }

var messages = sync.Pool{New: func() any { return new(http2.Message) }}

// feed processes received bytes as far as possible, and returns how many were consumed.
func (c *Conn) feed(in []byte) (used int, err error) {
	m := messages.Get().(*http2.Message)
	defer messages.Put(m)
	var settled, ended bool
	var faults []error
	c.mu.Lock()
	t := now()
	if len(in) > 0 {
		c.lastRead, c.pingSent = t, false
	}
	c.feeding = len(in) > 0
	for err == nil {
		var n int
		ev := &c.event
		n, *ev, err = c.conn.Feed(in[used:], t, m)
		used += n
		switch ev.Kind {
		case http2.Headers, http2.Interim, http2.Data, http2.Trailers, http2.Reset:
			if x, ok := ev.Stream.User.(Exchange); ok {
				x.Receive(ev, m)
			} else if len(ev.Payload) > 0 {
				// unwanted content counts as consumed
				c.conn.Consumed(ev.Stream, len(ev.Payload))
			}
		case http2.Settings:
			settled, c.settled = true, true
			c.settle()
		case http2.GoAway:
			// a caller that learns of it from its stream then finds another connection
			c.maxUsers.Store(0)
			c.goAwayCode = max(c.goAwayCode, ev.Code)
		}
		if ev.Err != nil {
			faults = append(faults, ev.Err)
		}
		if n == 0 && ev.Kind == http2.None {
			if !c.conn.Paused() || !c.awaitOutput() {
				break
			}
		}
	}
	c.feeding = false
	if settled || c.conn.Life() != http2.LifeOpen {
		c.maxUsers.Store(int64(c.conn.MaxStreams()))
	}
	if c.conn.Life() != http2.LifeOpen {
		ended = c.advance(retired)
		c.settle()
	}
	c.UnlockAndWake()
	for _, fault := range faults {
		c.count(fault)
	}
	if settled {
		c.events.SettingsReceived()
	}
	if ended {
		c.events.Ended()
	}
	return used, err
}

func (c *Conn) count(err error) {
	if c.cfg.Count == nil {
		return
	}
	if e, ok := errors.AsType[*http2.Error](err); ok {
		c.cfg.Count(e.Code)
	}
}

// awaitOutput waits until there is room for answers to the peer. It returns false if there
// will be none, or if a call leads that must not wait. The lock is held, but not while it waits.
func (c *Conn) awaitOutput() bool {
	if c.room == nil {
		c.room = sync.NewCond(&c.mu)
	}
	feeding := c.feeding
	c.feeding = false
	defer func() { c.feeding = feeding }()
	leads := feeding && c.reader == inlineReader
	if leads && !c.leadBy.IsZero() && !passed(c.leadBy) {
		late := time.AfterFunc(time.Until(c.leadBy), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.room.Broadcast()
		})
		defer late.Stop()
	}
	for c.conn.Paused() {
		switch {
		case c.life == finished || c.writer == writeFailed:
			return false
		case leads && (c.called || passed(c.leadBy)):
			c.unfed = true
			return false
		case c.writer != noWriter:
			c.room.Wait()
		default:
			c.mu.Unlock()
			c.Wake()
			c.mu.Lock()
		}
	}
	return true
}

// passed reports whether by is over. Zero never is.
func passed(by time.Time) bool { return !by.IsZero() && !time.Now().Before(by) }

// fail ends the connection for a fault of the peer, and sends the reason if the peer still
// reads.
func (c *Conn) fail(err error) {
	c.count(err)
	c.end(err)
	_ = c.Close()
}

// lose ends the connection after a failure.
func (c *Conn) lose(err error) {
	c.mu.Lock()
	if c.fault != nil {
		err = c.fault
	}
	if c.goAwayCode != http2.NoError {
		err = &GoAwayError{c.goAwayCode, err}
	}
	c.mu.Unlock()
	c.end(err)
	c.finish()
}

// end marks the connection as ended: all exchanges are lost.
func (c *Conn) end(err error) {
	c.mu.Lock()
	tell := c.retire()
	c.conn.All(func(s *http2.Stream) bool {
		if x, ok := s.User.(Exchange); ok {
			x.ConnEnded(err)
		}
		return true
	})
	c.conn.Close(http2.NoError)
	c.mu.Unlock()
	if tell {
		c.events.Ended()
	}
}

// Retire prevents further streams on the connection.
func (c *Conn) Retire() {
	c.mu.Lock()
	tell := c.retire()
	if c.conn.Life() == http2.LifeOpen {
		c.conn.Shutdown()
	}
	c.UnlockAndWake()
	if tell {
		c.events.Ended()
	}
}

// Close closes the connection. If no stream is open it closes cleanly: after all output is
// written.
func (c *Conn) Close() error {
	c.Retire()
	c.mu.Lock()
	c.advance(closing)
	w := c.writer
	c.mu.Unlock()
	if w == writeFailed {
		c.finish()
		return nil
	}
	err := c.transport.EndWrites(time.Now().Add(drainTime))
	if w == noWriter {
		c.Wake()
	}
	return err
}

// finish closes the connection.
func (c *Conn) finish() {
	c.mu.Lock()
	first := c.advance(finished)
	if c.room != nil {
		c.room.Broadcast()
	}
	for _, t := range []*time.Timer{c.timer, c.resume} {
		if t != nil {
			t.Stop()
		}
	}
	c.readerCond.Signal()
	c.mu.Unlock()
	if first {
		_ = c.transport.CloseNet()
	}
}

// Wake writes the output, unless another goroutine does. If the connection does not accept
// all at once, a separate goroutine writes the rest.
func (c *Conn) Wake() {
	c.mu.Lock()
	c.UnlockAndWake()
}

// UnlockAndWake is Wake for a caller with the lock, which it releases.
func (c *Conn) UnlockAndWake() {
	if c.writer != noWriter || !c.conn.HasOutput() && !c.transport.HasUnsent() && c.life != closing {
		c.mu.Unlock()
		return
	}
	c.writer = inlineWriter
	if c.conn.Streams() > 1 {
		// others may be about to send something, which the same call can write
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
	c.write()
}

// maxInlineWrites is how often a goroutine also writes output that others have added meanwhile.
const maxInlineWrites = 4

// write writes as the writer, and gives up that role, or makes another goroutine continue. It
// releases the lock.
func (c *Conn) write() {
	rest := c.writes
	for range maxInlineWrites {
		if !c.fetch() {
			return
		}
		waits, err := c.transport.Post(c.out.B)
		if err != nil {
			c.failWrites(err)
			return
		}
		c.mu.Lock()
		if waits {
			rest = c.waits
			break
		}
	}
	c.writer = writerGoroutine
	c.mu.Unlock()
	go rest()
}

// wait is write for a connection that does not accept bytes yet.
func (c *Conn) wait() {
	if err := c.transport.Flush(c.cfg.Write); err != nil {
		c.failWrites(err)
		return
	}
	c.mu.Lock()
	c.write()
}

// The sizes of the output of one write.
const (
	smallOutput = 8 << 10
	largeOutput = 64 << 10
)

// fetch takes output, or gives up the role of the writer if there is none. It releases the lock.
func (c *Conn) fetch() bool {
	for s := c.conn.Drained(); s != nil; s = c.conn.Drained() {
		if x, ok := s.User.(Exchange); ok {
			x.ContentSent()
		}
	}
	size := smallOutput
	if c.full {
		size = largeOutput
	}
	if c.out == nil || cap(c.out.B) < size {
		bufpool.Put(c.out)
		c.out = bufpool.Get(size)
	}
	c.out.B = c.out.B[:0]
	if c.conn.HasOutput() {
		if c.conn.Life() != http2.LifeClosed {
			c.lastWrittenID = c.conn.LastID()
		}
		c.out.B = c.conn.Output(c.out.B, size)
		c.full = len(c.out.B) >= size-http2.MinOutput
	}
	if c.room != nil {
		c.room.Broadcast()
	}
	some := len(c.out.B) > 0 || c.transport.HasUnsent()
	if !some {
		c.writer = noWriter
		if c.conn.Streams() == 0 {
			bufpool.Put(c.out)
			c.out = nil
		}
	}
	closes := c.life == closing
	c.mu.Unlock()
	if !some && closes {
		c.finish()
	}
	return some
}

// failWrites ends the connection, which accepts no bytes. Answers may have arrived before
// that: the reader finds them, and the end.
func (c *Conn) failWrites(err error) {
	c.mu.Lock()
	c.writer, c.fault = writeFailed, err
	c.readBy = time.Now().Add(drainTime)
	c.limitRead(c.readBy)
	tell := c.retire()
	if c.room != nil {
		c.room.Broadcast()
	}
	closes := c.life == closing
	c.mu.Unlock()
	if tell {
		c.events.Ended()
	}
	if closes {
		c.finish()
	}
}

// drainTime is how long answers are waited for after writing has become impossible, and how
// long the last output may take.
const drainTime = 250 * time.Millisecond

// tickInterval is how often the time limits are checked.
func (c *Conn) tickInterval() time.Duration {
	every := time.Second
	if c.cfg.Ping > 0 {
		every = min(every, c.cfg.Ping/2, c.cfg.Pong/2)
	}
	return max(every, 5*time.Millisecond)
}

// arm starts the timer, if a time limit is running. The lock is held.
func (c *Conn) arm() {
	if c.timed || c.life == finished || c.cfg.Ping <= 0 && !c.conn.Timed() {
		return
	}
	c.timed = true
	if c.timer == nil {
		c.timer = time.AfterFunc(c.tickInterval(), c.tick)
	} else {
		c.timer.Reset(c.tickInterval())
	}
}

// tick ends everything that has exceeded its time limit.
func (c *Conn) tick() {
	c.mu.Lock()
	// not before: bytes received while it waited for the lock would seem to be from the
	// future
	t := now()
	c.timed = false
	err := c.conn.Tick(t)
	if ping := c.cfg.Ping; ping > 0 && err == nil {
		quiet := time.Duration(t-c.lastRead) * time.Millisecond
		switch {
		case c.pingSent && quiet >= ping+c.cfg.Pong:
			err = http2.ErrNoPong
		case !c.pingSent && quiet >= ping:
			c.pingSent = true
			c.conn.Ping([8]byte{'a', 'l', 'i', 'v', 'e', '?'})
		}
	}
	if c.life == finished {
		err = nil
	}
	lost := c.conn.HasLost()
	if c.conn.Streams() == 0 {
		c.conn.Trim()
	}
	c.arm()
	if err == nil && !lost {
		c.UnlockAndWake()
		return
	}
	c.mu.Unlock()
	if err != nil {
		c.fail(err)
	} else {
		_, _ = c.feed(nil)
	}
}

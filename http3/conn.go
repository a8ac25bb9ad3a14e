package http3

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp/http3/internal/qpack"
	"github.com/valyala/fasthttp/http3/internal/wire"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http2"
	bridge "github.com/valyala/fasthttp/internal/http3"
)

// life is how far a connection is.
type life uint8

const (
	opening life = iota // the server has not opened its streams yet
	open
	goingAway // the client was told to send no more requests, but some may be under way
	draining  // the client knows which requests are not served
)

// session has the common parts of connections of a server and of a client.
type session struct {
	q    *quic.Conn
	role role
	max  sectionLimits

	peerSection atomic.Uint64 // the largest section that the peer accepts
	blocked     atomic.Int32  // how many streams wait for entries

	// table is the encoder's, once the peer has announced one, and inserts its stream, which belongs to
	// the goroutine of writeInserts.
	table   atomic.Pointer[qpack.EncoderTable]
	inserts *quic.SendStream

	control *quic.SendStream
	acks    *quic.SendStream // of the decoder of QPACK
	acking  sync.Mutex       // held while acks is written, so that the order remains

	mu      sync.Mutex // guards the fields below, and the ones of the role
	decoder qpack.Decoder
	unacked []byte        // instructions for acks that were not written
	arrived chan struct{} // closed when insertions arrive; nil if no stream waits
	peers   [4]bool       // the unidirectional streams of the peer, by type
	away    uint64        // of the peer's last GOAWAY
	encodes bool          // the peer has sent instructions of its encoder
}

// sectionLimits are the limits of a decoder.
type sectionLimits struct {
	hpack.Limits
	keepNames bool
	server    bool // trailers have the limits of requests
	extended  bool // extended CONNECT is permitted
	table     uint32
	encoder   uint32 // the largest table of the encoder
}

// role has the differences between a server and a client.
type role interface {
	// controlStream returns the kind of the peer's control stream, and pushFault the code for a
	// push stream.
	controlStream() wire.Stream
	pushFault() wire.Code
	// controlFrame handles a frame of the control stream.
	controlFrame(f wire.Frame, push *uint64) *wire.Error
}

// init prepares the session of a connection.
func (c *session) init(q *quic.Conn, r role, max sectionLimits) {
	c.q, c.role, c.max, c.away = q, r, max, 1<<62-1
	c.decoder.Init(max.table, !max.keepNames, http2.ValidPseudo)
	c.peerSection.Store(new(wire.Settings).SectionLimit())
}

// conn is a connection of the server.
type conn struct {
	session
	s   *Server
	own bridge.Conn

	// guarded by mu
	life   life
	leaves bool // goAway was called while the connection was opening
	active int
	next   quic.StreamID // the id after the highest one that was accepted
	final  quic.StreamID // while draining: requests from this one on are rejected
	idle   *time.Timer   // ends the connection when it had no request for a while
	ended  time.Duration // when the last request has ended
	last   *time.Timer   // closes the connection, which drains and has no request
	wasted http2.Bucket  // for aborted requests

	requests sync.WaitGroup // of streams

	reporting sync.Mutex // held while a state is reported, so that the order remains
	reported  bool       // the connection was reported as active; reporting guards it
}

// maxBlocked is how many streams may wait for entries of the dynamic table.
const maxBlocked = 16

func newConn(s *Server, q *quic.Conn) *conn {
	c := &conn{s: s}
	c.init(q, c, sectionLimits{
		hpack.Limits{Size: s.limits.Section, Fields: s.limits.Fields}, s.limits.KeepNames, true, s.limits.Extended, s.limits.Table, s.limits.Encoder,
	})
	c.wasted = http2.NewBucket(s.wasted, now())
	return c
}

// now returns the time in milliseconds, for buckets.
func now() uint32 { return uint32(clock.Monotonic().Milliseconds()) }

func (c *conn) controlStream() wire.Stream { return wire.ControlOfClient }

func (c *conn) pushFault() wire.Code { return wire.StreamCreationError }

// run serves the connection until it ends, and its requests have ended. The error is nil if the
// server has ended it.
func (c *conn) run() error {
	c.mu.Lock()
	c.startIdle()
	c.mu.Unlock()
	var uni sync.WaitGroup
	uni.Go(c.acceptUni)
	var err error
	for {
		q, failed := c.q.AcceptStream(context.Background())
		if failed != nil {
			err = failed
			break
		}
		if !c.begin(q) {
			q.CancelRead(quic.StreamErrorCode(wire.RequestRejected))
			q.CancelWrite(quic.StreamErrorCode(wire.RequestRejected))
			c.cancel(q.StreamID(), nil)
			continue
		}
		c.requests.Add(1)
		s := streams.Get().(*stream)
		s.c, s.link, s.q = c, &c.session, q
		c.s.workers.Do(s)
	}
	uni.Wait()
	c.requests.Wait()
	c.mu.Lock()
	for _, timer := range []*time.Timer{c.idle, c.last} {
		if timer != nil {
			timer.Stop()
		}
	}
	c.mu.Unlock()
	return c.reason(err)
}

// reason returns the reason for the end of the connection, or nil if the server has ended it.
func (c *conn) reason(err error) error {
	if e, ok := errors.AsType[*quic.ApplicationError](err); ok {
		switch {
		case !e.Remote && wire.Code(e.ErrorCode) == wire.NoError:
			return nil
		case e.Remote:
			return io.EOF
		}
	}
	return err
}

// defaultOpenTime is how long a peer may take to allow the unidirectional streams.
const defaultOpenTime = 10 * time.Second

// open is openStreams of a server.
func (c *conn) open() error {
	if err := c.openStreams(c.s.openTime); err != nil {
		return err
	}
	c.mu.Lock()
	c.life = open
	leaves := c.leaves
	c.mu.Unlock()
	if leaves {
		c.goAway()
	}
	return nil
}

// openStreams opens the unidirectional streams within a time, and sends the settings.
func (c *session) openStreams(openTime time.Duration) (err error) {
	ctx, cancel := context.WithTimeout(c.q.Context(), openTime)
	defer cancel()
	if c.control, err = c.openUni(ctx); err != nil {
		return err
	}
	settings := wire.Settings{TableCapacity: uint64(c.max.table), BlockedStreams: maxBlocked, SectionSize: uint64(c.max.Size), LimitsSections: true, ExtendedConnect: c.max.extended}
	if err = send(c.control, settings.Append(wire.AppendVarint(nil, wire.StreamControl)), openTime); err != nil {
		return err
	}
	if c.acks, err = c.openUni(ctx); err != nil {
		return err
	}
	return send(c.acks, wire.AppendVarint(nil, wire.StreamDecoder), openTime)
}

// openUni opens a unidirectional stream. Each must stay open, so the connection ends if the peer stops one
// (RFC 9114 section 6.2.1, RFC 9204 section 4.2).
func (c *session) openUni(ctx context.Context) (*quic.SendStream, error) {
	q, err := c.q.OpenUniStreamSync(ctx)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(q.Context(), func() {
		if e, ok := errors.AsType[*quic.StreamError](context.Cause(q.Context())); ok && e.Remote {
			c.fail(errClosedStream)
		}
	})
	return q, nil
}

// errClosedStream is the fault of a peer that closes or stops one of the streams that must stay open.
var errClosedStream = &wire.Error{Code: wire.ClosedCriticalStream, What: "a stream was closed that must stay open"}

// fail ends the connection because of a fault of the peer.
func (c *session) fail(e *wire.Error) {
	_ = c.q.CloseWithError(quic.ApplicationErrorCode(e.Code), e.What)
}

// begin counts a request, unless the client must send it elsewhere.
func (c *conn) begin(q *quic.Stream) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life == draining && q.StreamID() >= c.final {
		return false
	}
	c.next = max(c.next, q.StreamID()+4)
	if c.active++; c.idle != nil {
		c.idle.Stop()
	}
	return true
}

// end is called when a request has ended.
func (c *conn) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active--; c.active == 0 {
		c.ended = clock.Monotonic()
	}
	c.startIdle()
	c.closeIfDrained()
}

// reportState reports whether the connection has requests.
func (c *conn) reportState() {
	c.reporting.Lock()
	defer c.reporting.Unlock()
	c.mu.Lock()
	active := c.active > 0
	c.mu.Unlock()
	if active != c.reported {
		c.reported = active
		c.own.StateChanged(active)
	}
}

// judge counts a request that has ended. Too many that were aborted end the connection.
func (c *conn) judge(aborted bool) {
	c.mu.Lock()
	within := true
	if aborted {
		within = c.wasted.Take(c.s.wasted, c.s.wastedRate, now())
	} else {
		c.wasted.PutBack(c.s.wasted)
	}
	c.mu.Unlock()
	if !within {
		c.fail(&wire.Error{Code: wire.ExcessiveLoad, What: "too many requests are aborted"})
	}
}

// startIdle starts the timer if there is no request. mu is held.
func (c *conn) startIdle() {
	timeout := c.s.idle
	if c.active > 0 || timeout <= 0 {
		return
	}
	if c.idle == nil {
		c.idle = time.AfterFunc(timeout, c.goAway)
	} else {
		c.idle.Reset(timeout)
	}
}

const (
	// maxStreamID is the highest id of a request.
	maxStreamID = 1<<62 - 4
	// The time in which requests arrive that the client has sent before it gets GOAWAY is some round
	// trips, within limits.
	minLinger, maxLinger = 50 * time.Millisecond, time.Second
)

// linger returns how long the connection waits for packets under way.
func (c *conn) linger() time.Duration {
	return min(max(3*c.q.ConnectionStats().SmoothedRTT, minLinger), maxLinger)
}

// goAway makes the connection end after its requests (RFC 9114 section 5.2): first the client is
// told to send no more, and then which ones are not served. An opening connection may have requests
// as well, which were sent with the end of the handshake; but its client must allow the streams soon.
func (c *conn) goAway() {
	c.mu.Lock()
	was := c.life
	switch was {
	case open:
		c.life = goingAway
	case opening:
		c.leaves = true
	}
	c.mu.Unlock()
	switch was {
	case opening:
		time.AfterFunc(maxLinger, c.closeIfOpening)
	case open:
		time.AfterFunc(c.linger(), c.drain)
		c.sendGoAway(maxStreamID)
	}
}

// closeIfOpening closes the connection if its client has not allowed the streams yet.
func (c *conn) closeIfOpening() {
	c.mu.Lock()
	closes := c.life == opening
	c.mu.Unlock()
	if closes {
		_ = c.q.CloseWithError(quic.ApplicationErrorCode(wire.NoError), "")
	}
}

// drain is the second step of goAway.
func (c *conn) drain() {
	c.mu.Lock()
	c.life, c.final = draining, c.next
	c.mu.Unlock()
	c.sendGoAway(uint64(c.final))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeIfDrained()
}

// sendGoAway sends GOAWAY. Its callers do not overlap, since linger is between them.
func (c *conn) sendGoAway(id uint64) {
	p := wire.AppendVarint(nil, id)
	_ = send(c.control, append(wire.AppendFrame(nil, wire.TypeGoAway, len(p)), p...), maxLinger)
}

// defaultGrace is how long a client may take to get the last response, and to close the connection; and
// how long a server may take to get the rest of a tunnel.
const defaultGrace = 3 * time.Second

// closeIfDrained starts the end of a connection that drains and has no request. QUIC does not report that
// the client has the last response, and the end of a connection discards content that the client has not
// read. So the client closes the connection, unless it takes longer than the grace, or than the server
// keeps idle connections. mu is held.
func (c *conn) closeIfDrained() {
	if c.life != draining || c.active > 0 {
		return
	}
	wait := c.linger()
	if c.next > 0 {
		grace := c.s.grace
		if idle := c.s.limits.IdleTimeout; idle > 0 {
			grace = min(grace, idle)
		}
		wait = max(wait, grace-(clock.Monotonic()-c.ended))
	}
	if c.last == nil {
		c.last = time.AfterFunc(wait, c.close)
	} else {
		c.last.Reset(wait)
	}
}

// close closes the connection, unless a request has arrived late.
func (c *conn) close() {
	c.mu.Lock()
	unused := c.active == 0
	c.mu.Unlock()
	if unused {
		_ = c.q.CloseWithError(quic.ApplicationErrorCode(wire.NoError), "")
	}
}

// acceptUni serves the unidirectional streams of the peer.
func (c *session) acceptUni() {
	var all sync.WaitGroup
	defer all.Wait()
	for {
		q, err := c.q.AcceptUniStream(context.Background())
		if err != nil {
			return
		}
		all.Go(func() {
			if e := c.serveUni(q); e != nil {
				c.fail(e)
			}
		})
	}
}

// serveUni serves a unidirectional stream (RFC 9114 section 6.2).
func (c *session) serveUni(q *quic.ReceiveStream) *wire.Error {
	var head [8]byte
	kind, size := uint64(0), 0
	for n := 0; size == 0; n++ {
		if k, err := q.Read(head[n : n+1]); k == 0 && err != nil {
			return nil // a stream may be reset before its type arrives
		}
		kind, size = wire.Varint(head[:n+1])
	}
	switch kind {
	case wire.StreamControl, wire.StreamEncoder, wire.StreamDecoder:
	case wire.StreamPush:
		return &wire.Error{Code: c.role.pushFault(), What: "a push that was not permitted"}
	default:
		q.CancelRead(quic.StreamErrorCode(wire.StreamCreationError))
		return nil
	}
	c.mu.Lock()
	twice := c.peers[kind]
	c.peers[kind] = true
	c.mu.Unlock()
	if twice {
		return &wire.Error{Code: wire.StreamCreationError, What: "a second stream of a type that is there once"}
	}
	var e *wire.Error
	switch kind {
	case wire.StreamControl:
		e = c.serveControl(q)
	case wire.StreamEncoder:
		e = c.serveEncoder(q)
	case wire.StreamDecoder:
		var d qpack.PeerDecoder
		e = each(q, func(p []byte) *wire.Error {
			if err := d.Feed(p, c.table.Load()); err != nil {
				return &wire.Error{Code: wire.DecoderStreamError, What: err.Error()}
			}
			return nil
		})
	}
	if e == nil && c.q.Context().Err() == nil {
		e = errClosedStream
	}
	return e
}

// each calls use with all that arrives on a stream.
func each(q *quic.ReceiveStream, use func(p []byte) *wire.Error) *wire.Error {
	b := make([]byte, 512)
	for {
		n, err := q.Read(b)
		if n > 0 {
			if e := use(b[:n]); e != nil {
				return e
			}
		}
		if err != nil {
			return nil
		}
	}
}

// serveControl reads the control stream of the peer.
func (c *session) serveControl(q *quic.ReceiveStream) *wire.Error {
	var r wire.Reader
	r.Init(c.role.controlStream(), 0)
	var held []byte
	push := uint64(0)
	return each(q, func(p []byte) *wire.Error {
		held = append(held, p...)
		for {
			n, f, ok, _, e := r.Next(held)
			if ok {
				e = c.role.controlFrame(f, &push)
			}
			held = held[:copy(held, held[n:])]
			if e != nil || !ok {
				return e
			}
		}
	})
}

// controlFrame handles a frame of the control stream.
func (c *conn) controlFrame(f wire.Frame, push *uint64) *wire.Error {
	switch f.Type {
	case wire.TypeSettings:
		var settings wire.Settings
		e := settings.Parse(f.Payload)
		c.apply(&settings)
		return e
	case wire.TypeGoAway:
		// RFC 9114 section 5.2: the id of a push
		id, e := wire.Number(f.Payload)
		if e == nil && id > c.away {
			e = &wire.Error{Code: wire.IDError, What: "GOAWAY with a higher id than before"}
		}
		c.away = id
		return e
	case wire.TypeMaxPushID:
		id, e := wire.Number(f.Payload)
		if e == nil && id < *push {
			e = &wire.Error{Code: wire.IDError, What: "MAX_PUSH_ID with a lower id than before"}
		}
		*push = id
		return e
	}
	return nil
}

// apply applies the settings of the peer to sent sections.
func (c *session) apply(settings *wire.Settings) {
	c.peerSection.Store(settings.SectionLimit())
	if t := qpack.NewEncoderTable(c.max.encoder, settings.TableCapacity); t != nil {
		c.table.Store(t)
	}
}

package websocket

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/internal/wsflate"
)

// Conn is a WebSocket connection, of a server or of a client.
//
// Methods that write may be called concurrently: messages are sent one after the other.
// Methods that read wait for each other; usually one goroutine reads. It must read as long
// as the connection is used, since Ping, Pong and Close frames of the peer are received, and
// answered, only meanwhile. While it waits for a message, the Conn holds no buffer, unless
// TLS requires one.
//
// Every Conn must be closed. Upgrader.Upgrade does that when its function returns.
type Conn struct {
	nc          net.Conn
	raw         syscall.RawConn // of nc, if it can wait without a buffer
	tryRead     func(fd uintptr) bool
	subprotocol string

	mu            sync.Mutex // guards the following
	state         ws.Conn
	writeErr      error // all further writes return it
	abortErr      error // the reason why this side has closed nc without a handshake
	readDeadline  time.Time
	interrupted   bool // the context of a method that reads has ended
	over          bool // the peer has sent a Close frame, or there is a permanent error
	writeDeadline time.Time
	readOver      chan struct{} // closed once over is set, or nil if nothing waits for that
	pong          []byte        // the payload of a Pong frame to be sent

	read    lock // held by a method that reads; guards the following
	readErr error
	in      *bufpool.Buffer // received bytes, nil if there are none
	from    int             // the consumed part of in
	much    bool            // the last reads have filled a buffer, so the next one may
	part    ws.Assembler    // of a message received as a whole
	partial bool            // a message is being received in part
	open    *messageReader  // of a message whose end was not read
	inflate wsflate.Inflater
	rawErr  error          // the result of tryRead
	on      *frameHandlers // nil if none was set

	message  lock // held while a message is sent; guards the following
	deflate  wsflate.Deflater
	write    lock // held while a frame is written; guards the following
	deadline time.Time
	keys     *maskKeys // nil before a client has sent anything
	vec      *vector   // nil before a large frame is sent

	settings
	isClient   bool
	compressed bool // permessage-deflate was agreed on
	packs      atomic.Bool
	level      atomic.Int32
	limit      atomic.Int64 // of the size of a message after decompression
	hasPong    atomic.Bool
	inHandler  atomic.Bool // a handler of the application runs in a method that reads
	cut        atomic.Bool // a write of the underlying connection has failed
	closed     atomic.Bool
	received   atomic.Uint32
	pinger     *pinger
}

// frameHandlers are functions of the application for control frames, or nil.
type frameHandlers struct {
	ping, pong func(string) error
	close      func(int, string) error
}

// handlers returns the functions for control frames.
func (c *Conn) handlers() frameHandlers {
	if c.on == nil {
		return frameHandlers{}
	}
	return *c.on
}

// setHandlers returns the functions for control frames, to be changed.
func (c *Conn) setHandlers() *frameHandlers {
	if c.on == nil {
		c.on = new(frameHandlers)
	}
	return c.on
}

// maskKeys are random bytes for masks.
type maskKeys struct {
	b    [32]byte
	left int
}

// vector is a frame in two pieces.
type vector struct {
	rest   net.Buffers
	pieces [2][]byte
}

// settings are the settings of a Conn that its Upgrader or Dialer has.
type settings struct {
	fragment     int32         // the size of the fragments that a writer sends
	threshold    int32         // the size of the smallest message to be compressed
	closeTimeout time.Duration // negative if Close does not wait
	writeTimeout time.Duration // for each 64 KiB of a frame; 0 for none
}

// options are the fields that Upgrader and Dialer have in common.
type options struct {
	readLimit                               int64
	pingInterval, pongTimeout, closeTimeout time.Duration
	writeTimeout                            time.Duration
	writeBuffer                             int
	compression                             *Compression
}

// standardLimits are the limits of connections whose Upgrader or Dialer sets none.
var standardLimits = limitsFor(DefaultReadLimit)

func limitsFor(message int64) *ws.Limits {
	l := &ws.Limits{Message: message}
	l.Fill()
	return l
}

// newConn returns a connection after its opening handshake. ahead are bytes that were
// received with the handshake, or nil.
func newConn(nc net.Conn, role ws.Role, a agreement, o options, ahead *bufpool.Buffer) *Conn {
	c := &Conn{
		nc: nc, isClient: role == ws.Client, subprotocol: a.subprotocol, compressed: a.compressed,
		in: ahead,
		settings: settings{
			fragment:  int32(min(o.writeBuffer, math.MaxInt32)),
			threshold: int32(min(o.compression.threshold(), math.MaxInt32)), closeTimeout: o.closeTimeout,
			writeTimeout: max(o.writeTimeout, 0),
		},
	}
	limits := standardLimits
	if o.readLimit != 0 && o.readLimit != DefaultReadLimit {
		limits = limitsFor(o.readLimit)
	}
	c.limit.Store(limits.Message)
	c.part.Limit = -1 // the state has a limit
	if c.fragment <= 0 {
		c.fragment = defaultFragment
	}
	if c.closeTimeout == 0 {
		c.closeTimeout = DefaultCloseTimeout
	}
	c.state.Init(role, limits, ws.Extensions{Compression: a.compressed})
	if a.compressed {
		c.beginCompression(a.deflate, o.compression)
	}
	c.waitWithoutBuffer()
	c.startPings(o.pingInterval, o.pongTimeout)
	return c
}

// beginCompression sets the parameters that both sides have agreed on.
func (c *Conn) beginCompression(d ws.Deflate, settings *Compression) {
	server, client := d.Windows()
	c.deflate = wsflate.Deflater{Level: 1, Bits: server, Takeover: !d.ServerNoContext}
	c.inflate = wsflate.Inflater{Bits: client, Takeover: !d.ClientNoContext}
	if c.isClient {
		c.deflate.Bits, c.inflate.Bits = client, server
		c.deflate.Takeover, c.inflate.Takeover = !d.ClientNoContext, !d.ServerNoContext
	}
	// the peer permits messages that refer to earlier ones, and need not get them
	c.deflate.Takeover = c.deflate.Takeover && settings.ContextTakeover
	c.level.Store(int32(settings.level()))
	c.packs.Store(true)
}

// Subprotocol returns the subprotocol that both sides have agreed on, or "".
func (c *Conn) Subprotocol() string { return c.subprotocol }

// LocalAddr returns the address of this side.
func (c *Conn) LocalAddr() net.Addr { return c.nc.LocalAddr() }

// RemoteAddr returns the address of the peer.
func (c *Conn) RemoteAddr() net.Addr { return c.nc.RemoteAddr() }

// NetConn returns the underlying connection. The caller must not read from it or write to
// it, nor set its deadlines.
func (c *Conn) NetConn() net.Conn { return c.nc }

// UnderlyingConn is NetConn.
//
// Deprecated: Use NetConn.
func (c *Conn) UnderlyingConn() net.Conn { return c.nc }

// EnableWriteCompression sets whether messages that begin later are compressed. The default
// is true. It has no effect unless both sides have agreed on compression.
func (c *Conn) EnableWriteCompression(enable bool) { c.packs.Store(enable) }

// SetCompressionLevel sets the level of compression for messages that begin later, from -2
// to 9, as for package github.com/klauspost/compress/flate. It returns an error for another
// level. It has no effect unless both sides have agreed on compression.
func (c *Conn) SetCompressionLevel(level int) error {
	if level < wsflate.MinLevel || level > wsflate.MaxLevel {
		return errLevel
	}
	c.level.Store(int32(level))
	return nil
}

// past is a deadline that has passed.
var past = time.Unix(1, 0)

// interruptible calls f, and calls expire once ctx ends meanwhile. It reports whether it has
// called expire, which has returned then.
func interruptible(ctx context.Context, expire, f func()) (interrupted bool) {
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		expire()
		close(expired)
	})
	f()
	if stop() {
		return false
	}
	<-expired
	return true
}

// key returns a mask that the peer cannot predict. write is held.
func (c *Conn) key() uint32 {
	k := c.keys
	if k == nil {
		k = new(maskKeys)
		c.keys = k
	}
	if k.left == 0 {
		_, _ = rand.Read(k.b[:])
		k.left = len(k.b) / 4
	}
	k.left--
	return binary.LittleEndian.Uint32(k.b[4*k.left:])
}

// abort closes the underlying connection. Methods that read return err afterwards.
func (c *Conn) abort(err error) error {
	c.mu.Lock()
	if c.abortErr == nil {
		c.abortErr = err
	}
	c.mu.Unlock()
	if secure, ok := c.nc.(*tls.Conn); ok && c.cut.Load() {
		// Close would wait to send an alert, which nothing can read after a record that was cut
		return secure.NetConn().Close()
	}
	return c.nc.Close()
}

// ended maps an error of the underlying connection to the error of a method that reads.
func (c *Conn) ended(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.abortErr != nil:
		return c.abortErr
	case errors.Is(err, io.EOF):
		return &CloseError{Code: CloseAbnormalClosure, Text: io.ErrUnexpectedEOF.Error()}
	case errors.Is(err, io.ErrUnexpectedEOF):
		// the connection below a stream of HTTP/2 has ended, or TLS within a record
		return &CloseError{Code: CloseAbnormalClosure, Text: err.Error()}
	}
	return err
}

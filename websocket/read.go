package websocket

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/internal/wsflate"
)

const (
	// readSize is the size of the buffer into which bytes are read that have arrived, and
	// waitSize the size of the buffer for a connection that cannot wait without one.
	readSize = 4 << 10
	waitSize = 1 << 10

	// muchSize is readSize while much arrives: 64 KiB and the head of its frame, so that one
	// read takes both.
	muchSize = 65 << 10

	// directSize is the size of the smallest part of a message to be read to its place
	// without a copy.
	directSize = 512
)

// SetReadLimit sets the maximum size of a message, in bytes, after decompression. Zero or
// less means no limit. It also applies to the message being received. If the peer
// exceeds it, it is sent CloseMessageTooBig, and methods that read return ErrReadLimit.
func (c *Conn) SetReadLimit(limit int64) {
	l := limitsFor(max(limit, 0))
	if limit <= 0 {
		l = limitsFor(-1)
	}
	c.limit.Store(l.Message)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.SetLimits(l)
}

// SetReadDeadline sets the time at which methods that read, or are waiting, return an error
// with a Timeout method that returns true. The zero time means that they do not. Unlike with
// gorilla/websocket, the connection remains usable: a later call continues with the message
// that was being received.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readDeadline = t
	if c.interrupted {
		return nil
	}
	return c.nc.SetReadDeadline(t)
}

// ReadMessage returns the next message, and its type, TextMessage or BinaryMessage. p
// belongs to the caller.
//
// The error is a *CloseError after a Close frame, ErrReadLimit, a *FaultError, an error that
// a handler has returned, or the error of the underlying connection. Except for timeouts,
// all further calls return it as well.
func (c *Conn) ReadMessage() (messageType int, p []byte, err error) {
	return c.AppendMessage(nil)
}

// AppendMessage is like ReadMessage, but appends the message to dst. If dst has room for
// it, AppendMessage allocates nothing. With an error it returns dst.
func (c *Conn) AppendMessage(dst []byte) (messageType int, p []byte, err error) {
	_ = c.read.lock(context.Background(), time.Time{})
	defer c.endRead()
	return c.appendMessage(dst)
}

// ReadContext is like ReadMessage, but returns the cause of ctx if that ends before the
// message is there. The connection remains usable, and a later call continues with the
// message that was being received.
func (c *Conn) ReadContext(ctx context.Context) (messageType int, p []byte, err error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, context.Cause(ctx)
	}
	if err := c.read.lock(ctx, time.Time{}); err != nil {
		c.freeClosed()
		return 0, nil, err
	}
	defer c.endRead()
	if ctx.Done() == nil {
		return c.appendMessage(nil)
	}
	expire := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.interrupted = true
		_ = c.nc.SetReadDeadline(past)
	}
	if interruptible(ctx, expire, func() { messageType, p, err = c.appendMessage(nil) }) {
		c.mu.Lock()
		c.interrupted = false
		_ = c.nc.SetReadDeadline(c.readDeadline)
		c.mu.Unlock()
		if err != nil && netio.IsTimeout(err) {
			err = context.Cause(ctx)
		}
	}
	return messageType, p, err
}

func (c *Conn) appendMessage(dst []byte) (int, []byte, error) {
	if err := c.skipRest(); err != nil {
		return 0, dst, err
	}
	var ev ws.Event
	m, err := c.whole(&ev)
	if err != nil {
		return 0, dst, err
	}
	if !ev.Compressed {
		dst = append(dst, m...)
		c.releaseMessage()
		return int(ev.Opcode), dst, nil
	}
	plain := bufpool.Get(2 * len(m))
	defer bufpool.Put(plain)
	fault := decompress(&c.inflate, plain, ev.Opcode, m, c.limit.Load())
	c.releaseMessage()
	if fault != nil {
		return 0, dst, c.fail(fault)
	}
	return int(ev.Opcode), append(dst, plain.B...), nil
}

// decompress appends a compressed message to dst, up to the limit of its size.
func decompress(i *wsflate.Inflater, dst *bufpool.Buffer, opcode ws.Opcode, packed []byte, limit int64) *ws.Error {
	if fault, ok := i.Decompress(dst, packed, limit).(*ws.Error); ok {
		return fault
	}
	if opcode == ws.Text {
		var check ws.TextCheck
		if !check.Add(dst.B) || !check.Complete() {
			return ws.ErrText
		}
	}
	return nil
}

// whole receives a whole message, which is valid until releaseMessage. If err is a timeout,
// another call continues.
func (c *Conn) whole(ev *ws.Event) (m []byte, err error) {
	for {
		var room []byte
		if c.dropConsumed(); c.partial && c.in == nil {
			room = c.part.ReadBuffer(c.state.Left())
		}
		if err := c.next(ev, room); err != nil {
			return nil, err
		}
		c.partial = !ev.End
		// Feed enforces the limit
		m, _ = c.part.Add(ev)
		if ev.End {
			return m, nil
		}
	}
}

// releaseMessage frees the memory of a message, and of the received bytes if it was the last
// of them.
func (c *Conn) releaseMessage() {
	c.part.Release()
	c.dropConsumed()
}

// dropConsumed frees the buffer of received bytes if all of them were consumed.
func (c *Conn) dropConsumed() {
	if c.in != nil && c.from == len(c.in.B) {
		bufpool.Put(c.in)
		c.in, c.from = nil, 0
	}
}

// next receives the next part of a message, after the control frames before it. It may
// receive the part in room, unless it is too small.
func (c *Conn) next(ev *ws.Event, room []byte) error {
	for c.readErr == nil {
		*ev = ws.Event{}
		b := room
		switch {
		case c.in != nil && c.from < len(c.in.B):
			b = c.in.B[c.from:]
			n, err := c.feed(b, ev)
			c.from += n
			if err != nil {
				return c.fail(err)
			}
		case len(b) >= directSize && c.state.Left() >= directSize:
			c.dropConsumed()
			n, err := c.readInto(b[:min(int64(len(b)), c.state.Left())])
			if err != nil {
				return err
			}
			if _, err := c.feed(b[:n], ev); err != nil {
				return c.fail(err)
			}
		}
		switch {
		case ev.Opcode == ws.Continuation:
			if err := c.fill(); err != nil {
				return err
			}
		case ev.Opcode.IsControl():
			if err := c.control(ev); err != nil {
				return c.failed(err)
			}
		default:
			return nil
		}
	}
	return c.readErr
}

// feed passes received bytes to the state of the connection.
func (c *Conn) feed(b []byte, ev *ws.Event) (n int, fault *ws.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.state.Feed(b, ev)
	fault, _ = err.(*ws.Error)
	return n, fault
}

// fill receives bytes, after those that were not consumed.
func (c *Conn) fill() error {
	c.dropConsumed()
	c.moveRest()
	c.beginWait()
	defer c.endWait()
	if c.raw != nil {
		err := c.raw.Read(c.tryRead)
		if err == nil {
			err = c.rawErr
		}
		return c.arrived(err)
	}
	b := c.in
	if b == nil {
		b = bufpool.Get(waitSize)
	}
	if cap(b.B)-len(b.B) < ws.MaxNeeded {
		b.Grow(ws.MaxNeeded)
	}
	n, err := netio.Some(c.nc, b.B[len(b.B):cap(b.B)])
	b.B = b.B[:len(b.B)+n]
	if n > 0 {
		err = nil
	}
	if c.in = b; len(b.B) == 0 {
		c.dropConsumed()
	}
	return c.arrived(err)
}

// moveRest makes room after the bytes that were not consumed, fewer than ws.MaxNeeded. If the buffer
// is large, they move to a small one, since the next bytes may arrive late.
func (c *Conn) moveRest() {
	b := c.in
	if b == nil {
		return
	}
	rest := b.B[c.from:]
	if c.from = 0; cap(b.B) >= muchSize {
		c.in = bufpool.Get(readSize)
		c.in.B = append(c.in.B, rest...)
		bufpool.Put(b)
		return
	}
	b.B = b.B[:copy(b.B, rest)]
}

// readInto receives bytes in p.
func (c *Conn) readInto(p []byte) (n int, err error) {
	c.beginWait()
	defer c.endWait()
	n, err = netio.Some(c.nc, p)
	if n > 0 {
		err = nil
	}
	return n, c.arrived(err)
}

// arrived records the result of a read.
func (c *Conn) arrived(err error) error {
	switch {
	case err == nil:
		c.received.Add(1)
		return nil
	case netio.IsTimeout(err) && !c.closed.Load():
		return err
	}
	return c.failed(c.ended(err))
}

// endRead unlocks read.
func (c *Conn) endRead() {
	c.read.unlock()
	c.freeClosed()
}

// freeClosed frees the memory of methods that read if closeNow was called while one of them had the
// lock. It is called after the lock was released.
func (c *Conn) freeClosed() {
	if c.closed.Load() && c.read.tryLock() {
		_ = c.failed(net.ErrClosed)
		c.read.unlock()
	}
}

// failed makes all further methods that read return err.
func (c *Conn) failed(err error) error {
	if c.readErr == nil {
		c.readErr = err
		c.endReading()
		c.part.Release()
		c.inflate.Release()
		c.in, c.from = dropped(c.in), 0
	}
	return c.readErr
}

func dropped(b *bufpool.Buffer) *bufpool.Buffer {
	bufpool.Put(b)
	return nil
}

// endReading records that the peer has sent a Close frame, or that there is a permanent error.
func (c *Conn) endReading() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over && c.readOver != nil {
		close(c.readOver)
	}
	c.over = true
}

// isOver reports whether endReading was called.
func (c *Conn) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// readingOver returns a channel that endReading closes.
func (c *Conn) readingOver() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readOver == nil {
		c.readOver = make(chan struct{})
		if c.over {
			close(c.readOver)
		}
	}
	return c.readOver
}

// fail ends the connection for a fault of the peer, to which it sends a Close frame.
func (c *Conn) fail(fault *ws.Error) error {
	c.mu.Lock()
	_ = c.state.Fail(fault)
	c.mu.Unlock()
	_ = c.sendClose(context.Background(), time.Now().Add(controlTimeout), int(fault.Code), "")
	if fault == ws.ErrMessageSize {
		return c.failed(ErrReadLimit)
	}
	return c.failed(&FaultError{int(fault.Code), fault})
}

// control handles a control frame.
func (c *Conn) control(ev *ws.Event) error {
	on := c.handlers()
	switch ev.Opcode {
	case ws.Ping:
		if on.ping != nil {
			return c.calling(on.ping, ev.Payload)
		}
		return c.answerPing(ev.Payload)
	case ws.Pong:
		if on.pong != nil {
			return c.calling(on.pong, ev.Payload)
		}
		return nil
	}
	c.endReading()
	e := &CloseError{Code: int(ev.Code), Text: string(ev.Payload)}
	if on.close != nil {
		err := c.calling(func(string) error { return on.close(e.Code, e.Text) }, nil)
		if err != nil {
			return err
		}
		return e
	}
	_ = c.sendClose(context.Background(), time.Now().Add(controlTimeout), e.Code, "")
	return e
}

// calling calls a handler of the application. callsHandler knows it by its name.
//
//go:noinline
func (c *Conn) calling(h func(string) error, payload []byte) error {
	c.inHandler.Store(true)
	defer c.inHandler.Store(false)
	return h(string(payload))
}

// PingHandler returns the function that was set with SetPingHandler, or the default.
func (c *Conn) PingHandler() func(appData string) error {
	if h := c.handlers().ping; h != nil {
		return h
	}
	return func(appData string) error { return c.answerPing([]byte(appData)) }
}

// SetPingHandler makes h be called for each Ping frame, with its payload. The default, also
// with a nil h, answers with a Pong frame. Methods that read call h, and fail with its error.
// It must not be set concurrently with them.
func (c *Conn) SetPingHandler(h func(appData string) error) { c.setHandlers().ping = h }

// PongHandler returns the function that was set with SetPongHandler, or the default.
func (c *Conn) PongHandler() func(appData string) error {
	if h := c.handlers().pong; h != nil {
		return h
	}
	return func(string) error { return nil }
}

// SetPongHandler makes h be called for each Pong frame, with its payload. The default, also
// with a nil h, does nothing. Methods that read call h, and fail with its error. It must not
// be set concurrently with them.
func (c *Conn) SetPongHandler(h func(appData string) error) { c.setHandlers().pong = h }

// CloseHandler returns the function that was set with SetCloseHandler, or the default.
func (c *Conn) CloseHandler() func(code int, text string) error {
	if h := c.handlers().close; h != nil {
		return h
	}
	return func(code int, text string) error {
		_ = c.sendClose(context.Background(), time.Now().Add(controlTimeout), code, "")
		return nil
	}
}

// SetCloseHandler makes h be called for the Close frame of the peer, with its code, or
// CloseNoStatusReceived, and its text. h must send a Close frame: see WriteControl. The
// default, also with a nil h, sends one with the same code. Methods that read call h, and
// return its error, or a *CloseError. It must not be set concurrently with them.
func (c *Conn) SetCloseHandler(h func(code int, text string) error) { c.setHandlers().close = h }

// NextReader returns a reader of the next message, and the type of the message, as soon as
// its first bytes are there; a compressed message is received as a whole before. The reader
// is valid until the next call of another method that reads a message, which discards the
// rest. Its Read returns io.EOF at the end of the message, and otherwise the same errors as
// ReadMessage.
func (c *Conn) NextReader() (messageType int, r io.Reader, err error) {
	_ = c.read.lock(context.Background(), time.Time{})
	defer c.endRead()
	if err := c.skipRest(); err != nil {
		return 0, nil, err
	}
	m := &messageReader{c: c}
	var ev ws.Event
	if !c.partial {
		if err := c.next(&ev, nil); err != nil {
			return 0, nil, err
		}
		if !ev.Compressed {
			m.rest, m.ended = ev.Payload, ev.End
			c.open = m
			return int(ev.Opcode), m, nil
		}
		m.rest, _ = c.part.Add(&ev)
		c.partial = !ev.End
	}
	if !ev.End {
		// it is compressed, or a call has received a part of it before its time was up
		if m.rest, err = c.whole(&ev); err != nil {
			return 0, nil, err
		}
	}
	m.ended = true
	if ev.Compressed {
		c.inflate.Begin(m.rest)
		c.releaseMessage()
		m.rest, m.packed, m.isText = nil, true, ev.Opcode == ws.Text
	}
	c.open = m
	return int(ev.Opcode), m, nil
}

// messageReader is the reader of a message. What it refers to belongs to its Conn, and is valid
// until the Conn has failed.
type messageReader struct {
	c       *Conn
	rest    []byte // received, and not read
	size    int64  // the number of bytes read, of a compressed message
	check   ws.TextCheck
	ended   bool // rest is the end of the message
	skipped bool // skipRest has begun to discard it
	packed  bool
	isText  bool
}

// Read implements io.Reader.
func (m *messageReader) Read(p []byte) (n int, err error) {
	c := m.c
	_ = c.read.lock(context.Background(), time.Time{})
	defer c.endRead()
	switch {
	case c.readErr != nil:
		// the memory of the rest is freed
		return 0, c.readErr
	case c.open != m || m.skipped:
		return 0, io.EOF
	}
	if m.packed {
		return m.readPacked(p)
	}
	for len(m.rest) == 0 && len(p) > 0 {
		if m.ended {
			m.close()
			return 0, io.EOF
		}
		var ev ws.Event
		if err := c.next(&ev, p); err != nil {
			return 0, err
		}
		m.rest, m.ended = ev.Payload, ev.End
		if len(m.rest) > 0 && &m.rest[0] == &p[0] {
			n, m.rest = len(m.rest), nil
			return n, nil
		}
	}
	n = copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func (m *messageReader) readPacked(p []byte) (n int, err error) {
	c := m.c
	n, err = c.inflate.Read(p)
	m.size += int64(n)
	fault, _ := err.(*ws.Error)
	switch {
	case fault != nil:
	case m.size > c.limit.Load():
		fault = ws.ErrMessageSize
	case m.isText && (!m.check.Add(p[:n]) || err == io.EOF && !m.check.Complete()):
		fault = ws.ErrText
	case err == io.EOF:
		m.close()
	}
	if fault != nil {
		return 0, c.fail(fault)
	}
	return n, err
}

// close ends the message, which was read.
func (m *messageReader) close() {
	if m.packed {
		m.c.inflate.End()
	}
	m.rest = nil
	m.c.open = nil
	m.c.releaseMessage()
}

// skipRest discards the rest of the message of NextReader.
func (c *Conn) skipRest() error {
	m := c.open
	if c.readErr != nil || m == nil {
		return c.readErr
	}
	m.skipped, m.rest = true, nil
	if m.packed && c.inflate.Takeover {
		// later messages may refer to it
		b := bufpool.Get(readSize)
		defer bufpool.Put(b)
		for c.open == m {
			if _, err := m.readPacked(b.B[:cap(b.B)]); err != nil && err != io.EOF {
				return err
			}
		}
		return nil
	}
	for !m.ended {
		var ev ws.Event
		if err := c.next(&ev, nil); err != nil {
			return err
		}
		m.ended = ev.End
	}
	m.close()
	return nil
}

// waitWithoutBuffer makes reads wait without a buffer, if the underlying connection is a
// socket.
func (c *Conn) waitWithoutBuffer() {
	if !readsSockets {
		return
	}
	var err error
	switch nc := c.nc.(type) {
	case *net.TCPConn:
		c.raw, err = nc.SyscallConn()
	case *net.UnixConn:
		c.raw, err = nc.SyscallConn()
	}
	if err != nil {
		c.raw = nil
	}
	if c.raw != nil {
		c.tryRead = c.readSocket
	}
}

// readSocket reads the bytes that have arrived. It returns false if there are none.
func (c *Conn) readSocket(fd uintptr) bool {
	b := c.in
	if b == nil {
		size := readSize
		if c.much {
			size = muchSize
		}
		b = bufpool.Get(size)
	}
	if cap(b.B)-len(b.B) < ws.MaxNeeded {
		b.Grow(ws.MaxNeeded)
	}
	n, err, again := recv(fd, b.B[len(b.B):cap(b.B)])
	if n > 0 {
		b.B = b.B[:len(b.B)+n]
		c.in = b
		// a buffer that was filled makes the next one larger, until little arrives
		c.much = len(b.B) == cap(b.B) || c.much && len(b.B) > readSize
	} else if c.in == nil {
		bufpool.Put(b)
	}
	if !again && n == 0 && err == nil {
		err = io.EOF
	}
	c.rawErr = err
	return !again
}

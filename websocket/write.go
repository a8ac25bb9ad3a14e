package websocket

import (
	"context"
	"io"
	"math"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/netio"
	"github.com/valyala/fasthttp/internal/ws"
)

// controlTimeout limits how long a Pong or Close frame that answers the peer may take: the
// peer may not read.
const controlTimeout = 5 * time.Second

// copyLimit is the size of the largest payload that is copied after its head. For a larger
// one the system gets two pieces.
const copyLimit = 16 << 10

// SetWriteDeadline sets the time at which writes that begin later fail, with an error whose
// Timeout method returns true. The zero time means that only Upgrader.WriteTimeout or
// Dialer.WriteTimeout limits them. After a frame was written in part, all further writes fail.
// Control messages have deadlines of their own.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeDeadline = t
	return nil
}

func (c *Conn) deadlineOfWrites() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeDeadline
}

// WriteMessage sends a message. messageType is TextMessage or BinaryMessage, or the type of
// a control message: see WriteControl. data is not used after the return. WriteMessage does
// not check that text is UTF-8; the peer ends the connection if it is not.
//
// The error is ErrCloseSent, or the error of the underlying connection.
func (c *Conn) WriteMessage(messageType int, data []byte) error {
	return c.writeMessage(context.Background(), messageType, data)
}

// WriteContext is like WriteMessage, but returns the cause of ctx if that ends before the
// message was sent. If nothing of it was, the connection remains usable, unless it uses TLS.
// Otherwise all further writes fail.
func (c *Conn) WriteContext(ctx context.Context, messageType int, data []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return c.writeMessage(ctx, messageType, data)
}

func (c *Conn) writeMessage(ctx context.Context, messageType int, data []byte) error {
	deadline := c.deadlineOfWrites()
	if messageType != TextMessage && messageType != BinaryMessage {
		return c.writeControl(ctx, messageType, data, deadline)
	}
	if err := c.message.lock(ctx, deadline); err != nil {
		c.freeCompressor()
		return err
	}
	defer c.endMessage()
	h := ws.Head{Opcode: ws.Opcode(messageType), Fin: true}
	if c.mayCompress() && len(data) >= int(c.threshold) {
		out := bufpool.Get(len(data)/2 + ws.MaxHead)
		defer bufpool.Put(out)
		c.setLevel()
		c.deflate.Compress(out, data)
		h.RSV1, data = true, out.B
	}
	err := c.writeFrame(ctx, deadline, h, data)
	if err != nil && h.RSV1 {
		// the peer has not received what later messages would refer to
		c.deflate.Release()
	}
	return err
}

// endMessage unlocks message.
func (c *Conn) endMessage() {
	c.message.unlock()
	c.freeCompressor()
}

// freeCompressor is freeClosed for the memory of messages that are sent.
func (c *Conn) freeCompressor() {
	if c.closed.Load() && c.message.tryLock() {
		c.deflate.Release()
		c.message.unlock()
	}
}

// mayCompress reports whether messages that begin now are compressed.
func (c *Conn) mayCompress() bool { return c.compressed && c.packs.Load() }

// setLevel sets the level for a message that begins. message is held.
func (c *Conn) setLevel() {
	if level := int8(c.level.Load()); c.deflate.Level != level {
		c.deflate.Release()
		c.deflate.Level = level
	}
}

// WriteControl sends a control message: CloseMessage, with data from FormatCloseMessage,
// PingMessage or PongMessage, with at most 125 bytes. It may be sent in the middle of a
// message of NextWriter. The zero deadline means none but that of WriteTimeout. After a Close message no method can
// send anything. The peer may never answer it: to read until then, set a read deadline or
// PingInterval, or call CloseWith instead.
//
// The errors are the errors of WriteMessage, and one for data that the message must not
// have.
func (c *Conn) WriteControl(messageType int, data []byte, deadline time.Time) error {
	return c.writeControl(context.Background(), messageType, data, deadline)
}

func (c *Conn) writeControl(ctx context.Context, messageType int, data []byte, deadline time.Time) error {
	switch {
	case messageType != CloseMessage && messageType != PingMessage && messageType != PongMessage:
		return errMessageType
	case len(data) > ws.MaxControl:
		return errControlSize
	}
	return c.writeFrame(ctx, deadline, ws.Head{Opcode: ws.Opcode(messageType), Fin: true}, data)
}

// sendClose sends a Close frame, unless one was sent.
func (c *Conn) sendClose(ctx context.Context, deadline time.Time, code int, text string) error {
	var room [ws.MaxControl]byte
	p, err := ws.AppendClose(room[:0], ws.Code(code), text)
	if err != nil {
		return errCloseMessage
	}
	return c.writeControl(ctx, CloseMessage, p, deadline)
}

// answerPing sends a Pong frame, or leaves it to the goroutine that writes at the moment. If
// several Ping frames arrive meanwhile, only the last one is answered (RFC 6455 section
// 5.5.3).
func (c *Conn) answerPing(payload []byte) error {
	c.mu.Lock()
	c.pong = append(c.pong[:0], payload...)
	c.mu.Unlock()
	c.hasPong.Store(true)
	if c.write.tryLock() {
		c.answerPings()
	}
	return nil
}

// beginWrite locks write.
func (c *Conn) beginWrite(ctx context.Context, deadline time.Time) error {
	err := c.write.lock(ctx, deadline)
	if err != nil && c.hasPong.Load() && c.write.tryLock() {
		// the lock may have been passed to this goroutine together with the duty to answer
		go c.answerPings()
	}
	return err
}

// endWrite unlocks write. If a Pong frame waits, another goroutine sends it, and has the lock
// until then: neither a peer that takes no answers nor one that sends Ping frames without end
// keeps a method that writes from returning.
func (c *Conn) endWrite() {
	if !c.hasPong.Load() {
		c.write.unlock()
		if !c.hasPong.Load() || !c.write.tryLock() {
			return
		}
	}
	go c.answerPings()
}

// answerPings sends the Pong frames that wait, and unlocks write.
func (c *Conn) answerPings() {
	for {
		if c.hasPong.Swap(false) {
			var room [ws.MaxControl]byte
			c.mu.Lock()
			p := append(room[:0], c.pong...)
			c.mu.Unlock()
			// if the peer does not read, it misses the answer
			_ = c.writeLocked(context.Background(), time.Now().Add(controlTimeout), ws.Head{Opcode: ws.Pong, Fin: true}, p)
		}
		c.write.unlock()
		if !c.hasPong.Load() || !c.write.tryLock() {
			return
		}
	}
}

// writeFrame sends a frame. For data frames, message is held.
func (c *Conn) writeFrame(ctx context.Context, deadline time.Time, h ws.Head, p []byte) error {
	if err := c.beginWrite(ctx, deadline); err != nil {
		return c.lateFrame(h, err)
	}
	defer c.endWrite()
	return c.writeLocked(ctx, deadline, h, p)
}

// lateFrame returns err for a frame of which nothing was sent. If it is not a whole message,
// nothing can be sent after it.
func (c *Conn) lateFrame(h ws.Head, err error) error {
	if h.Opcode == ws.Continuation || !h.Fin {
		return c.cannotWrite(err)
	}
	return err
}

// cannotWrite makes all further writes fail with err.
func (c *Conn) cannotWrite(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writeErr == nil {
		c.writeErr = err
	}
	return err
}

// admit checks that a frame may be sent, which counts as sent then.
func (c *Conn) admit(h ws.Head, p []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.writeErr != nil {
		return c.writeErr
	}
	switch err := c.state.Admit(h, p); err {
	case nil:
		return nil
	case ws.ErrClosing:
		return ErrCloseSent
	case ws.ErrSendCode, ws.ErrSendReason:
		return errCloseMessage
	default:
		return err
	}
}

// writeLocked sends a frame while write is held.
func (c *Conn) writeLocked(ctx context.Context, deadline time.Time, h ws.Head, p []byte) error {
	if err := c.admit(h, p); err != nil {
		return err
	}
	var out *bufpool.Buffer
	var tail []byte
	switch {
	case c.isClient:
		h.Masked, h.Key = true, c.key()
		out = bufpool.Get(ws.MaxHead + len(p))
		out.B = ws.AppendFrame(out.B, h, p)
	case len(p) <= copyLimit || c.raw == nil:
		out = bufpool.Get(ws.MaxHead + len(p))
		out.B = ws.AppendFrame(out.B, h, p)
	default:
		out, tail = bufpool.Get(ws.MaxHead), p
		out.B = ws.AppendHead(out.B, h, len(p))
	}
	defer bufpool.Put(out)
	return c.send(ctx, deadline, h, out.B, tail)
}

// send writes the bytes of a frame, in one piece or two. write is held.
func (c *Conn) send(ctx context.Context, deadline time.Time, h ws.Head, p, tail []byte) (err error) {
	if deadline.IsZero() && ctx.Done() == nil && c.writeTimeout > 0 {
		deadline = c.standardDeadline(len(p) + len(tail))
	}
	if !deadline.Equal(c.deadline) {
		c.deadline = deadline
		if err := c.nc.SetWriteDeadline(deadline); err != nil {
			return c.cannotWrite(err)
		}
	}
	var n int64
	if ctx.Done() == nil {
		n, err = c.writeBytes(p, tail)
	} else {
		expire := func() { _ = c.nc.SetWriteDeadline(past) }
		interrupted := interruptible(ctx, expire, func() { n, err = c.writeBytes(p, tail) })
		if interrupted {
			c.deadline = past
			if err != nil && netio.IsTimeout(err) {
				err = context.Cause(ctx)
			}
		}
	}
	if err != nil {
		c.cut.Store(true)
	}
	switch {
	case err == nil:
		return nil
	case n == 0 && ctx.Err() != nil || n == 0 && netio.IsTimeout(err):
		if h.Opcode == ws.Close {
			// it counts as sent
			return c.cannotWrite(err)
		}
		return c.lateFrame(h, err)
	}
	return c.cannotWrite(err)
}

// standardDeadline returns the deadline of a frame of n bytes that begins now, by the timeout of
// the Conn. It stays the same for an eighth of the time, since changing it for each frame costs
// something. write is held.
func (c *Conn) standardDeadline(n int) time.Time {
	timeout := c.writeTimeout
	if pieces := time.Duration(n>>16) + 1; timeout > math.MaxInt64/2/pieces {
		timeout = math.MaxInt64 / 2
	} else {
		timeout *= pieces
	}
	if left := time.Until(c.deadline); left >= timeout && left <= timeout+timeout/8 {
		return c.deadline
	}
	return time.Now().Add(timeout + timeout/8)
}

func (c *Conn) writeBytes(p, tail []byte) (int64, error) {
	if tail == nil {
		n, err := c.nc.Write(p)
		return int64(n), err
	}
	if c.vec == nil {
		c.vec = new(vector)
	}
	v := c.vec
	v.pieces = [2][]byte{p, tail}
	v.rest = v.pieces[:]
	n, err := v.rest.WriteTo(c.nc)
	v.pieces = [2][]byte{}
	return n, err
}

// NextWriter returns a writer of a message. The message is sent when the writer is closed,
// or, if it is larger than WriteBufferSize, in fragments from then on. Other messages wait
// once the first fragment was sent, until the writer is closed: unlike with
// gorilla/websocket, NextWriter does not close the writer that it returned before, and
// several writers may be in use.
//
// Every writer must be closed. Its methods must not be called concurrently. Their errors are
// the errors of WriteMessage.
func (c *Conn) NextWriter(messageType int) (io.WriteCloser, error) {
	switch messageType {
	case TextMessage, BinaryMessage, CloseMessage, PingMessage, PongMessage:
	default:
		return nil, errMessageType
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch phase := c.state.Phase(); {
	case c.writeErr != nil:
		return nil, c.writeErr
	case phase == ws.CloseSent || phase == ws.Closed:
		return nil, ErrCloseSent
	}
	return &messageWriter{c: c, messageType: messageType}, nil
}

// messageWriter is the writer of a message.
type messageWriter struct {
	c           *Conn
	messageType int
	buf         *bufpool.Buffer // not sent yet
	packed      *bufpool.Buffer // the compressed form of bytes that were in buf
	err         error           // all further calls return it
	began       bool            // a fragment was sent: message is held
	sent        bool            // the first fragment was sent
}

// Write implements io.Writer.
func (w *messageWriter) Write(p []byte) (n int, err error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.buf == nil {
		w.buf = bufpool.Get(min(len(p), int(w.c.fragment)))
	}
	if w.messageType > BinaryMessage {
		if len(w.buf.B)+len(p) > ws.MaxControl {
			return 0, errControlSize
		}
		return w.buf.Write(p)
	}
	for len(p) > 0 {
		if len(w.buf.B) == int(w.c.fragment) {
			if err := w.flush(false); err != nil {
				return n, err
			}
		}
		piece := p[:min(len(p), int(w.c.fragment)-len(w.buf.B))]
		w.buf.Grow(len(piece))
		w.buf.B = append(w.buf.B, piece...)
		n, p = n+len(piece), p[len(piece):]
	}
	return n, nil
}

// Close sends the rest of the message.
func (w *messageWriter) Close() error {
	if w.err != nil {
		return w.err
	}
	if w.buf == nil {
		w.buf = bufpool.Get(0)
	}
	var err error
	if w.began {
		err = w.flush(true)
	} else if err = w.c.WriteMessage(w.messageType, w.buf.B); err != nil {
		return w.end(err)
	}
	if err == nil {
		_ = w.end(errWriterClosed)
	}
	return err
}

// flush sends the bytes written as a fragment, or compresses it.
func (w *messageWriter) flush(last bool) error {
	c := w.c
	ctx, deadline := context.Background(), c.deadlineOfWrites()
	if !w.began {
		if err := c.message.lock(ctx, deadline); err != nil {
			c.freeCompressor()
			return w.end(err)
		}
		w.began = true
		if c.mayCompress() {
			c.setLevel()
			w.packed = bufpool.Get(int(c.fragment))
		}
	}
	out := w.buf
	if w.packed != nil {
		out = w.packed
		c.deflate.Write(out, w.buf.B)
		w.buf.B = w.buf.B[:0]
		if last {
			c.deflate.End(out)
		} else if len(out.B) < int(c.fragment) {
			return nil
		}
	}
	h := ws.Head{Opcode: ws.Opcode(w.messageType), Fin: last, RSV1: w.packed != nil}
	if w.sent {
		h.Opcode, h.RSV1 = ws.Continuation, false
	}
	err := c.writeFrame(ctx, deadline, h, out.B)
	if w.sent = true; err != nil {
		return w.end(err)
	}
	out.B = out.B[:0]
	return nil
}

// end frees the memory of the writer, all of whose further calls return err.
func (w *messageWriter) end(err error) error {
	if w.err = err; w.began {
		if err != errWriterClosed {
			w.c.deflate.Release()
		}
		w.c.endMessage()
		w.began = false
	}
	bufpool.Put(w.buf)
	bufpool.Put(w.packed)
	w.buf, w.packed = nil, nil
	return err
}

package websocket

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/websocket"
)

// base gives the field of a Conn an unexported name.
type base = websocket.Conn

// Conn is a WebSocket connection, of a server or of a client. It has all methods of a Conn of
// package github.com/valyala/fasthttp/websocket. Close and NextWriter differ.
//
// Every Conn must be closed. A FastHTTPUpgrader does that when its FastHTTPHandler returns.
type Conn struct {
	*base
	writer atomic.Pointer[messageWriter] // the last one, if it was not closed
	// release lets the goroutine of a connection of net/http end; nil for other connections.
	release func()
}

// newConn returns a Conn. If release is not nil, it is called once, when the Conn is closed.
func newConn(c *base, release func()) *Conn {
	if release != nil {
		release = sync.OnceFunc(release)
	}
	return &Conn{base: c, release: release}
}

// missing returns the error of methods of a Conn without a connection, or nil.
func (c *Conn) missing() error {
	switch {
	case c == nil:
		return ErrNilConn
	case c.base == nil:
		return ErrNilNetConn
	}
	return nil
}

func (c *Conn) released() {
	if c.release != nil {
		c.release()
	}
}

// Close closes the underlying connection, without a closing handshake. The peer gets a Close
// frame only if the application has sent one: see WriteControl.
func (c *Conn) Close() error {
	if err := c.missing(); err != nil {
		return err
	}
	return c.CloseNow()
}

// CloseNow is Close.
func (c *Conn) CloseNow() error {
	defer c.released()
	return c.base.CloseNow()
}

// CloseWith closes the connection with a closing handshake: see CloseWith of a Conn of package
// github.com/valyala/fasthttp/websocket. With a code or a text that must not be sent, it closes
// the connection at once, and returns an error.
func (c *Conn) CloseWith(code int, text string) error {
	defer c.released()
	err := c.base.CloseWith(code, text)
	if err != nil {
		_ = c.base.CloseNow()
	}
	return err
}

// LocalAddr returns the address of this side.
func (c *Conn) LocalAddr() net.Addr {
	if c.missing() != nil {
		return nil
	}
	return c.base.LocalAddr()
}

// RemoteAddr returns the address of the peer.
func (c *Conn) RemoteAddr() net.Addr {
	if c.missing() != nil {
		return nil
	}
	return c.base.RemoteAddr()
}

// NextReader returns a reader of the next message, and the type of the message. The reader is
// valid until the next call of a method that reads a message, which discards the rest. Its
// Read returns io.EOF at the end of the message.
func (c *Conn) NextReader() (messageType int, r io.Reader, err error) {
	if err := c.missing(); err != nil {
		return -1, nil, err
	}
	return c.base.NextReader()
}

// ReadMessage returns the next message, and its type, TextMessage or BinaryMessage. p belongs
// to the caller.
func (c *Conn) ReadMessage() (messageType int, p []byte, err error) {
	if err := c.missing(); err != nil {
		return -1, nil, err
	}
	return c.base.ReadMessage()
}

// ReadJSON receives a message, and stores the JSON value in it in v, see
// encoding/json.Unmarshal. It returns io.ErrUnexpectedEOF for an empty message.
func (c *Conn) ReadJSON(v any) error {
	if err := c.missing(); err != nil {
		return err
	}
	return c.base.ReadJSON(v)
}

// NextWriter returns a writer of a message, which is sent when the writer is closed, or in
// fragments if it is large. There is one writer at a time: NextWriter and the other methods
// that send data close the writer before it.
func (c *Conn) NextWriter(messageType int) (io.WriteCloser, error) {
	if err := c.finish(); err != nil {
		return nil, err
	}
	w, err := c.base.NextWriter(messageType)
	if err != nil {
		return nil, err
	}
	m := &messageWriter{c: c, w: w}
	c.writer.Store(m)
	return m, nil
}

// finish closes the writer that the application has not closed. Its error, if the connection
// has failed, is also that of the next message.
func (c *Conn) finish() error {
	if err := c.missing(); err != nil {
		return err
	}
	if w := c.writer.Load(); w != nil {
		_ = w.Close()
	}
	return nil
}

// messageWriter is a writer of NextWriter.
type messageWriter struct {
	c *Conn
	w io.WriteCloser
}

// Write implements io.Writer.
func (m *messageWriter) Write(p []byte) (int, error) { return m.w.Write(p) }

// WriteString implements io.StringWriter.
func (m *messageWriter) WriteString(s string) (int, error) { return io.WriteString(m.w, s) }

// Close ends the message. Further calls return an error.
func (m *messageWriter) Close() error {
	m.c.writer.CompareAndSwap(m, nil)
	return m.w.Close()
}

// WriteMessage sends a message.
func (c *Conn) WriteMessage(messageType int, data []byte) error {
	if err := c.finish(); err != nil {
		return err
	}
	return c.base.WriteMessage(messageType, data)
}

// WriteJSON sends the JSON encoding of v as a text message, see encoding/json.Marshal.
func (c *Conn) WriteJSON(v any) error {
	if err := c.finish(); err != nil {
		return err
	}
	return c.base.WriteJSON(v)
}

// WritePreparedMessage sends a PreparedMessage.
func (c *Conn) WritePreparedMessage(pm *PreparedMessage) error {
	if err := c.finish(); err != nil {
		return err
	}
	return c.base.WritePreparedMessage(pm)
}

// WriteControl sends a control message, until a deadline; the zero time means none.
func (c *Conn) WriteControl(messageType int, data []byte, deadline time.Time) error {
	if err := c.missing(); err != nil {
		return err
	}
	return c.base.WriteControl(messageType, data, deadline)
}

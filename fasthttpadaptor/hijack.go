package fasthttpadaptor

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// hijack is what a handler gets that asks for the connection.
type hijack struct {
	conn net.Conn
	err  error
}

// hijackWait is how long a handler waits for its connection once the server is
// done with the request. The server gives it away at that moment, unless the
// connection has failed in it.
const hijackWait = 10 * time.Second

var errNoConn = errors.New("fasthttpadaptor: the connection has failed before it could be handed over")

// Hijack implements http.Hijacker. A header that was written, and what was
// written behind it, is sent before; framing it is left to the caller. The
// connection is the caller's from then on: neither the server's timeouts nor its
// shutdown concern it.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, err := w.hijack()
	if err != nil {
		return nil, nil, err
	}
	return conn, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn)), nil
}

func (w *responseWriter) hijack() (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.state {
	case stateHijacked:
		return nil, http.ErrHijacked
	case stateOver:
		return nil, errOver
	case stateSending:
		return nil, errBegun
	}
	var head []byte
	if w.status != 0 {
		head = w.rawHead()
	}
	if w.body != nil {
		_ = w.body.leave()
	}
	w.state = stateHijacked
	w.context.detach()
	released := make(releaseSignal)
	w.ctx.SetUserValue(released, released)
	close(w.hijacking)
	// the context belongs to the server from here on
	got, err := w.awaitConn(released)
	if err != nil || len(head) == 0 {
		return got, err
	}
	if _, err := got.Write(head); err != nil {
		_ = got.Close()
		return nil, fmt.Errorf("fasthttpadaptor: %w", err)
	}
	return got, nil
}

// releaseSignal is closed when the values of a request are.
type releaseSignal chan struct{}

// Close implements io.Closer.
func (r releaseSignal) Close() error {
	close(r)
	return nil
}

var _ io.Closer = releaseSignal(nil)

func (w *responseWriter) awaitConn(released releaseSignal) (net.Conn, error) {
	select {
	case got := <-w.hijacked:
		return got.conn, got.err
	case <-released:
	}
	timer := time.NewTimer(hijackWait)
	defer timer.Stop()
	select {
	case got := <-w.hijacked:
		return got.conn, got.err
	case <-timer.C:
		return nil, errNoConn
	}
}

// rawHead returns the response as it was begun.
func (w *responseWriter) rawHead() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", w.status, http.StatusText(w.status))
	// Write replaces what would end a line
	_ = w.head.Write(&b)
	b.WriteString("\r\n")
	b.Write(w.ctx.Response.Body())
	return b.Bytes()
}

// handOver has the server give the connection to the handler. It runs in the
// server's goroutine.
func (w *responseWriter) handOver() {
	w.ctx.HijackSetNoResponse(true)
	w.ctx.Hijack(func(c net.Conn) {
		conn := &hijackedConn{Conn: c, closed: make(chan struct{})}
		w.hijacked <- hijack{conn: conn}
		// c is closed when this returns
		<-conn.closed
	})
}

// hijackedConn tells when it is closed.
type hijackedConn struct {
	net.Conn
	once   sync.Once
	closed chan struct{}
}

// Close implements net.Conn.
func (c *hijackedConn) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		err = c.Conn.Close()
		close(c.closed)
	})
	return err
}

// CloseWrite ends the sending side, where the connection can do that.
func (c *hijackedConn) CloseWrite() error {
	conn := c.Conn
	if u, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
		conn = u.UnsafeConn()
	}
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

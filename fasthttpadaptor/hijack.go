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

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/bridge"
)

// hijackWait is for how long Hijack waits for the connection after the server is done
// with the request. The server hands the connection over at that moment, unless it has
// failed.
const hijackWait = 10 * time.Second

// errStreams is returned if the connection carries other requests, too.
var errStreams = fmt.Errorf("fasthttpadaptor: a connection of HTTP/2 or HTTP/3 cannot be hijacked: %w", http.ErrNotSupported)

var errNoConn = errors.New("fasthttpadaptor: the connection has failed before it could be handed over")

// Hijack implements http.Hijacker. If a header was written, it is sent first, with the
// content written after it; the caller must frame that content itself, unless the response
// has begun before: then content without a Content-Length is sent in chunks, and the caller
// continues with chunks. The caller owns the connection from then on: the timeouts and the
// shutdown of the server do not affect it. What was not read of the body of the request is
// read from the connection.
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
	}
	if w.streams {
		return nil, errStreams
	}
	var head []byte
	switch {
	case w.state == stateSending:
		if err := w.stream.mayHijack(); err != nil {
			return nil, err
		}
	case w.status != 0:
		head = w.rawHead()
	}
	if w.body != nil {
		_ = w.body.leave()
	}
	w.state = stateHijacked
	w.deadline.end()
	w.context.detach()
	w.hijacked, w.released = make(chan net.Conn, 1), make(releaseSignal)
	if w.stream != nil {
		close(w.stream.hijacking)
	} else {
		w.done = make(chan struct{})
		w.turn <- turnHijack
	}
	// the server owns the context from here on
	got, err := w.awaitConn()
	if err != nil {
		return nil, err
	}
	w.owns = true
	if len(head) == 0 {
		return got, nil
	}
	if _, err := got.Write(head); err != nil {
		_ = got.Close()
		return nil, fmt.Errorf("fasthttpadaptor: %w", err)
	}
	return got, nil
}

// releaseSignal is a user value that is closed together with the others of a request.
type releaseSignal chan struct{}

// Close implements io.Closer.
func (r releaseSignal) Close() error {
	close(r)
	return nil
}

var _ io.Closer = releaseSignal(nil)

func (w *responseWriter) awaitConn() (net.Conn, error) {
	select {
	case got := <-w.hijacked:
		return got, nil
	case <-w.released:
	}
	timer := time.NewTimer(hijackWait)
	defer timer.Stop()
	select {
	case got := <-w.hijacked:
		return got, nil
	case <-timer.C:
		return nil, errNoConn
	}
}

// rawHead returns the head of the response that the handler has begun.
func (w *responseWriter) rawHead() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", w.status, http.StatusText(w.status))
	// Write replaces characters that would end a line
	_ = w.head.Write(&b)
	b.WriteString("\r\n")
	b.Write(w.ctx.Response.Body())
	return b.Bytes()
}

// handOver makes the server hand the connection over to the handler. It runs in the
// server's goroutine.
func (w *responseWriter) handOver() {
	// access logs read the status there
	switch {
	case w.status != 0:
		w.ctx.SetStatusCode(w.status)
	case len(w.ctx.Request.Header.Peek(fasthttp.HeaderUpgrade)) > 0:
		w.ctx.SetStatusCode(fasthttp.StatusSwitchingProtocols)
	}
	w.hijackConn(w.ctx)
}

// hijackConn makes the server of ctx hand the connection over to the handler. It runs in the
// server's goroutine.
func (w *responseWriter) hijackConn(ctx *fasthttp.RequestCtx) {
	ctx.SetUserValue(w.released, w.released)
	bridge.HijackImmediately(ctx)
	ctx.Hijack(func(c net.Conn) {
		conn := &hijackedConn{Conn: c, closed: make(chan struct{})}
		w.hijacked <- conn
		<-w.done
		if w.panicked() {
			ctx.Logger().Printf("fasthttpadaptor: %v", w.fault)
		}
		// c is closed when this returns
		<-conn.closed
	})
}

// hijackedConn is a connection that reports its Close.
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

// CloseWrite shuts down the sending side if the connection can do that.
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

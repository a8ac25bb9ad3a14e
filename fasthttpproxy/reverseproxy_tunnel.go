package fasthttpproxy

import (
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/ascii"
)

// switchProtocol connects the client to the server, which has switched to another protocol.
func (x *proxyExchange) switchProtocol() error {
	server, ok := x.resp.BodyStream().(io.ReadWriteCloser)
	if !ok {
		return fmt.Errorf("%w: %w", ErrBadGateway, errUnasked101)
	}
	from, to := &x.resp.Header, &x.ctx.Response.Header
	upgraded := from.StatusCode() == fasthttp.StatusSwitchingProtocols
	if upgraded && !ascii.EqualFoldString(from.Peek(fasthttp.HeaderUpgrade), x.protocol) {
		return fmt.Errorf("%w: %w", ErrBadGateway, errUnasked101)
	}
	key := x.ctx.Request.Header.Peek(fasthttp.HeaderSecWebSocketKey)
	from.CopyTo(to)
	x.replied.keep = true
	x.replied.removeFrom(to)
	to.SetNoDefaultContentType(true)
	if x.ctx.IsConnect() {
		to.SetStatusCode(fasthttp.StatusOK)
		to.Del(fasthttp.HeaderSecWebSocketAccept)
	} else {
		to.SetStatusCode(fasthttp.StatusSwitchingProtocols)
		to.Set(fasthttp.HeaderConnection, "Upgrade")
		to.Set(fasthttp.HeaderUpgrade, x.protocol)
		if !upgraded && x.protocol == webSocket {
			to.Set(fasthttp.HeaderSecWebSocketAccept, webSocketAccept(key))
		}
	}
	if modify := x.p.ModifyResponse; modify != nil {
		if err := modify(x.ctx); err != nil {
			return err
		}
		if status := to.StatusCode(); status != fasthttp.StatusSwitchingProtocols && !(x.ctx.IsConnect() && status/100 == 2) {
			// the client expects no tunnel
			to.Del(fasthttp.HeaderUpgrade)
			to.Del(fasthttp.HeaderSecWebSocketAccept)
			if ascii.EqualFoldString(to.Peek(fasthttp.HeaderConnection), "Upgrade") {
				to.Del(fasthttp.HeaderConnection)
			}
			x.release()
			return nil
		}
	}
	// the tunnel outlives the handler, and may never begin: the end of the request ends it
	x.endWithRequest()
	x.ctx.Hijack(func(client net.Conn) { pipe(client, server) })
	return nil
}

// webSocketAccept returns the value of Sec-WebSocket-Accept for a key (RFC 6455 section 4.2.2).
func webSocketAccept(key []byte) string {
	const guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
	sum := sha1.Sum(append(append(make([]byte, 0, len(key)+len(guid)), key...), guid...))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// pipe copies bytes in both directions, until both have ended, or one has failed.
func pipe(client net.Conn, server io.ReadWriteCloser) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		forward(server, client)
	}()
	forward(client, server)
	<-done
}

// forward copies bytes from one connection to another. The end of one direction is passed on; an
// error, or a connection whose directions cannot end for themselves, ends both connections.
func forward(to io.WriteCloser, from io.ReadCloser) {
	_, err := io.Copy(onlyWriter{to}, onlyReader{from})
	if err == nil && closeWrite(to) == nil {
		return
	}
	_ = to.Close()
	_ = from.Close()
}

// onlyReader and onlyWriter hide other methods, so that pieces are forwarded as they arrive.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)

// closeWrite ends the direction to a peer.
func closeWrite(c io.Closer) error {
	if below, ok := c.(interface{ UnsafeConn() net.Conn }); ok {
		c = below.UnsafeConn()
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

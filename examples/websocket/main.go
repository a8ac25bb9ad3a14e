// Command websocket is a chat: each message of a client of /chat is sent to all its clients,
// and / is a page for it. The program does the handshake itself, and uses github.com/gobwas/ws
// for the frames. Because of that library this example is a separate module.
//
// A library that needs an http.ResponseWriter, such as github.com/coder/websocket, works
// with fasthttpadaptor.NewFastHTTPHandler.
package main

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"

	"github.com/valyala/fasthttp"
)

func main() {
	addr := flag.String("addr", ":8080", "the TCP address to listen on")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves addr until ctx ends.
func run(ctx context.Context, addr string, stdout io.Writer) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	r := &room{members: make(map[*member]struct{})}
	server := &fasthttp.Server{
		Handler:      r.serve,
		Name:         "websocket",
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	shutDown := make(chan error, 1)
	context.AfterFunc(ctx, func() {
		err := server.Shutdown()
		// the server does not close connections that were hijacked
		r.close()
		shutDown <- err
		// Serve would serve if it began after that
		_ = ln.Close()
	})

	fmt.Fprintf(stdout, "websocket listens on %s\n", ln.Addr())
	if err := server.Serve(ln); err != nil {
		return err
	}
	return <-shutDown
}

const page = `<!doctype html>
<title>chat</title>
<form onsubmit="socket.send(text.value); text.value = ''; return false"><input id="text" autofocus> <button>send</button></form>
<ul id="list"></ul>
<script>
const socket = new WebSocket(location.href.replace(/^http/, 'ws') + 'chat')
socket.onmessage = e => {
	const item = document.createElement('li')
	item.textContent = e.data
	list.prepend(item)
}
</script>
`

func (r *room) serve(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/":
		ctx.Success("text/html; charset=utf-8", []byte(page))
	case "/chat":
		if err := upgrade(ctx); err != nil {
			ctx.Response.Header.Set("Sec-WebSocket-Version", "13")
			ctx.SetStatusCode(fasthttp.StatusUpgradeRequired)
			ctx.SetBodyString(err.Error())
			return
		}
		ctx.Hijack(r.join)
	default:
		ctx.NotFound()
	}
}

// upgrade sets the response to the server's side of the handshake (RFC 6455 section
// 4.2).
func upgrade(ctx *fasthttp.RequestCtx) error {
	h := &ctx.Request.Header
	key := h.Peek("Sec-WebSocket-Key")
	decoded, err := base64.StdEncoding.DecodeString(string(key))
	switch {
	case !ctx.IsGet() || !h.ConnectionUpgrade() || !bytes.EqualFold(h.Peek("Upgrade"), []byte("websocket")):
		return fmt.Errorf("this is for WebSocket connections")
	case string(h.Peek("Sec-WebSocket-Version")) != "13":
		return fmt.Errorf("the version of WebSocket must be 13")
	case err != nil || len(decoded) != 16:
		return fmt.Errorf("the key must be 16 bytes in base64")
	case !sameOrigin(string(h.Peek("Origin")), string(h.Host())):
		// browsers allow pages of other sites to connect, with the cookies of the user
		return fmt.Errorf("pages of other origins must not connect")
	}
	sum := sha1.Sum(append(bytes.Clone(key), "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"...))
	ctx.SetStatusCode(fasthttp.StatusSwitchingProtocols)
	ctx.Response.Header.Set("Connection", "Upgrade")
	ctx.Response.Header.Set("Upgrade", "websocket")
	ctx.Response.Header.Set("Sec-WebSocket-Accept", base64.StdEncoding.EncodeToString(sum[:]))
	return nil
}

// sameOrigin reports whether the request is from a page of this host, or not from a
// browser.
func sameOrigin(origin, host string) bool {
	if origin == "" {
		return true
	}
	_, authority, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(authority, host)
}

const (
	// maxMessage is the largest size of a message in bytes. A larger one ends the
	// connection.
	maxMessage = 4 << 10
	// queue is how many messages may wait for a slow member. A member with more is
	// disconnected, so that the other members need not wait.
	queue = 64
	// pingEvery is the time between pings, which keep connections alive. patience is how long
	// a member may be silent, or take to receive a message.
	pingEvery = 20 * time.Second
	patience  = time.Minute
)

// room has the members of the chat.
type room struct {
	mu      sync.Mutex
	members map[*member]struct{}
	closed  bool
}

type member struct {
	conn net.Conn
	out  chan string // closed when the member leaves
}

// join is the HijackHandler. The connection is closed when join returns.
func (r *room) join(conn net.Conn) {
	m := &member{conn, make(chan string, queue)}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.members[m] = struct{}{}
	r.mu.Unlock()

	var writer sync.WaitGroup
	writer.Go(m.write)
	m.read(r.send)
	r.leave(m)
	_ = conn.Close()
	writer.Wait()
}

// read sends the member's messages to the room.
func (m *member) read(say func(string)) {
	// browsers send no pings, so the reader need not answer any: only the writer sends
	// frames
	reader := wsutil.Reader{Source: m.conn, State: ws.StateServerSide, CheckUTF8: true, MaxFrameSize: maxMessage}
	for {
		_ = m.conn.SetReadDeadline(time.Now().Add(patience))
		head, err := reader.NextFrame()
		if err != nil || head.OpCode == ws.OpClose {
			return
		}
		text, err := io.ReadAll(io.LimitReader(&reader, maxMessage+1))
		if err != nil || len(text) > maxMessage {
			return
		}
		if head.OpCode == ws.OpText {
			say(string(text))
		}
	}
}

// write sends the messages of the room to the member.
func (m *member) write() {
	ticker := time.NewTicker(pingEvery)
	defer ticker.Stop()
	for {
		var frame ws.Frame
		select {
		case text, ok := <-m.out:
			if !ok {
				_ = ws.WriteFrame(m.conn, ws.NewCloseFrame(ws.NewCloseFrameBody(ws.StatusGoingAway, "")))
				return
			}
			frame = ws.NewTextFrame([]byte(text))
		case <-ticker.C:
			frame = ws.NewPingFrame(nil)
		}
		_ = m.conn.SetWriteDeadline(time.Now().Add(patience))
		if ws.WriteFrame(m.conn, frame) != nil {
			// the reader notices the end of the connection
			_ = m.conn.Close()
		}
	}
}

// send sends a message to all members.
func (r *room) send(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for m := range r.members {
		select {
		case m.out <- text:
		default:
			r.remove(m)
		}
	}
}

func (r *room) leave(m *member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(m)
}

// remove removes a member. Its writer sends a close frame, and its reader ends with the
// connection.
func (r *room) remove(m *member) {
	if _, ok := r.members[m]; ok {
		delete(r.members, m)
		close(m.out)
		_ = m.conn.SetReadDeadline(time.Now().Add(time.Second))
	}
}

// close removes all members.
func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for m := range r.members {
		r.remove(m)
	}
}

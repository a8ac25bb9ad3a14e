package websocket_test

import (
	"cmp"
	"net"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/websocket"
)

// closing is how long a closing handshake may take if its time is not the subject of a test.
const closing = 2 * servertest.Patience

type socketServer = servertest.Running[*fasthttp.Server]

// socketStarter starts a server whose sockets have the handler.
type socketStarter func(h *websocket.Handler) *socketServer

// prepareServer sets the engine of a server.
var prepareServer = roottest.Prepare

// forEachSocketEngine runs a test on every engine.
func forEachSocketEngine(t *testing.T, test func(t *testing.T, start socketStarter)) {
	forEachSocketEngineOf(t, &websocket.Upgrader{Subprotocols: []string{"chat"}}, test)
}

// forEachSocketEngineOf is forEachSocketEngine for sockets of u.
func forEachSocketEngineOf(t *testing.T, u *websocket.Upgrader, test func(t *testing.T, start socketStarter)) {
	servertest.ForEachEngine(t, prepareServer, func(t *testing.T, start servertest.Starter[*fasthttp.Server]) {
		test(t, func(h *websocket.Handler) *socketServer {
			h.CloseTimeout = cmp.Or(h.CloseTimeout, u.CloseTimeout, closing)
			h.WriteTimeout = cmp.Or(h.WriteTimeout, u.WriteTimeout, closing)
			return start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
				_ = u.Serve(ctx, h, string(ctx.Path()))
			}})
		})
	})
}

// socketPeer is a client of a socket.
type socketPeer struct {
	*servertest.Conn
	ws    ws.Conn
	in    []byte
	space []byte // for a read
	parts ws.Assembler
}

const socketKey = "dGhlIHNhbXBsZSBub25jZQ=="

func socketRequest(path string, fields ...string) string {
	return servertest.Get(path, append([]string{"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + socketKey}, fields...)...)
}

// dialSocket performs the opening handshake, and sends bytes right after the request.
func dialSocket(ts *socketServer, path string, ahead []byte, fields ...string) *socketPeer {
	ts.T.Helper()
	limits := &ws.Limits{Message: -1}
	limits.Fill()
	p := &socketPeer{Conn: ts.Dial()}
	p.ws.Init(ws.Client, limits, ws.Extensions{})
	p.parts.Limit = -1
	p.Send(socketRequest(path, fields...) + string(ahead))
	resp := p.Next("GET")
	if resp.StatusCode != 101 || !ws.Accepts([]byte(resp.Header.Get("Sec-WebSocket-Accept")), []byte(socketKey)) {
		ts.T.Fatalf("got %d %v", resp.StatusCode, resp.Header)
	}
	return p
}

// socketFrame returns a frame of a client.
func socketFrame(opcode ws.Opcode, payload string) []byte {
	return ws.AppendFrame(nil, ws.Head{Opcode: opcode, Fin: true, Masked: true, Key: 0x12345678}, []byte(payload))
}

// say sends a message or a control frame.
func (p *socketPeer) say(opcode ws.Opcode, payload string) {
	p.T.Helper()
	p.Send(string(socketFrame(opcode, payload)))
}

// next returns the next message or control frame of the server, or ok false at the end.
func (p *socketPeer) next() (ev ws.Event, payload string, ok bool) {
	for {
		n, err := p.ws.Feed(p.in, &ev)
		p.in = p.in[n:]
		if err != nil {
			p.T.Fatalf("the server has made a fault: %v", err)
		}
		switch ev.Opcode {
		case ws.Continuation:
			if p.space == nil {
				p.space = make([]byte, 64<<10)
			}
			n, err := p.R.Read(p.space)
			if n == 0 && err != nil {
				return ev, "", false
			}
			p.in = append(p.in, p.space[:n]...)
		case ws.Text, ws.Binary:
			message, err := p.parts.Add(&ev)
			servertest.Must(p.T, err)
			if ev.End {
				payload = string(message)
				p.parts.Release()
				return ev, payload, true
			}
		default:
			return ev, string(ev.Payload), true
		}
	}
}

// expect receives a message or a control frame.
func (p *socketPeer) expect(opcode ws.Opcode, payload string) {
	p.T.Helper()
	p.Renew()
	ev, got, ok := p.next()
	if !ok || ev.Opcode != opcode || got != payload {
		p.T.Fatalf("got %v %.100q (there is one: %v), want %v %.100q", ev.Opcode, got, ok, opcode, payload)
	}
}

// expectClose receives a Close frame.
func (p *socketPeer) expectClose(code int, reason string) {
	p.T.Helper()
	ev, got, ok := p.next()
	if !ok || ev.Opcode != ws.Close || int(ev.Code) != code || got != reason {
		p.T.Fatalf("got %v %d %q (there is one: %v), want a Close frame with %d %q", ev.Opcode, ev.Code, got, ok, code, reason)
	}
}

// answerClose answers a Close frame, after which the server ends the connection, and ends the
// client's side, for which the server would wait a while.
func (p *socketPeer) answerClose(code int) {
	p.T.Helper()
	b, err := ws.AppendClose(nil, ws.Code(code), "")
	servertest.Must(p.T, err)
	p.say(ws.Close, string(b))
	p.expectNothing()
	_ = p.Close()
}

// expectNothing waits for the end of the connection.
func (p *socketPeer) expectNothing() {
	p.T.Helper()
	if ev, got, ok := p.next(); ok {
		p.T.Fatalf("got %v %.100q", ev.Opcode, got)
	}
}

// socketEnd is a call of OnClose.
type socketEnd struct {
	s    *websocket.Socket
	code int
	err  error
}

// ends returns an OnClose and its calls.
func ends() (func(s *websocket.Socket, code int, err error), <-chan socketEnd) {
	calls := make(chan socketEnd, 1000)
	return func(s *websocket.Socket, code int, err error) { calls <- socketEnd{s, code, err} }, calls
}

// echoMessage answers each message with itself.
func echoMessage(s *websocket.Socket, m websocket.Message) {
	if err := s.Send(m.Type, m.Data); err != nil {
		s.Abort()
	}
}

// memoryServer returns a server in memory, and a function that connects to it, for tests of time.
func memoryServer(t *testing.T, h *websocket.Handler) (dial func() net.Conn, stop func()) {
	ln, connect := servertest.ListenMemory(t)
	u := &websocket.Upgrader{}
	s := &fasthttp.Server{Logger: &servertest.Log{}, Handler: func(ctx *fasthttp.RequestCtx) { _ = u.Serve(ctx, h, nil) }}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	return func() net.Conn {
			nc, err := connect()
			servertest.Must(t, err)
			return nc
		}, func() {
			servertest.Must(t, s.Shutdown())
			servertest.Must(t, servertest.Receive(t, "the end of Serve", served))
		}
}

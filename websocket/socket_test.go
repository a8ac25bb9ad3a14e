package websocket_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/websocket"
)

func TestSocketEchoes(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		onClose, ended := ends()
		opened := make(chan *websocket.Socket, 1)
		h := &websocket.Handler{OnMessage: echoMessage, OnClose: onClose, OnOpen: func(s *websocket.Socket) { opened <- s }}
		ts := start(h)
		ahead := append(socketFrame(ws.Text, "sent early"), socketFrame(ws.Binary, "and this")...)
		p := dialSocket(ts, "/data", ahead, "Sec-WebSocket-Protocol: other, chat")
		p.expect(ws.Text, "sent early")
		p.expect(ws.Binary, "and this")
		s := servertest.Receive(t, "OnOpen", opened)
		if s.Data() != "/data" || s.Subprotocol() != "chat" {
			t.Errorf("data %v, subprotocol %q", s.Data(), s.Subprotocol())
		}
		for _, size := range []int{0, 1, 125, 126, 4096, 65535, 65536, 1 << 20} {
			text := strings.Repeat("ä", size/2) + strings.Repeat("a", size%2)
			go p.say(ws.Text, text)
			p.expect(ws.Text, text)
		}
		// in fragments, with a Ping frame between them
		key := uint32(0x01020304)
		frames := ws.AppendFrame(nil, ws.Head{Opcode: ws.Text, Masked: true, Key: key}, []byte("in \xc3"))
		frames = append(frames, socketFrame(ws.Ping, "there?")...)
		frames = ws.AppendFrame(frames, ws.Head{Opcode: ws.Continuation, Masked: true, Key: key}, []byte("\xa4 "))
		frames = ws.AppendFrame(frames, ws.Head{Opcode: ws.Continuation, Masked: true, Key: key, Fin: true}, []byte("parts"))
		for _, b := range frames {
			p.Send(string([]byte{b}))
		}
		p.expect(ws.Pong, "there?")
		p.expect(ws.Text, "in ä parts")
		// many messages in flight are answered in order
		var all []byte
		for i := range 2000 {
			all = append(all, socketFrame(ws.Text, fmt.Sprint(i))...)
		}
		go p.Send(string(all))
		for i := range 2000 {
			p.expect(ws.Text, fmt.Sprint(i))
		}
		b, _ := ws.AppendClose(nil, 4321, "bye")
		p.say(ws.Close, string(b))
		p.expectClose(4321, "")
		p.expectNothing()
		end := servertest.Receive(t, "OnClose", ended)
		var closed *websocket.CloseError
		if end.s != s || end.code != 4321 || !errors.As(end.err, &closed) || closed.Text != "bye" {
			t.Errorf("ended with %d, %v", end.code, end.err)
		}
		if err := s.Send(websocket.TextMessage, nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Send after the end: %v", err)
		}
		if err := s.Close(1000, ""); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Close after the end: %v", err)
		}
	})
}

func TestSocketEndsForFaultsOfThePeer(t *testing.T) {
	t.Parallel()
	unmasked := ws.AppendFrame(nil, ws.Head{Opcode: ws.Text, Fin: true}, []byte("hello"))
	large := ws.AppendHead(nil, ws.Head{Opcode: ws.Text, Fin: true, Masked: true}, 1001)
	fragments := ws.AppendFrame(nil, ws.Head{Opcode: ws.Binary, Masked: true}, make([]byte, 900))
	fragments = ws.AppendHead(fragments, ws.Head{Opcode: ws.Continuation, Masked: true}, 900)
	for _, tt := range []struct {
		name  string
		bytes []byte
		code  int
	}{
		{"an unmasked frame", unmasked, 1002},
		{"text that is not UTF-8", socketFrame(ws.Text, "\xff"), 1007},
		{"a large message", large, 1009},
		{"large fragments", fragments, 1009},
		{"a reserved bit", []byte{0xf1, 0x80, 0, 0, 0, 0}, 1002},
		{"the length of another world", []byte{0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 1002},
	} {
		t.Run(tt.name, func(t *testing.T) {
			forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
				onClose, ended := ends()
				ts := start(&websocket.Handler{MaxMessage: 1000, OnMessage: echoMessage, OnClose: onClose})
				p := dialSocket(ts, "/", socketFrame(ws.Text, "fine"))
				p.expect(ws.Text, "fine")
				p.Send(string(tt.bytes) + string(socketFrame(ws.Text, "ignored")))
				p.expectClose(tt.code, "")
				p.expectNothing()
				if end := servertest.Receive(t, "OnClose", ended); end.code != tt.code || end.err == nil {
					t.Errorf("ended with %d, %v", end.code, end.err)
				}
			})
		})
	}
}

func TestSocketClosesAfterItsMessages(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		onClose, ended := ends()
		opened := make(chan *websocket.Socket, 1)
		ts := start(&websocket.Handler{CloseTimeout: servertest.Patience, OnMessage: echoMessage, OnClose: onClose, OnOpen: func(s *websocket.Socket) { opened <- s }})
		p := dialSocket(ts, "/", nil)
		s := servertest.Receive(t, "OnOpen", opened)
		servertest.Must(t, s.Send(websocket.BinaryMessage, make([]byte, 100<<10)))
		servertest.Must(t, s.Close(websocket.CloseNormalClosure, "enough"))
		for _, err := range []error{s.Close(1000, ""), s.Send(websocket.TextMessage, nil), s.Ping(nil)} {
			if err != websocket.ErrCloseSent {
				t.Errorf("after Close: %v", err)
			}
		}
		p.expect(ws.Binary, string(make([]byte, 100<<10)))
		p.expectClose(1000, "enough")
		p.answerClose(1000)
		if end := servertest.Receive(t, "OnClose", ended); end.code != 1000 {
			t.Errorf("ended with %d, %v", end.code, end.err)
		}
		if err := s.Close(99, ""); err == nil {
			t.Error("Close takes any code")
		}
	})
}

// Messages that have arrived together with the one that makes the application abort are not handled.
func TestSocketHandlesNothingAfterAbort(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		onClose, ended := ends()
		got := make(chan string, 10)
		ts := start(&websocket.Handler{OnClose: onClose, OnMessage: func(s *websocket.Socket, m websocket.Message) {
			got <- string(m.Data)
			s.Abort()
		}})
		dialSocket(ts, "/", slices.Concat(socketFrame(ws.Text, "first"), socketFrame(ws.Text, "second"), socketFrame(ws.Close, "")))
		if end := servertest.Receive(t, "OnClose", ended); end.code != websocket.CloseAbnormalClosure || !errors.Is(end.err, net.ErrClosed) {
			t.Errorf("ended with %d, %v", end.code, end.err)
		}
		if n := len(got); n != 1 {
			t.Errorf("%d messages are handled", n)
		}
	})
}

// A peer that vanishes has no Close frame.
func TestSocketEndsWithThePeer(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		onClose, ended := ends()
		ts := start(&websocket.Handler{OnMessage: echoMessage, OnClose: onClose})
		p := dialSocket(ts, "/", socketFrame(ws.Text, "hello"))
		p.expect(ws.Text, "hello")
		_ = p.Conn.Close()
		if end := servertest.Receive(t, "OnClose", ended); end.code != websocket.CloseAbnormalClosure || !errors.Is(end.err, io.ErrUnexpectedEOF) {
			t.Errorf("ended with %d, %v", end.code, end.err)
		}
	})
}

// OnMessage may block: other goroutines send, and the messages stay in order.
func TestSocketSendsWhileOnMessageBlocks(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		g := servertest.NewGate()
		sockets := make(chan *websocket.Socket, 1)
		ts := start(&websocket.Handler{
			OnOpen: func(s *websocket.Socket) { sockets <- s },
			OnMessage: func(s *websocket.Socket, m websocket.Message) {
				echoMessage(s, m)
				if string(m.Data) == "block" {
					g.Pass("block")
				}
			},
		})
		p := dialSocket(ts, "/", append(socketFrame(ws.Text, "block"), socketFrame(ws.Text, "next")...))
		p.expect(ws.Text, "block")
		s := servertest.Receive(t, "OnOpen", sockets)
		servertest.Receive(t, "OnMessage", g.Entered)
		for i := range 10 {
			servertest.Must(t, s.Send(websocket.TextMessage, fmt.Append(nil, i)))
			p.expect(ws.Text, fmt.Sprint(i))
		}
		close(g.Open)
		p.expect(ws.Text, "next")
	})
}

func TestSocketQueueIsBounded(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		sockets, drained := make(chan *websocket.Socket, 1), make(chan int, 10)
		h := &websocket.Handler{
			MaxQueue: 256 << 10,
			OnOpen:   func(s *websocket.Socket) { sockets <- s },
			OnDrain:  func(s *websocket.Socket) { drained <- s.Queued() },
		}
		ts := start(h)
		p := dialSocket(ts, "/", nil)
		s := servertest.Receive(t, "OnOpen", sockets)
		payload := []byte(strings.Repeat("q", 10000))
		sent := 0
		servertest.Soon(t, "Send", func() {
			var err error
			for ; err == nil; sent++ {
				err = s.Send(websocket.TextMessage, payload)
			}
			if err != websocket.ErrQueueFull || s.Queued() > 256<<10 {
				t.Errorf("%v with %d bytes in the queue", err, s.Queued())
			}
		})
		for range sent - 1 {
			p.expect(ws.Text, string(payload))
		}
		if n := servertest.Receive(t, "OnDrain", drained); n > 128<<10 {
			t.Errorf("OnDrain with %d bytes in the queue", n)
		}
		sent = 0
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var err error
		for err == nil {
			// sockets may still take some of the queue
			if err = s.SendWait(ctx, websocket.TextMessage, payload); err == nil {
				sent++
			}
		}
		if err != context.Canceled {
			t.Errorf("SendWait: %v", err)
		}
		waited := make(chan error, 1)
		go func() { waited <- s.SendWait(t.Context(), websocket.TextMessage, []byte("waited")) }()
		for range sent {
			p.expect(ws.Text, string(payload))
		}
		servertest.Must(t, servertest.Receive(t, "SendWait", waited))
		p.expect(ws.Text, "waited")
	})
}

// A peer that sends Ping frames and reads none of the answers is no longer read itself.
func TestSocketAnswersPingsWithinBounds(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		sockets := make(chan *websocket.Socket, 1)
		ts := start(&websocket.Handler{WriteTimeout: -1, OnMessage: echoMessage, OnOpen: func(s *websocket.Socket) { sockets <- s }})
		p := dialSocket(ts, "/", nil)
		s := servertest.Receive(t, "OnOpen", sockets)
		// more than the system holds for the connection
		const pings, together = 100_000, 50
		ping := bytes.Repeat(socketFrame(ws.Ping, strings.Repeat("p", ws.MaxControl)), together)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for range pings / together {
				if _, err := p.Write(ping); err != nil {
					return
				}
			}
		}()
		most, want := 0, strings.Repeat("p", ws.MaxControl)
		for i := range pings {
			if i%1000 == 0 {
				// a busy machine takes long for all of them
				servertest.Must(t, p.SetDeadline(time.Now().Add(servertest.Patience)))
			}
			most = max(most, s.Queued())
			p.expect(ws.Pong, want)
		}
		servertest.Receive(t, "the end of the sender", sent)
		if most > 256<<10 {
			t.Errorf("%d bytes of answers waited", most)
		}
	})
}

// SendWait may be called by OnMessage for more than the queue holds.
func TestSocketSendsMuchInOnMessage(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		payload := []byte(strings.Repeat("m", 100<<10))
		ts := start(&websocket.Handler{MaxQueue: 128 << 10, OnMessage: func(s *websocket.Socket, m websocket.Message) {
			for range 100 {
				if err := s.SendWait(t.Context(), websocket.BinaryMessage, payload); err != nil {
					t.Errorf("SendWait: %v", err)
				}
			}
		}})
		p := dialSocket(ts, "/", append(socketFrame(ws.Text, "go"), socketFrame(ws.Text, "again")...))
		for range 200 {
			p.expect(ws.Binary, string(payload))
		}
	})
}

func TestShutdownClosesSockets(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		g := servertest.NewGate()
		onClose, ended := ends()
		ts := start(&websocket.Handler{OnClose: onClose, OnMessage: func(s *websocket.Socket, m websocket.Message) {
			if string(m.Data) == "block" {
				g.Pass("block")
			}
			echoMessage(s, m)
		}})
		idle := dialSocket(ts, "/", socketFrame(ws.Text, "hello"))
		idle.expect(ws.Text, "hello")
		busy := dialSocket(ts, "/", socketFrame(ws.Text, "block"))
		servertest.Receive(t, "OnMessage", g.Entered)
		done := make(chan error, 1)
		go func() { done <- ts.S.Shutdown() }()
		idle.expectClose(websocket.CloseGoingAway, "")
		idle.answerClose(1001)
		close(g.Open)
		busy.expect(ws.Text, "block")
		busy.expectClose(websocket.CloseGoingAway, "")
		busy.answerClose(1001)
		servertest.Must(t, servertest.Receive(t, "end of Shutdown", done))
		for range 2 {
			if end := servertest.Receive(t, "OnClose", ended); end.code != 1001 {
				t.Errorf("ended with %d, %v", end.code, end.err)
			}
		}
	})
}

func TestSocketEndsWithAPanicOfItsHandler(t *testing.T) {
	t.Parallel()
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		onClose, ended := ends()
		ts := start(&websocket.Handler{OnClose: onClose, OnMessage: func(s *websocket.Socket, m websocket.Message) {
			panic("a panic of OnMessage")
		}})
		p := dialSocket(ts, "/", socketFrame(ws.Text, "hello"))
		p.expectNothing()
		if end := servertest.Receive(t, "OnClose", ended); end.code != websocket.CloseAbnormalClosure || end.err == nil {
			t.Errorf("ended with %d, %v", end.code, end.err)
		}
		ts.Log.WaitFor(t, "a panic of OnMessage")
	})
}

// A refused request leaves the connection to HTTP.
func TestServeRefusesRequests(t *testing.T) {
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		ts := start(&websocket.Handler{})
		c := ts.Dial()
		c.Send(servertest.Get("/"))
		if resp := c.Next("GET"); resp.StatusCode != 426 {
			t.Errorf("status %d", resp.StatusCode)
		}
		c.Send(socketRequest("/", "Origin: https://elsewhere.test"))
		if resp := c.Next("GET"); resp.StatusCode != 403 {
			t.Errorf("status %d", resp.StatusCode)
		}
		c.Send(socketRequest("/", "Sec-WebSocket-Extensions: permessage-deflate"))
		if resp := c.Next("GET"); resp.StatusCode != 101 || resp.Header.Get("Sec-WebSocket-Extensions") != "" {
			t.Errorf("got %d %v", resp.StatusCode, resp.Header)
		}
	})
}

// socketBubble runs a test of time with a client in memory, after the opening handshake.
func socketBubble(t *testing.T, h *websocket.Handler, test func(t *testing.T, p *socketPeer)) {
	servertest.Bubble(t, func(t *testing.T) {
		dial, stop := memoryServer(t, h)
		nc := dial()
		p := &socketPeer{Conn: &servertest.Conn{Conn: nc, T: t, R: bufio.NewReader(nc)}}
		p.parts.Limit = -1
		limits := new(ws.Limits)
		limits.Fill()
		p.ws.Init(ws.Client, limits, ws.Extensions{})
		p.Send(socketRequest("/"))
		if resp := p.Next("GET"); resp.StatusCode != 101 {
			t.Fatalf("status %d", resp.StatusCode)
		}
		test(t, p)
		_ = nc.Close()
		stop()
	})
}

func TestSocketPingsItsPeer(t *testing.T) {
	onClose, ended := ends()
	h := &websocket.Handler{PingInterval: 10 * time.Second, PongTimeout: 5 * time.Second, OnMessage: echoMessage, OnClose: onClose}
	socketBubble(t, h, func(t *testing.T, p *socketPeer) {
		for range 3 {
			began := time.Now()
			p.expect(ws.Ping, "")
			if d := time.Since(began); d < 8*time.Second || d > 11*time.Second {
				t.Errorf("a ping after %v", d)
			}
			p.say(ws.Pong, "")
			synctest.Wait()
		}
		// the time begins with the last byte that has arrived
		for _, pause := range []time.Duration{time.Second, 5 * time.Second, 7 * time.Second} {
			time.Sleep(pause) // bubble: socketBubble
			p.say(ws.Text, "alive")
			p.expect(ws.Text, "alive")
			began := time.Now()
			p.expect(ws.Ping, "")
			if d := time.Since(began); d < 8*time.Second || d > 11*time.Second {
				t.Errorf("a ping %v after a message", d)
			}
			p.say(ws.Pong, "")
			synctest.Wait()
		}
		// a peer that sends needs no pings, and is not cut off
		for range 20 {
			time.Sleep(5 * time.Second) // bubble: socketBubble
			p.say(ws.Text, "alive")
			p.expect(ws.Text, "alive")
		}
		p.expect(ws.Ping, "")
		began := time.Now()
		p.expectNothing()
		if d := time.Since(began); d < 5*time.Second || d > 6*time.Second {
			t.Errorf("ended %v after the ping", d)
		}
		if end := <-ended; end.code != websocket.CloseAbnormalClosure || end.err != websocket.ErrPongTimeout {
			t.Errorf("ended with %d, %v", end.code, end.err)
		}
	})
}

func TestSocketNeedNotAnswerPings(t *testing.T) {
	onClose, ended := ends()
	h := &websocket.Handler{PingInterval: 10 * time.Second, PongTimeout: -1, OnMessage: echoMessage, OnClose: onClose}
	socketBubble(t, h, func(t *testing.T, p *socketPeer) {
		for range 5 {
			p.expect(ws.Ping, "")
		}
		p.say(ws.Text, "there")
		p.expect(ws.Text, "there")
		p.expect(ws.Ping, "")
		if len(ended) > 0 {
			t.Errorf("ended with %v", <-ended)
		}
	})
}

func TestSocketLimitsTheClosingHandshake(t *testing.T) {
	onClose, ended := ends()
	h := &websocket.Handler{CloseTimeout: 7 * time.Second, OnClose: onClose, OnMessage: func(s *websocket.Socket, m websocket.Message) {
		_ = s.Close(websocket.CloseNormalClosure, "")
	}}
	socketBubble(t, h, func(t *testing.T, p *socketPeer) {
		p.say(ws.Text, "close")
		p.expectClose(1000, "")
		began := time.Now()
		p.expectNothing()
		if d := time.Since(began); d < 7*time.Second || d > 8*time.Second {
			t.Errorf("ended after %v", d)
		}
		if end := <-ended; end.code != websocket.CloseAbnormalClosure || !errors.Is(end.err, os.ErrDeadlineExceeded) {
			t.Errorf("ended with %d, %v", end.code, end.err)
		}
	})
}

func TestSocketNeedNotWaitForTheClosingHandshake(t *testing.T) {
	t.Parallel()
	onClose, ended := ends()
	h := &websocket.Handler{CloseTimeout: -1, OnClose: onClose, OnOpen: func(s *websocket.Socket) {
		_ = s.Close(websocket.CloseGoingAway, "at once")
	}}
	forEachSocketEngine(t, func(t *testing.T, start socketStarter) {
		p := dialSocket(start(h), "/", nil)
		p.expectClose(1001, "at once")
		p.expectNothing()
		servertest.Receive(t, "OnClose", ended)
	})
}

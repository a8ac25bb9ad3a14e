package websocket_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
	"github.com/valyala/fasthttp/internal/wsflate"
	"github.com/valyala/fasthttp/websocket"
)

// socketCompressions are parameters on which server and client agree.
var socketCompressions = []struct {
	name string
	c    websocket.Compression
}{
	{"alone", websocket.Compression{Threshold: -1}},
	{"takeover", websocket.Compression{Threshold: -1, ContextTakeover: true, Level: 6}},
	{"small window", websocket.Compression{Threshold: -1, WindowBits: 9}},
	{"small window with takeover", websocket.Compression{ContextTakeover: true, WindowBits: 9}},
}

// dialCompressed connects a Conn with compression.
func dialCompressed(ts *socketServer, c websocket.Compression) *websocket.Conn {
	ts.T.Helper()
	d := websocket.Dialer{EnableCompression: true, Compression: c, ReadLimit: -1}
	d.NetDial = func(string, string) (net.Conn, error) { return ts.Dialer() }
	conn, resp, err := d.Dial("ws://example.com/", nil)
	servertest.Must(ts.T, err)
	if !strings.HasPrefix(resp.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate") {
		ts.T.Fatalf("no compression was agreed on: %v", resp.Header)
	}
	ts.T.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// expectOf receives a message of a Conn.
func expectOf(t *testing.T, c *websocket.Conn, messageType int, want []byte) {
	t.Helper()
	gotType, p, err := c.ReadMessage()
	if err != nil || gotType != messageType || !bytes.Equal(p, want) {
		t.Fatalf("got a message of type %d and %d bytes (%.40q), %v, want type %d and %d bytes (%.40q)", gotType, len(p), p, err, messageType, len(want), want)
	}
}

// packed returns a compressed message that refers to no other.
func packed(p []byte) []byte {
	d := wsflate.Deflater{Level: 9, Bits: wsflate.MaxBits}
	var b bufpool.Buffer
	d.Compress(&b, p)
	return b.B
}

// packedFrame returns a frame of a client, of a compressed message or its beginning.
func packedFrame(opcode ws.Opcode, payload []byte, fin bool) []byte {
	h := ws.Head{Opcode: opcode, Fin: fin, RSV1: opcode != ws.Continuation, Masked: true, Key: 0x9abcdef0}
	return ws.AppendFrame(nil, h, payload)
}

func TestSocketCompresses(t *testing.T) {
	t.Parallel()
	for _, tt := range servertest.Some(t, socketCompressions) {
		t.Run(tt.name, func(t *testing.T) {
			u := &websocket.Upgrader{EnableCompression: true, Compression: tt.c}
			forEachSocketEngineOf(t, u, func(t *testing.T, start socketStarter) {
				c := dialCompressed(start(&websocket.Handler{OnMessage: echoMessage}), tt.c)
				for _, size := range []int{0, 1, 125, 126, 5000, 65535, 65536, 300_000} {
					for i, p := range [][]byte{servertest.SampleText(size), servertest.Noise(size)} {
						messageType := []int{websocket.TextMessage, websocket.BinaryMessage}[i]
						sent := make(chan error, 1)
						go func() { sent <- c.WriteMessage(messageType, p) }()
						expectOf(t, c, messageType, p)
						servertest.Must(t, servertest.Receive(t, "the end of a write", sent))
						// in fragments
						w, err := c.NextWriter(messageType)
						servertest.Must(t, err)
						go func() {
							_, _ = w.Write(p)
							sent <- w.Close()
						}()
						expectOf(t, c, messageType, p)
						servertest.Must(t, servertest.Receive(t, "the end of a write", sent))
					}
				}
				go func() {
					for i := range 1000 {
						_ = c.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, "message %d of many", i))
					}
				}()
				for i := range 1000 {
					expectOf(t, c, websocket.TextMessage, fmt.Appendf(nil, "message %d of many", i))
				}
			})
		})
	}
}

// The frames show which messages are compressed.
func TestSocketCompressesFromItsThresholdOn(t *testing.T) {
	t.Parallel()
	u := &websocket.Upgrader{EnableCompression: true, Compression: websocket.Compression{Threshold: 100}}
	forEachSocketEngineOf(t, u, func(t *testing.T, start socketStarter) {
		ts := start(&websocket.Handler{OnMessage: echoMessage})
		p := dialSocket(ts, "/", nil, "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=10")
		limits := new(ws.Limits)
		limits.Fill()
		p.ws.Init(ws.Client, limits, ws.Extensions{Compression: true})
		for _, size := range []int{99, 100, 10_000} {
			text := strings.Repeat("a", size)
			p.say(ws.Text, text)
			ev, got, ok := p.next()
			if !ok || ev.Opcode != ws.Text || ev.Compressed != (size >= 100) {
				t.Fatalf("%d bytes: got %v, compressed %v (there is one: %v)", size, ev.Opcode, ev.Compressed, ok)
			}
			if !ev.Compressed {
				if got != text {
					t.Errorf("%d bytes: got %.100q", size, got)
				}
				continue
			}
			if len(got) > 60 {
				t.Errorf("%d bytes were compressed to %d", size, len(got))
			}
			i := wsflate.Inflater{Bits: 10}
			var b bufpool.Buffer
			if err := i.Decompress(&b, []byte(got), -1); err != nil || string(b.B) != text {
				t.Errorf("%d bytes: %v, %.100q", size, err, b.B)
			}
		}
		// a peer without compression
		plain := dialSocket(ts, "/", socketFrame(ws.Text, strings.Repeat("b", 200)))
		plain.expect(ws.Text, strings.Repeat("b", 200))
	})
}

// The limit holds while messages are decompressed, and text is checked afterwards.
func TestSocketEndsForFaultsInCompressedMessages(t *testing.T) {
	t.Parallel()
	bomb := packed(make([]byte, 16<<20))
	for _, tt := range []struct {
		name  string
		bytes []byte
		code  int
	}{
		{"a bomb", packedFrame(ws.Binary, packed(make([]byte, 1<<20)), true), 1009},
		{"a large bomb", packedFrame(ws.Binary, bomb, true), 1009},
		{"one byte too much", packedFrame(ws.Binary, packed(make([]byte, 10_001)), true), 1009},
		{"a bomb in fragments", append(packedFrame(ws.Binary, bomb[:1000], false), packedFrame(ws.Continuation, bomb[1000:1100], true)...), 1009},
		{"a bomb cut off", packedFrame(ws.Binary, bomb[:500], true), 1009},
		{"data that is not compressed", packedFrame(ws.Text, []byte("\xff\xff\xff"), true), 1007},
		{"a reference to nothing", packedFrame(ws.Text, []byte("\xf2\x00\x11\x00\x00"), true), 1007},
		{"text that is not UTF-8", packedFrame(ws.Text, packed([]byte("a\xffb")), true), 1007},
		{"text that ends within a character", packedFrame(ws.Text, packed([]byte("a\xe2\x82")), true), 1007},
		{"a compressed continuation", append(packedFrame(ws.Text, nil, false), 0xc0, 0x80, 0, 0, 0, 0), 1002},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u := &websocket.Upgrader{EnableCompression: true}
			forEachSocketEngineOf(t, u, func(t *testing.T, start socketStarter) {
				onClose, ended := ends()
				sizes := make(chan int, 10)
				ts := start(&websocket.Handler{MaxMessage: 10_000, OnClose: onClose, OnMessage: func(s *websocket.Socket, m websocket.Message) { sizes <- len(m.Data) }})
				p := dialSocket(ts, "/", packedFrame(ws.Text, packed(make([]byte, 10_000)), true), "Sec-WebSocket-Extensions: permessage-deflate")
				if n := servertest.Receive(t, "a message", sizes); n != 10_000 {
					t.Errorf("a message of %d bytes", n)
				}
				// the server may end the connection before all of it is sent
				go func() { _, _ = io.WriteString(p.Conn.Conn, string(tt.bytes)+string(socketFrame(ws.Text, "ignored"))) }()
				p.expectClose(tt.code, "")
				p.expectNothing()
				end := servertest.Receive(t, "OnClose", ended)
				if end.code != tt.code || (end.err == websocket.ErrReadLimit) != (tt.code == 1009) {
					t.Errorf("ended with %d, %v", end.code, end.err)
				}
				if len(sizes) > 0 {
					t.Errorf("OnMessage was called with %d bytes", <-sizes)
				}
			})
		})
	}
}

// A socket without a limit decompresses whatever arrives.
func TestSocketWithoutLimitDecompresses(t *testing.T) {
	t.Parallel()
	u := &websocket.Upgrader{EnableCompression: true}
	forEachSocketEngineOf(t, u, func(t *testing.T, start socketStarter) {
		c := dialCompressed(start(&websocket.Handler{MaxMessage: -1, OnMessage: echoMessage}), websocket.Compression{})
		p := make([]byte, 5<<20)
		servertest.Must(t, c.WriteMessage(websocket.BinaryMessage, p))
		expectOf(t, c, websocket.BinaryMessage, p)
	})
}

// Messages that refer to earlier ones are in order if goroutines send them, prepared ones are
// among them, or the queue is full in between.
func TestSocketKeepsItsContext(t *testing.T) {
	t.Parallel()
	for _, tt := range socketCompressions {
		t.Run(tt.name, func(t *testing.T) {
			u := &websocket.Upgrader{EnableCompression: true, Compression: tt.c}
			forEachSocketEngineOf(t, u, func(t *testing.T, start socketStarter) {
				sockets := make(chan *websocket.Socket, 1)
				ts := start(&websocket.Handler{MaxQueue: 64 << 10, OnOpen: func(s *websocket.Socket) { sockets <- s }})
				c := dialCompressed(ts, tt.c)
				s := servertest.Receive(t, "OnOpen", sockets)
				prepared, err := websocket.NewPreparedMessage(websocket.TextMessage, servertest.SampleText(3000))
				servertest.Must(t, err)
				const senders, messages = 4, 50
				var wg sync.WaitGroup
				for g := range senders {
					wg.Go(func() {
						for i := range messages {
							p := append(servertest.SampleText(2000), fmt.Sprint(g)...)
							if err := s.SendWait(t.Context(), websocket.TextMessage, p); err != nil {
								t.Errorf("SendWait: %v", err)
							}
							if i%10 != g {
								continue
							}
							if err := s.SendPrepared(prepared); err != nil && err != websocket.ErrQueueFull {
								t.Errorf("SendPrepared: %v", err)
							}
						}
					})
				}
				for got := 0; got < senders*messages; {
					_, p, err := c.ReadMessage()
					servertest.Must(t, err)
					switch len(p) {
					case 2001:
						got++
					case 3000:
					default:
						t.Fatalf("a message of %d bytes", len(p))
					}
				}
				wg.Wait()
				// the queue is full, and then empty again
				random := rand.NewChaCha8([32]byte{1})
				noise := make([]byte, 10_000)
				for range 2 {
					var sent [][]byte
					for err = nil; err == nil; {
						// a repetition would be compressed to a few bytes
						_, _ = random.Read(noise)
						if err = s.Send(websocket.BinaryMessage, noise); err == nil {
							sent = append(sent, bytes.Clone(noise))
						}
					}
					if err != websocket.ErrQueueFull {
						t.Fatal(err)
					}
					for len(sent) > 0 {
						_, p, err := c.ReadMessage()
						servertest.Must(t, err)
						if bytes.Equal(p, sent[0]) {
							sent = sent[1:]
						} else if len(p) != 3000 {
							t.Fatalf("a message of %d bytes", len(p))
						}
					}
				}
				servertest.Must(t, s.Close(websocket.CloseNormalClosure, ""))
				if err := s.Send(websocket.BinaryMessage, noise); err != websocket.ErrCloseSent {
					t.Errorf("Send after Close: %v", err)
				}
				if _, _, err := c.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
					t.Errorf("the end: %v", err)
				}
				servertest.Eventually(t, "the end of the socket", func() bool {
					return errors.Is(s.Send(websocket.BinaryMessage, noise), net.ErrClosed) && errors.Is(s.SendPrepared(prepared), net.ErrClosed)
				})
			})
		})
	}
}

// Members of a group may have agreed on different parameters.
func TestBroadcastToCompressedMembers(t *testing.T) {
	t.Parallel()
	u := &websocket.Upgrader{EnableCompression: true, Compression: websocket.Compression{ContextTakeover: true, Threshold: 100}}
	forEachSocketEngineOf(t, u, func(t *testing.T, start socketStarter) {
		var g websocket.Group
		h, joined := members(&g)
		ts := start(h)
		var conns []*websocket.Conn
		for _, tt := range socketCompressions {
			for range 2 {
				conns = append(conns, dialCompressed(ts, tt.c))
				servertest.Receive(t, "a member", joined)
			}
		}
		plain := dialSocket(ts, "/", nil)
		servertest.Receive(t, "a member", joined)
		for i := range 20 {
			for _, size := range []int{20, 4000} {
				m := text("%d: %s", i, servertest.SampleText(size))
				if sent, skipped := g.Broadcast(m, nil); sent != len(conns)+1 || skipped != 0 {
					t.Fatalf("sent to %d, skipped %d", sent, skipped)
				}
				for _, c := range conns {
					expectOf(t, c, websocket.TextMessage, m.Data)
					// the context of the socket itself
					servertest.Must(t, c.WriteMessage(websocket.TextMessage, m.Data))
					expectOf(t, c, websocket.TextMessage, m.Data)
				}
				plain.expect(ws.Text, string(m.Data))
			}
		}
	})
}

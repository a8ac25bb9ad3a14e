package websocket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

// compressions are the variants of compression for which messages are tested.
var compressions = []struct {
	name string
	on   bool
	c    Compression
}{
	{"plain", false, Compression{}},
	{"compressed", true, Compression{Threshold: -1}},
	{"takeover", true, Compression{Threshold: -1, ContextTakeover: true, Level: 6}},
	{"small window", true, Compression{ContextTakeover: true, WindowBits: 9}},
}

func TestMessagesReturnUnchanged(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, tt := range compressions {
			t.Run(tt.name, func(t *testing.T) {
				s := start(serving(&Upgrader{EnableCompression: tt.on, Compression: tt.c}, echo))
				c := dial(t, s, Dialer{EnableCompression: tt.on, Compression: tt.c})
				if c.compressed != tt.on {
					t.Fatal("the compression is not as agreed")
				}
				for _, size := range []int{0, 1, 125, 126, 5000, 65535, 65536, 300_000} {
					for i, p := range [][]byte{servertest.SampleText(size), servertest.Noise(size)} {
						messageType := []int{TextMessage, BinaryMessage}[i]
						servertest.Must(t, c.WriteMessage(messageType, p))
						expectMessage(t, c, messageType, p)
						// the same by writers and readers
						w, err := c.NextWriter(messageType)
						servertest.Must(t, err)
						for rest := p; len(rest) > 0; {
							n, err := w.Write(rest[:min(len(rest), 3000)])
							servertest.Must(t, err)
							rest = rest[n:]
						}
						servertest.Must(t, w.Close())
						if w.Close() == nil {
							t.Error("the second Close of a writer has no error")
						}
						got, r, err := c.NextReader()
						servertest.Must(t, err)
						q, err := io.ReadAll(r)
						if err != nil || got != messageType || !bytes.Equal(q, p) {
							t.Fatalf("got type %d and %d bytes, %v, want %d bytes", got, len(q), err, len(p))
						}
					}
				}
				servertest.Must(t, c.Close())
			})
		}
	})
}

// TestUnreadMessagesAreSkipped leaves messages unread in part.
func TestUnreadMessagesAreSkipped(t *testing.T) {
	for _, tt := range compressions {
		c, s := connPair(t, servertest.TCPPair, &Upgrader{EnableCompression: tt.on, Compression: tt.c}, &Dialer{EnableCompression: tt.on, Compression: tt.c})
		p := servertest.SampleText(100_000)
		go func() {
			for range 4 {
				_ = c.WriteMessage(TextMessage, p)
			}
		}()
		for _, n := range []int{0, 1, 50_000} {
			_, r, err := s.NextReader()
			servertest.Must(t, err)
			_, err = io.ReadFull(r, make([]byte, n))
			servertest.Must(t, err)
			defer func() {
				if _, err := r.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("%s: a reader of an earlier message returned %v", tt.name, err)
				}
			}()
		}
		expectMessage(t, s, TextMessage, p)
	}
}

// TestConcurrentWriters sends messages of all kinds from several goroutines.
func TestConcurrentWriters(t *testing.T) {
	t.Parallel()
	for _, tt := range compressions {
		t.Run(tt.name, func(t *testing.T) {
			const writers, messages = 6, 40
			c, s := connPair(t, servertest.TCPPair, &Upgrader{EnableCompression: tt.on, Compression: tt.c}, &Dialer{EnableCompression: tt.on, Compression: tt.c})
			pings := 0
			s.SetPingHandler(func(string) error { pings++; return nil })
			prepared, err := NewPreparedMessage(TextMessage, bytes.Repeat([]byte("p"), 700))
			servertest.Must(t, err)
			var all sync.WaitGroup
			for i := range writers {
				all.Go(func() {
					p := bytes.Repeat([]byte{byte('a' + i)}, 9000)
					for n := range messages {
						var err error
						switch n % 4 {
						case 0:
							err = c.WriteMessage(TextMessage, p[:n*20])
						case 1:
							err = c.WritePreparedMessage(prepared)
						case 2:
							err = c.WriteControl(PingMessage, p[:n], time.Time{})
						case 3:
							w, e := c.NextWriter(TextMessage)
							servertest.Must(t, e)
							for k := 0; k < len(p); k += 1000 {
								_, err = w.Write(p[k : k+1000])
							}
							err = errors.Join(err, w.Close())
						}
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			for range writers * messages * 3 / 4 {
				_, p, err := s.ReadMessage()
				servertest.Must(t, err)
				if len(p) > 0 && !bytes.Equal(p, bytes.Repeat(p[:1], len(p))) {
					t.Fatalf("messages are mixed up: %.100q", p)
				}
			}
			all.Wait()
			go func() { _ = c.Close() }()
			if _, _, err := s.ReadMessage(); !IsCloseError(err, CloseNormalClosure) {
				t.Errorf("the end is %v", err)
			}
			if pings != writers*messages/4 {
				t.Errorf("%d pings arrived", pings)
			}
		})
	}
}

// TestUnlimitedMessagesMayHaveAnyNumberOfFragments sends a message in smaller pieces than the
// standard limits permit.
func TestUnlimitedMessagesMayHaveAnyNumberOfFragments(t *testing.T) {
	nc, ns := servertest.TCPPair(t)
	c := (&Upgrader{ReadLimit: -1}).newConn(ns, agreement{})
	defer func() { _ = c.CloseNow() }()
	frames := ws.AppendFrame(nil, ws.Head{Opcode: ws.Binary, Masked: true}, []byte("x"))
	fragment := ws.AppendFrame(nil, ws.Head{Masked: true}, []byte("x"))
	frames = append(frames, bytes.Repeat(fragment, ws.DefaultFragments)...)
	frames = ws.AppendFrame(frames, ws.Head{Masked: true, Fin: true}, []byte("x"))
	go func() { _, _ = nc.Write(frames) }()
	_, p, err := c.ReadMessage()
	if err != nil || len(p) != ws.DefaultFragments+2 {
		t.Errorf("got %d bytes, %v", len(p), err)
	}
}

func TestPingsAreAnswered(t *testing.T) {
	c, s := connPair(t, servertest.TCPPair, &Upgrader{}, &Dialer{})
	go echo(s)
	var pongs []string
	c.SetPongHandler(func(data string) error { pongs = append(pongs, data); return nil })
	w, err := c.NextWriter(TextMessage)
	servertest.Must(t, err)
	for i := range 3 {
		// control frames between the fragments of a message
		_, err = w.Write(servertest.SampleText(5000))
		servertest.Must(t, err)
		servertest.Must(t, c.WriteControl(PingMessage, fmt.Append(nil, "ping ", i), time.Now().Add(servertest.Patience)))
	}
	servertest.Must(t, w.Close())
	if _, p, err := c.ReadMessage(); err != nil || len(p) != 15_000 {
		t.Errorf("got %d bytes, %v", len(p), err)
	}
	if strings.Join(pongs, ",") != "ping 0,ping 1,ping 2" {
		t.Errorf("got the pongs %q", pongs)
	}
	broken := errors.New("broken")
	c.SetPongHandler(func(string) error { return broken })
	servertest.Must(t, c.WriteMessage(PingMessage, nil))
	for range 2 {
		if _, _, err := c.ReadMessage(); err != broken {
			t.Errorf("after the error of a handler: %v", err)
		}
	}
}

// TestReadLimitOfTheMessageBeingReceived sets it when the size of the message is known already.
func TestReadLimitOfTheMessageBeingReceived(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		nc, ns := servertest.TCPPair(t)
		c := (&Upgrader{}).newConn(ns, agreement{compressed: compressed})
		defer func() { _ = c.CloseNow() }()
		frame := ws.AppendFrame(nil, ws.Head{Opcode: ws.Binary, Fin: true, RSV1: compressed, Masked: true}, make([]byte, 100_000))
		_, err := nc.Write(frame[:1000])
		servertest.Must(t, err)
		servertest.Eventually(t, "the head of the frame", func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), servertest.Short)
			defer cancel()
			_, _, err := c.ReadContext(ctx)
			return err == context.DeadlineExceeded && c.state.Left() > 0
		})
		c.SetReadLimit(1000)
		go func() { _, _ = nc.Write(frame[1000:]) }()
		if _, p, err := c.ReadMessage(); err != ErrReadLimit {
			t.Errorf("compressed: %v: got %d bytes, %v", compressed, len(p), err)
		}
	}
}

func TestReadLimit(t *testing.T) {
	t.Parallel()
	zeros := make([]byte, 1<<20)
	for _, tt := range compressions {
		for _, byReader := range []bool{false, true} {
			c, s := connPair(t, servertest.TCPPair, &Upgrader{EnableCompression: tt.on, Compression: tt.c, ReadLimit: 70_000}, &Dialer{EnableCompression: tt.on, Compression: tt.c})
			read := func() (n int64, err error) {
				if !byReader {
					_, p, err := s.ReadMessage()
					return int64(len(p)), err
				}
				_, r, err := s.NextReader()
				if err != nil {
					return 0, err
				}
				return io.Copy(io.Discard, r)
			}
			servertest.Must(t, c.WriteMessage(BinaryMessage, zeros[:70_000]))
			if n, err := read(); n != 70_000 || err != nil {
				t.Errorf("%s: a message of the size of the limit: %d, %v", tt.name, n, err)
			}
			s.SetReadLimit(1000)
			servertest.Must(t, c.WriteMessage(BinaryMessage, zeros[:1000]))
			if n, err := read(); n != 1000 || err != nil {
				t.Errorf("%s: a message of the size of the new limit: %d, %v", tt.name, n, err)
			}
			go func() { _ = c.WriteMessage(BinaryMessage, zeros) }()
			for range 2 {
				if n, err := read(); n > 1000 || err != ErrReadLimit {
					t.Errorf("%s: a larger message: %d, %v", tt.name, n, err)
				}
			}
			if _, _, err := c.ReadMessage(); !IsCloseError(err, CloseMessageTooBig) {
				t.Errorf("%s: the peer gets %v", tt.name, err)
			}
		}
	}
	c, s := connPair(t, servertest.TCPPair, &Upgrader{}, &Dialer{})
	go func() { _ = c.WriteMessage(BinaryMessage, make([]byte, DefaultReadLimit+1)) }()
	if _, _, err := s.ReadMessage(); err != ErrReadLimit {
		t.Errorf("a message larger than the default limit: %v", err)
	}
	c, s = connPair(t, servertest.TCPPair, &Upgrader{ReadLimit: -1}, &Dialer{})
	go func() { _ = c.WriteMessage(BinaryMessage, make([]byte, DefaultReadLimit+1)) }()
	if _, p, err := s.ReadMessage(); err != nil || len(p) != DefaultReadLimit+1 {
		t.Errorf("a message without a limit: %d, %v", len(p), err)
	}
}

// TestReadContext has a context that ends in the middle of a message, and a deadline.
// A client has deadlines over a connection that has none, such as a channel of SSH.
func TestReadContextWithoutDeadlines(t *testing.T) {
	t.Parallel()
	c, s := connPair(t, func(t testing.TB) (net.Conn, net.Conn) {
		client, server := servertest.MemoryPair(t)
		client, err := checkDialed(servertest.TimelessConn{Conn: client}, nil)
		servertest.Must(t, err)
		return client, server
	}, &Upgrader{}, &Dialer{})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	cancel(why)
	servertest.Soon(t, "ReadContext", func() {
		if _, _, err := c.ReadContext(ctx); err != why {
			t.Errorf("ReadContext returned %v", err)
		}
	})
	ctx, cancel = context.WithCancelCause(t.Context())
	time.AfterFunc(servertest.Short, func() { cancel(why) })
	servertest.Soon(t, "ReadContext", func() {
		if _, _, err := c.ReadContext(ctx); err != why {
			t.Errorf("ReadContext returned %v", err)
		}
	})
	servertest.Must(t, s.WriteMessage(TextMessage, []byte("text")))
	servertest.Soon(t, "ReadMessage", func() {
		if _, p, err := c.ReadMessage(); string(p) != "text" || err != nil {
			t.Errorf("ReadMessage returned %q, %v", p, err)
		}
	})
}

func TestReadContext(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string]func(testing.TB) (net.Conn, net.Conn){"tcp": servertest.TCPPair, "memory": servertest.MemoryPair} {
		t.Run(name, func(t *testing.T) {
			c, s := connPair(t, pair, &Upgrader{}, &Dialer{})
			p := servertest.SampleText(9000)
			w, err := c.NextWriter(TextMessage)
			servertest.Must(t, err)
			for _, part := range [][]byte{p[:5000], p[5000:]} {
				_, err = w.Write(part)
				servertest.Must(t, err)
				ctx, cancel := context.WithCancelCause(t.Context())
				why := errors.New("why")
				time.AfterFunc(servertest.Short, func() { cancel(why) })
				if _, _, err := s.ReadContext(ctx); err != why {
					t.Errorf("ReadContext returned %v", err)
				}
				if _, _, err := s.ReadContext(ctx); err != why {
					t.Errorf("ReadContext with a context that has ended returned %v", err)
				}
				servertest.Must(t, s.SetReadDeadline(time.Now().Add(servertest.Short)))
				if _, _, err := s.ReadMessage(); err == nil || !errors.As(err, new(net.Error)) {
					t.Errorf("ReadMessage with a deadline returned %v", err)
				}
				servertest.Must(t, s.SetReadDeadline(time.Time{}))
			}
			servertest.Must(t, w.Close())
			ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
			defer cancel()
			if _, got, err := s.ReadContext(ctx); err != nil || !bytes.Equal(got, p) {
				t.Errorf("then ReadContext returned %d bytes, %v", len(got), err)
			}
			// a reader continues, too
			w, err = c.NextWriter(TextMessage)
			servertest.Must(t, err)
			_, err = w.Write(p)
			servertest.Must(t, err)
			_, r, err := s.NextReader()
			servertest.Must(t, err)
			got := make([]byte, 4096)
			_, err = io.ReadFull(r, got)
			servertest.Must(t, err)
			servertest.Must(t, s.SetReadDeadline(time.Now().Add(servertest.Short)))
			extra := make([]byte, 9000)
			for err == nil {
				var n int
				n, err = r.Read(extra)
				got = append(got, extra[:n]...)
			}
			servertest.Must(t, s.SetReadDeadline(time.Time{}))
			servertest.Must(t, w.Close())
			rest, err := io.ReadAll(r)
			if got = append(got, rest...); err != nil || !bytes.Equal(got, p) {
				t.Errorf("the reader returned %d bytes, %v", len(got), err)
			}
		})
	}
}

// TestWriteContext ends contexts while the peer does not read.
func TestWriteContext(t *testing.T) {
	t.Parallel()
	c, s := connPair(t, servertest.TCPPair, &Upgrader{}, &Dialer{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.WriteContext(ended, TextMessage, nil); err != context.Canceled {
		t.Errorf("with a context that has ended: %v", err)
	}
	// another writer keeps the connection busy
	w, err := c.NextWriter(TextMessage)
	servertest.Must(t, err)
	_, err = w.Write(make([]byte, 9000))
	servertest.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), servertest.Short)
	defer cancel()
	if err := c.WriteContext(ctx, TextMessage, []byte("x")); err != context.DeadlineExceeded {
		t.Errorf("while another message is sent: %v", err)
	}
	servertest.Must(t, c.SetWriteDeadline(time.Now().Add(servertest.Short)))
	if err := c.WriteMessage(TextMessage, []byte("x")); err == nil {
		t.Error("a message in the middle of another one")
	}
	servertest.Must(t, c.SetWriteDeadline(time.Time{}))
	servertest.Must(t, w.Close())
	expectMessage(t, s, TextMessage, make([]byte, 9000))
	// the connection is as before
	background, cancel := context.WithTimeout(t.Context(), servertest.Patience)
	defer cancel()
	servertest.Must(t, c.WriteContext(background, TextMessage, []byte("whole")))
	expectMessage(t, s, TextMessage, []byte("whole"))
	ctx, cancel = context.WithCancel(t.Context())
	go func() {
		_, _ = s.nc.Read(make([]byte, 1))
		cancel()
	}()
	if err := c.WriteContext(ctx, BinaryMessage, make([]byte, 64<<20)); err != context.Canceled {
		t.Errorf("a message that the peer does not read: %v", err)
	}
	if err := c.WriteMessage(TextMessage, nil); err != context.Canceled {
		t.Errorf("after half a message: %v", err)
	}
}

func TestJSON(t *testing.T) {
	c, s := connPair(t, servertest.TCPPair, &Upgrader{}, &Dialer{})
	type value struct{ A []int }
	servertest.Must(t, c.WriteJSON(value{[]int{1, 2}}))
	var v value
	if err := s.ReadJSON(&v); err != nil || fmt.Sprint(v) != "{[1 2]}" {
		t.Errorf("got %v, %v", v, err)
	}
	servertest.Must(t, c.WriteMessage(TextMessage, nil))
	if err := s.ReadJSON(&v); err != io.ErrUnexpectedEOF {
		t.Errorf("an empty message: %v", err)
	}
	servertest.Must(t, c.WriteMessage(TextMessage, []byte("{")))
	if err := s.ReadJSON(&v); err == nil {
		t.Error("half a value")
	}
	if err := c.WriteJSON(func() {}); err == nil {
		t.Error("a function has a JSON encoding")
	}
}

func TestNetConn(t *testing.T) {
	c, s := connPair(t, servertest.TCPPair, &Upgrader{}, &Dialer{})
	nc, ns := NetConn(c), NetConn(s)
	p := servertest.SampleText(100_000)
	go func() {
		for rest := p; len(rest) > 0; {
			n, _ := nc.Write(rest[:min(7777, len(rest))])
			rest = rest[n:]
		}
		_ = nc.Close()
	}()
	got, err := io.ReadAll(ns)
	if err != nil || !bytes.Equal(got, p) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if ns.LocalAddr().String() != nc.RemoteAddr().String() {
		t.Error("the addresses differ")
	}
	servertest.Must(t, ns.SetDeadline(time.Now()))
}

// TestNetConnHasSeveralReaders reads with several goroutines, as net.Conn permits: no byte is lost.
func TestNetConnHasSeveralReaders(t *testing.T) {
	c, s := connPair(t, servertest.TCPPair, &Upgrader{}, &Dialer{})
	const messages, size = 2000, 100
	go func() {
		for range messages {
			_ = c.WriteMessage(BinaryMessage, make([]byte, size))
		}
		_ = c.Close()
	}()
	ns := NetConn(s)
	var got atomic.Int64
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for p := make([]byte, 33); ; {
				n, err := ns.Read(p)
				if got.Add(int64(n)); err != nil {
					if err != io.EOF {
						t.Errorf("the end is %v", err)
					}
					return
				}
			}
		})
	}
	if all.Wait(); got.Load() != messages*size {
		t.Errorf("got %d bytes, want %d", got.Load(), messages*size)
	}
}

func TestJoinMessages(t *testing.T) {
	c, s := connPair(t, servertest.TCPPair, &Upgrader{}, &Dialer{})
	go func() {
		for _, text := range []string{"a", "", "bc"} {
			_ = c.WriteMessage(TextMessage, []byte(text))
		}
		_ = c.Close()
	}()
	if p, err := io.ReadAll(JoinMessages(s, "\n;")); err != nil || string(p) != "a\n;\n;bc\n;" {
		t.Errorf("got %q, %v", p, err)
	}
}

// TestPanicsClose has a handler that panics.
func TestPanicsClose(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		s := start(serving(&Upgrader{}, func(c *Conn) { panic("on purpose") }))
		c := dial(t, s, Dialer{})
		if _, _, err := c.ReadMessage(); !IsCloseError(err, CloseInternalServerErr) {
			t.Errorf("got %v", err)
		}
		servertest.Must(t, c.Close())
	})
}

// TestBytesAfterTheRequest sends messages together with the request.
func TestBytesAfterTheRequest(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		s := start(serving(&Upgrader{}, echo))
		c := s.Dial()
		c.Send(opening() + "\x81\x85\x00\x00\x00\x00hello" + "\x89\x80\x00\x00\x00\x00\x81")
		if resp := c.Next("GET"); resp.StatusCode != fasthttp.StatusSwitchingProtocols {
			t.Fatalf("got %d", resp.StatusCode)
		}
		want := "\x81\x05hello\x8a\x00\x81\x02yo"
		c.Send("\x82\x00\x00\x00\x00yo")
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c.R, got); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
		c.Send("\x88\x80\x00\x00\x00\x00")
		if end, err := io.ReadAll(c.R); err != nil || string(end) != "\x88\x00" {
			t.Errorf("the end is %q, %v", end, err)
		}
	})
}

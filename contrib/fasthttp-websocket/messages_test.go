package websocket

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

var compression = []bool{false, true}

func TestMessagesAreEchoed(t *testing.T) {
	everywhere(t, func(t *testing.T, s server) {
		for _, compress := range compression {
			url := s.start(t, settings{compress: compress}, nil, echoing)
			c, resp := dial(t, &Dialer{EnableCompression: compress}, url)
			if got := strings.Contains(resp.Header.Get("Sec-WebSocket-Extensions"), "permessage-deflate"); got != compress {
				t.Errorf("compression was agreed on: %v, want %v", got, compress)
			}
			if got := resp.Header.Get("X-Greeting"); got != "hello" {
				t.Errorf("the field of the response is %q", got)
			}
			// more than the read limit of package github.com/valyala/fasthttp/websocket
			for _, size := range []int{0, 1, 125, 126, 1000, 65536, 5 << 20} {
				for _, kind := range []int{TextMessage, BinaryMessage} {
					text := strings.Repeat("x", size)
					if err := c.WriteMessage(kind, []byte(text)); err != nil {
						t.Fatal(err)
					}
					wantMessage(t, c, kind, text)
				}
			}
		}
	})
}

// counter counts the bytes that a client receives.
type counter struct {
	net.Conn
	n atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.n.Add(int64(n))
	return n, err
}

func TestCompressedMessagesAreSmallerAndCanBeSwitchedOff(t *testing.T) {
	everywhere(t, func(t *testing.T, s server) {
		const size = 1 << 16
		url := s.start(t, settings{compress: true}, nil, func(c *Conn) {
			if err := c.SetCompressionLevel(9); err != nil {
				t.Error(err)
			}
			if err := c.SetCompressionLevel(99); err == nil {
				t.Error("there is no level 99")
			}
			for _, on := range []bool{true, false} {
				c.EnableWriteCompression(on)
				if err := c.WriteMessage(TextMessage, make([]byte, size)); err != nil {
					t.Error(err)
				}
				_, _, _ = c.ReadMessage()
			}
		})
		var in *counter
		c, _ := dial(t, &Dialer{EnableCompression: true, NetDialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, network, addr)
			in = &counter{Conn: nc}
			return in, err
		}}, url)
		before := in.n.Load()
		wantMessage(t, c, TextMessage, string(make([]byte, size)))
		packed := in.n.Load() - before
		if err := c.WriteMessage(TextMessage, nil); err != nil {
			t.Fatal(err)
		}
		wantMessage(t, c, TextMessage, string(make([]byte, size)))
		if plain := in.n.Load() - before - packed; packed > size/10 || plain < size {
			t.Errorf("%d bytes compressed, and %d not", packed, plain)
		}
	})
}

func TestJSONAndPreparedMessages(t *testing.T) {
	everywhere(t, func(t *testing.T, s server) {
		for _, compress := range compression {
			url := s.start(t, settings{compress: compress}, nil, echoing)
			c, _ := dial(t, &Dialer{EnableCompression: compress}, url)
			type value struct{ A, B string }
			for i, send := range []func() error{
				func() error { return c.WriteJSON(value{"a", "b"}) },
				func() error { return WriteJSON(c, value{"a", "b"}) },
				func() error {
					m, err := NewPreparedMessage(TextMessage, []byte(`{"A":"a","B":"b"}`))
					if err != nil {
						return err
					}
					return c.WritePreparedMessage(m)
				},
			} {
				if err := send(); err != nil {
					t.Fatal(i, err)
				}
				var v value
				err := c.ReadJSON(&v)
				if v != (value{"a", "b"}) || err != nil {
					t.Errorf("%d: got %v, %v", i, v, err)
				}
			}
			if err := c.WriteMessage(TextMessage, []byte("1")); err != nil {
				t.Fatal(err)
			}
			var n int
			if err := ReadJSON(c, &n); n != 1 || err != nil {
				t.Errorf("got %d, %v", n, err)
			}
		}
	})
}

func TestNextMethodsCloseTheWriterBefore(t *testing.T) {
	prepared, err := NewPreparedMessage(TextMessage, []byte(`"next"`))
	if err != nil {
		t.Fatal(err)
	}
	next := []struct {
		name string
		send func(c *Conn) error
	}{
		{"NextWriter", func(c *Conn) error {
			w, err := c.NextWriter(TextMessage)
			if err == nil {
				_, err = io.WriteString(w, `"next"`)
			}
			if err == nil {
				err = w.Close()
			}
			return err
		}},
		{"WriteMessage", func(c *Conn) error { return c.WriteMessage(TextMessage, []byte(`"next"`)) }},
		{"WriteJSON", func(c *Conn) error { return c.WriteJSON("next") }},
		{"WritePreparedMessage", func(c *Conn) error { return c.WritePreparedMessage(prepared) }},
	}
	everywhere(t, func(t *testing.T, s server) {
		// the first fragment of the open message was sent if it is large
		for _, open := range []string{"open", strings.Repeat("x", 20000)} {
			c, _ := dial(t, &Dialer{}, s.start(t, settings{}, nil, echoing))
			for _, n := range next {
				w, err := c.NextWriter(BinaryMessage)
				if err != nil {
					t.Fatal(n.name, err)
				}
				if _, err := io.WriteString(w, open); err != nil {
					t.Fatal(n.name, err)
				}
				if err := n.send(c); err != nil {
					t.Fatal(n.name, err)
				}
				if _, err := w.Write([]byte("late")); err == nil {
					t.Errorf("%s: the writer before can still be used", n.name)
				}
				wantMessage(t, c, BinaryMessage, open)
				_, p, err := c.ReadMessage()
				if got := strings.TrimSpace(string(p)); got != `"next"` || err != nil {
					t.Errorf("%s: got %q, %v", n.name, got, err)
				}
			}
		}
	})
}

func TestReadersAndJoinedMessages(t *testing.T) {
	everywhere(t, func(t *testing.T, s server) {
		url := s.start(t, settings{}, nil, func(c *Conn) {
			for _, text := range []string{"skipped", "one", "two"} {
				_ = c.WriteMessage(TextMessage, []byte(text))
			}
			_ = c.WriteMessage(CloseMessage, FormatCloseMessage(CloseNormalClosure, ""))
			_, _, _ = c.ReadMessage()
		})
		c, _ := dial(t, &Dialer{}, url)
		kind, r, err := c.NextReader()
		if kind != TextMessage || err != nil {
			t.Fatal(kind, err)
		}
		if n, err := io.ReadFull(r, make([]byte, 4)); err != nil {
			t.Fatal(n, err)
		}
		all, err := io.ReadAll(JoinMessages(c, "\n"))
		if string(all) != "one\ntwo\n" || err != nil {
			t.Errorf("got %q, %v", all, err)
		}
	})
}

func TestPingsAndPongs(t *testing.T) {
	everywhere(t, func(t *testing.T, s server) {
		c, _ := dial(t, &Dialer{}, s.start(t, settings{}, nil, echoing))
		pongs := make(chan string, 1)
		c.SetPongHandler(func(data string) error {
			pongs <- data
			return nil
		})
		if err := c.WriteMessage(PingMessage, []byte("are you there")); err != nil {
			t.Fatal(err)
		}
		if err := c.WriteMessage(TextMessage, []byte("after")); err != nil {
			t.Fatal(err)
		}
		wantMessage(t, c, TextMessage, "after")
		if got := receive(t, pongs); got != "are you there" {
			t.Errorf("the pong has %q", got)
		}
		if c.PingHandler() == nil || c.PongHandler() == nil || c.CloseHandler() == nil {
			t.Error("a handler is nil")
		}
	})
}

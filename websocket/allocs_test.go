package websocket

import (
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// TestMessagesAllocateNothing sends messages to and fro: see AllocsPerRun.
func TestMessagesAllocateNothing(t *testing.T) {
	if underRace {
		t.Skip("under the race detector a sync.Pool drops some values on purpose")
	}
	for _, tt := range compressions {
		for _, size := range []int{125, 4000, 64 << 10} {
			c, s := connPair(t, servertest.TCPPair, &Upgrader{EnableCompression: tt.on, Compression: tt.c}, &Dialer{EnableCompression: tt.on, Compression: tt.c})
			done := make(chan struct{})
			go func() {
				defer close(done)
				var buf []byte
				for {
					messageType, p, err := s.AppendMessage(buf[:0])
					if err != nil || s.WriteMessage(messageType, p) != nil {
						return
					}
					buf = p
				}
			}()
			var buf []byte
			p := servertest.SampleText(size)
			round := func() {
				if err := c.WriteMessage(TextMessage, p); err != nil {
					t.Fatal(err)
				}
				var err error
				if _, buf, err = c.AppendMessage(buf[:0]); err != nil || len(buf) != size {
					t.Fatal(len(buf), err)
				}
			}
			round()
			if n := testing.AllocsPerRun(200, round); n > 0 {
				t.Errorf("%s: %d bytes: %v allocations", tt.name, size, n)
			}
			_ = c.CloseNow()
			servertest.Receive(t, "the end of the server", done)
		}
	}
}

// TestWaitingHoldsNoBuffer has a connection that waits for its next message.
func TestWaitingHoldsNoBuffer(t *testing.T) {
	c, s := connPair(t, servertest.TCPPair, &Upgrader{}, &Dialer{})
	for range 3 {
		servertest.Must(t, c.WriteMessage(TextMessage, servertest.SampleText(100_000)))
		_, _, err := s.ReadMessage()
		servertest.Must(t, err)
		if s.in != nil || s.part.Held() != 0 {
			t.Error("a buffer is held between two messages")
		}
	}
}

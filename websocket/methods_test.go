package websocket

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/ws"
)

// TestAllMethodsAtOnce calls the methods of both sides of a connection while others close it: all
// of them return.
func TestAllMethodsAtOnce(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, tt := range compressions {
			u := &Upgrader{EnableCompression: tt.on, Compression: tt.c, CloseTimeout: servertest.Short, PingInterval: time.Millisecond, PongTimeout: servertest.Never}
			d := Dialer{EnableCompression: tt.on, Compression: tt.c, CloseTimeout: servertest.Short, PingInterval: time.Millisecond, PongTimeout: servertest.Never}
			left := make(chan struct{}, 1)
			s := start(serving(u, func(c *Conn) {
				callAllMethods(t, c)
				left <- struct{}{}
			}))
			c := dial(t, s, d)
			servertest.Soon(t, "a method of the client", func() { callAllMethods(t, c) })
			servertest.Receive(t, "the end of the handler", left)
		}
	})
}

// callAllMethods returns when all calls have returned.
func callAllMethods(t *testing.T, c *Conn) {
	var all sync.WaitGroup
	for _, end := range []func(c *Conn) error{(*Conn).Close, (*Conn).CloseNow, (*Conn).Close} {
		all.Go(func() {
			for range rand.IntN(3000) {
				runtime.Gosched()
			}
			_ = end(c)
		})
	}
	for i := range 8 {
		all.Go(func() {
			for n := range 30 {
				callMethod(c, i+n)
			}
		})
	}
	all.Wait()
	if err := c.Close(); err != net.ErrClosed {
		t.Errorf("Close at the end: %v", err)
	}
	_, _, err := c.ReadMessage()
	if err == nil || c.WriteMessage(TextMessage, nil) == nil {
		t.Errorf("methods of a closed connection do not fail: %v", err)
	}
	// a goroutine may be about to find that it cannot answer a Ping frame any more
	servertest.Eventually(t, "the end of all writing", c.write.tryLock)
	if !c.read.tryLock() || !c.message.tryLock() {
		t.Error("a lock is held at the end")
	}
	if c.in != nil || c.part.Held() != 0 {
		t.Error("a buffer is held at the end")
	}
}

var methodsText = servertest.SampleText(50_000)

// callMethod calls the nth method.
func callMethod(c *Conn, n int) {
	text := methodsText
	switch n % 10 {
	case 0:
		_, _, _ = c.ReadMessage()
	case 1:
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Microsecond)
		_, _, _ = c.ReadContext(ctx)
		cancel()
	case 2, 3:
		_ = c.WriteMessage(TextMessage, text[:3000])
	case 4:
		if w, err := c.NextWriter(BinaryMessage); err == nil {
			_, err = w.Write(text[:9000])
			_ = errors.Join(err, w.Close())
		}
	case 5:
		if _, r, err := c.NextReader(); err == nil {
			_, _ = r.Read(make([]byte, 100))
			_, _ = r.Read(make([]byte, 100))
		}
	case 6:
		_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
		c.SetReadLimit(1 << 20)
	case 7:
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Microsecond)
		_ = c.WriteContext(ctx, BinaryMessage, text)
		cancel()
	case 8:
		_ = c.WriteControl(PingMessage, nil, time.Now().Add(time.Millisecond))
	case 9:
		if pm, err := NewPreparedMessage(TextMessage, text[:2000]); err == nil {
			_ = c.WritePreparedMessage(pm)
		}
	}
}

// A connection may be closed while a method has read a message, and more has arrived with it.
func TestNothingIsReadAfterClose(t *testing.T) {
	nc, peer := servertest.MemoryPair(t)
	c := newConn(nc, ws.Server, agreement{compressed: true}, options{compression: &Compression{Threshold: -1, ContextTakeover: true}}, nil)
	c.deflate.Takeover = true
	servertest.Must(t, c.WriteMessage(TextMessage, methodsText[:1000]))
	_, err := peer.Write([]byte("\x81\x81\x00\x00\x00\x001\x81\x81\x00\x00\x00\x002"))
	servertest.Must(t, err)
	servertest.Must(t, c.read.lock(t.Context(), time.Time{}))
	servertest.Must(t, c.message.lock(t.Context(), time.Time{}))
	if _, p, err := c.appendMessage(nil); string(p) != "1" || err != nil || c.in == nil {
		t.Fatalf("got %q, %v", p, err)
	}
	servertest.Must(t, c.CloseNow())
	c.endRead()
	c.endMessage()
	if c.in != nil {
		t.Error("the buffer of received bytes is held")
	}
	if _, p, err := c.ReadMessage(); err != net.ErrClosed {
		t.Errorf("got %q, %v", p, err)
	}
	if !reflect.ValueOf(&c.deflate).Elem().FieldByName("c").IsNil() {
		t.Error("the compressor is held")
	}
}

package http2client

import (
	"net"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/servertest"
)

// The timer that ends a rest keeps running while calls follow each other, but not while one
// call takes long.
func TestTimerRestsDuringLongCalls(t *testing.T) {
	c := &Conn{reader: noReader, settled: true, transport: new(clientconn.Conn)}
	c.readerCond.L = &c.mu
	c.resume = time.AfterFunc(time.Hour, func() {})
	defer c.resume.Stop()
	for i, step := range []struct {
		do      func()
		reader  reader
		resting bool
	}{
		{func() { c.setReader(inlineReader); c.inlineReads++; c.setReader(noReader) }, noReader, true},
		{func() { c.setReader(inlineReader); c.inlineReads++ }, inlineReader, true},
		{c.resumeReading, inlineReader, true},
		{c.resumeReading, inlineReader, false},
		{func() { c.setReader(noReader) }, noReader, true},
		{func() { c.setReader(inlineReader); c.inlineReads++; c.setReader(noReader) }, noReader, true},
		{c.resumeReading, readerGoroutine, false},
	} {
		if step.do(); c.reader != step.reader || c.readPaused != step.resting {
			t.Fatalf("step %d: the reader is %d and the timer runs: %v, want %d and %v", i, c.reader, c.readPaused, step.reader, step.resting)
		}
	}
}

// A connection that panics on a goroutine of the client ends alone.
func TestPanicsOfConnectionsEndThem(t *testing.T) {
	for _, part := range []string{"reading", "writing", "closing"} {
		t.Run(part, func(t *testing.T) {
			near, far := servertest.MemoryPair(t)
			c, o := beginUnsettled(&servertest.FaultyConn{Conn: near, Part: part}, nil)
			if part == "closing" {
				servertest.Must(t, far.Close())
			}
			servertest.Receive(t, "the end of the connection", o.ended)
			c.lose(net.ErrClosed)
			servertest.Eventually(t, "the end of the reader", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.life == finished
			})
		})
	}
}

package http2client

import (
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
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

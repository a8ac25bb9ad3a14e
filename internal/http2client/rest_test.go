package http2client

import (
	"testing"
	"time"
)

// The timer that ends a rest keeps running while calls follow each other, but not while one
// call takes long.
func TestTimerRestsDuringLongCalls(t *testing.T) {
	c := &Conn{reader: isNobody, settled: true}
	c.turn.L = &c.mu
	c.resume = time.AfterFunc(time.Hour, func() {})
	defer c.resume.Stop()
	for i, step := range []struct {
		do      func()
		reader  reader
		resting bool
	}{
		{func() { c.hand(isCall); c.leads++; c.hand(isNobody) }, isNobody, true},
		{func() { c.hand(isCall); c.leads++ }, isCall, true},
		{c.rested, isCall, true},
		{c.rested, isCall, false},
		{func() { c.hand(isNobody) }, isNobody, true},
		{func() { c.hand(isCall); c.leads++; c.hand(isNobody) }, isNobody, true},
		{c.rested, isThread, false},
	} {
		if step.do(); c.reader != step.reader || c.resting != step.resting {
			t.Fatalf("step %d: the reader is %d and the timer runs: %v, want %d and %v", i, c.reader, c.resting, step.reader, step.resting)
		}
	}
}

package fasthttp

import (
	"context"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// Append appends a copy of head, and then of body, to the output. It is sent after Flush, or
// when the method of the EventHandler returns that has called Append. Concurrent calls do not
// mix their bytes. The error is net.ErrClosed once the connection has ended, or Close was
// called. A caller must limit the output itself, by the result of Queued: there is an error
// only if more than 1 GiB waits.
func (c *EventConn) Append(head, body []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(head) + len(body)
	if err := c.mayAppend(n); err != nil || n == 0 {
		return err
	}
	b := c.room(n)
	b.B = append(append(b.B, head...), body...)
	c.queued.Add(uint32(n))
	return nil
}

// AppendShared is like Append, but does not copy p, unless p is small and has to wait for other
// output. p must not change from then on.
func (c *EventConn) AppendShared(p []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.mayAppend(len(p)); err != nil || len(p) == 0 {
		return err
	}
	c.appendShared(p)
	return nil
}

// appendShared is AppendShared with mu held, for bytes that may be appended.
func (c *EventConn) appendShared(p []byte) {
	c.queued.Add(uint32(len(p)))
	f := c.flowing()
	last := len(f.parts) - 1
	switch {
	case last < f.first || f.parts[last].shared != nil && len(p) >= minShared:
		f.parts = append(f.parts, eventPart{shared: p})
	case f.parts[last].shared == nil && len(p) >= minShared:
		f.parts[last].shared = p
	default:
		b := c.room(len(p))
		b.B = append(b.B, p...)
	}
}

func (c *EventConn) mayAppend(n int) error {
	switch {
	case c.is(eventClosing | eventFailed | eventEnded | eventGone):
		return errEventClosed
	case n > maxQueued-int(c.queued.Load()):
		return errEventOverflow
	}
	return nil
}

// flowing returns the flow, which it creates if there is none. mu is held.
func (c *EventConn) flowing() *eventFlow {
	if c.flow == nil {
		c.flow = eventFlows.Get().(*eventFlow)
	}
	return c.flow
}

// room returns a buffer with room for n bytes at the end of the output. The engine may be
// writing the bytes in it, so they stay in their place. mu is held.
func (c *EventConn) room(n int) *bufpool.Buffer {
	f := c.flowing()
	if last := len(f.parts) - 1; last >= f.first && f.parts[last].shared == nil {
		b := f.parts[last].buf
		switch {
		case cap(b.B)-len(b.B) >= n:
			return b
		case len(b.B)+n <= maxEventPart && (last > f.first || c.output != eventWriting):
			b.Grow(n)
			return b
		}
	}
	b := bufpool.Get(n)
	f.parts = append(f.parts, eventPart{buf: b})
	return b
}

// Write is Append with p, and then Flush. It implements io.Writer.
func (c *EventConn) Write(p []byte) (int, error) {
	if err := c.Append(p, nil); err != nil {
		return 0, err
	}
	c.Flush()
	return len(p), nil
}

// Flush begins to send the output, as much as the peer takes, and does not wait for the rest.
func (c *EventConn) Flush() {
	c.mu.Lock()
	if c.is(eventCorked) {
		c.startCorkTimer()
		c.mu.Unlock()
		return
	}
	wakes := c.wakes()
	c.mu.Unlock()
	if wakes {
		c.push()
	}
}

// wakes reports whether the caller must make the engine write, after releasing mu, which is
// held.
func (c *EventConn) wakes() bool {
	if c.output != eventQuiet || !c.is(eventAttached) || !c.hasOutput() || c.is(eventGone) {
		return false
	}
	c.output = eventWoken
	return true
}

func (c *EventConn) hasOutput() bool { return c.flow != nil && len(c.flow.parts) > c.flow.first }

// push makes the engine write. The caller may hold a lock of the application, so push calls
// neither the handler nor a Write that waits.
func (c *EventConn) push() {
	switch {
	case c.returns:
		c.pushReturning()
	case c.engineConn().HasReadGoroutine || !c.link.Push():
		go c.link.Wake()
	}
}

// rouse makes the engine write, and call Step.
func (c *EventConn) rouse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.is(eventGone) {
		c.wake(true)
	}
}

// wake makes the engine write, and also call Step if steps is set. mu is held before and after
// it, and not meanwhile.
func (c *EventConn) wake(steps bool) {
	counts := c.returns && c.engineConn().HasReadGoroutine
	if counts {
		c.users++
	}
	c.mu.Unlock()
	c.link.Wake()
	c.mu.Lock()
	if counts {
		c.users--
	}
	if !c.is(eventGone) && (steps || c.mayReturn()) {
		c.link.Interrupt()
	}
}

// Cork makes the calls of Flush wait for Uncork, for the end of the method of the EventHandler
// being called, or for about 2 ms, whichever is first. Answers to many messages that
// have arrived together are then sent together. It has no effect outside of such a method.
func (c *EventConn) Cork() { c.setCorked(true) }

// Uncork ends the effect of Cork. It does not call Flush.
func (c *EventConn) Uncork() { c.setCorked(false) }

func (c *EventConn) setCorked(on bool) {
	c.mu.Lock()
	switch {
	case !on && c.inlines():
		// the goroutine that calls the handler itself writes afterwards
	case on && c.is(eventWorking):
		c.state |= eventCorked
	default:
		c.state &^= eventCorked
	}
	c.mu.Unlock()
}

// inlines reports whether a goroutine of the connection calls the handler. mu is held.
func (c *EventConn) inlines() bool {
	return c.is(eventAttached) && c.engineConn().HasReadGoroutine && c.is(eventWorking)
}

// startCorkTimer limits the time for which output waits. mu is held.
func (c *EventConn) startCorkTimer() {
	if c.is(eventCorkRuns) || !c.hasOutput() {
		return
	}
	c.state |= eventCorkRuns
	if x := c.more(); x.corkTimer == nil {
		x.corkTimer = time.AfterFunc(corkTime, c.checkCork)
	} else {
		x.corkTimer.Reset(corkTime)
	}
}

// checkCork is called by the timer: it makes the engine write if a method of the handler still
// runs.
func (c *EventConn) checkCork() {
	c.mu.Lock()
	c.state &^= eventCorkRuns
	wakes := c.is(eventCorked) && c.wakes()
	c.mu.Unlock()
	if wakes {
		c.push()
	}
}

// Queued returns how many bytes of output wait to be written to the connection. The peer may
// not have received the others yet.
func (c *EventConn) Queued() int { return int(c.queued.Load()) }

// NotifyDrained makes the server call Drained of the EventHandler once, when no more than n
// bytes of output wait.
func (c *EventConn) NotifyDrained(n int) {
	c.mu.Lock()
	c.more().low = uint32(min(max(n, 0), maxQueued))
	c.state |= eventNotifies
	works := c.checkDrained()
	c.mu.Unlock()
	if works {
		go c.work(false)
	}
}

// checkDrained checks whether Drained is due, and reports whether the caller must call work. mu
// is held.
func (c *EventConn) checkDrained() (works bool) {
	if !c.is(eventNotifies) || c.queued.Load() > c.rare.low {
		return false
	}
	c.state = c.state&^eventNotifies | eventDrained
	return c.is(eventAttached) && !c.is(eventWorking)
}

// WaitQueued waits until no more than n bytes of output wait. It returns the error of ctx if ctx
// ends before, and net.ErrClosed once the connection has ended. Unlike the other methods, it waits
// for the peer. A method of the EventHandler may call it.
func (c *EventConn) WaitQueued(ctx context.Context, n int) error {
	for {
		c.mu.Lock()
		switch {
		case c.is(eventFailed | eventGone):
			c.mu.Unlock()
			return errEventClosed
		case int(c.queued.Load()) <= n:
			c.mu.Unlock()
			return nil
		}
		x := c.more()
		if x.progress == nil {
			x.progress = make(chan struct{})
		}
		progress, wakes := x.progress, c.wakes()
		c.mu.Unlock()
		if wakes {
			c.push()
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// signalProgress wakes the callers of WaitQueued. mu is held.
func (c *EventConn) signalProgress() {
	if c.rare != nil && c.rare.progress != nil {
		close(c.rare.progress)
		c.rare.progress = nil
	}
}

package fasthttp

// eventCall is a method of an EventHandler.
type eventCall uint8

const (
	eventCallNone eventCall = iota
	eventCallOpened
	eventCallReceived
	eventCallDrained
	eventCallTick
	eventCallShuttingDown
	eventCallEnded
)

// nextCall returns the method of the handler to be called next. mu is held.
func (c *EventConn) nextCall() eventCall {
	switch {
	case c.is(eventEnded):
		return eventCallNone
	case !c.is(eventOpened):
		return eventCallOpened
	case c.is(eventFailed|eventGone) || c.is(eventClosing) && !c.hasOutput():
		return eventCallEnded
	case c.is(eventClosing):
		return eventCallNone
	case c.is(eventDrained):
		return eventCallDrained
	case c.is(eventStops) && !c.is(eventStopSent):
		return eventCallShuttingDown
	case c.flow != nil && len(c.pending()) > c.flow.stuck:
		return eventCallReceived
	case c.is(eventTicks):
		return eventCallTick
	case c.is(eventEOF):
		return eventCallEnded
	}
	return eventCallNone
}

// work calls the methods of the handler until there is nothing more to do. One goroutine does
// so at a time. If inStep is set, the caller is Step, which holds mu, and the engine continues
// afterwards.
func (c *EventConn) work(inStep bool) {
	if !inStep {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	if c.is(eventWorking) {
		return
	}
	c.state |= eventWorking
	ended := false
	for {
		call := c.nextCall()
		if call == eventCallNone {
			if inStep || !c.rouseAfter(ended) {
				break
			}
			ended = false
			continue
		}
		ended = ended || call == eventCallEnded
		c.handle(call)
	}
	c.state &^= eventWorking
	if c.is(eventGone) && !c.returns && c.flow != nil {
		c.dropInput()
	}
	c.trim()
}

// rouseAfter makes the engine continue after calls of the handler, if there is a reason:
// output, room in the input buffer, an earlier Tick, or the end of the connection. It reports
// whether there was one. mu is held before and after it, and not meanwhile.
func (c *EventConn) rouseAfter(ended bool) bool {
	if c.is(eventGone) {
		return false
	}
	wakes, steps := c.wakes(), ended || c.is(eventPaused) || c.isLate()
	c.state &^= eventPaused
	if c.isLate() {
		c.armed = c.tickAt
	}
	if !wakes && !steps {
		return false
	}
	c.wake(steps)
	return true
}

// handle calls a method of the handler. mu is held before and after it, and not during the
// call.
func (c *EventConn) handle(call eventCall) {
	var p []byte
	err := c.err()
	switch call {
	case eventCallOpened:
		c.state |= eventOpened
	case eventCallDrained:
		c.state &^= eventDrained
	case eventCallTick:
		c.state &^= eventTicks
	case eventCallShuttingDown:
		c.state |= eventStopSent
	case eventCallEnded:
		c.state |= eventEnded
		if c.is(eventClosing) && !c.is(eventFailed) {
			err = nil
		}
		c.limitEnd()
	case eventCallReceived:
		p = c.pending()
		c.state |= eventTaken
	}
	if c.engineConn().HasReadGoroutine {
		c.state |= eventCorked
	}
	c.mu.Unlock()
	n := c.call(call, p, err)
	c.mu.Lock()
	c.state &^= eventTaken | eventCorked
	if call == eventCallEnded {
		c.state |= eventReturned
	}
	if c.is(eventCorkRuns) && c.rare.corkTimer.Stop() {
		c.state &^= eventCorkRuns
	}
	if f := c.flow; p != nil && f != nil && f.in != nil {
		n = min(max(n, 0), len(p))
		f.read += n
		f.stuck = len(p) - n
	}
}

// call calls a method of the handler. A panic ends the connection.
func (c *EventConn) call(call eventCall, p []byte, err error) (n int) {
	returned := false
	defer func() {
		if !returned {
			c.callFailed(recover())
		}
	}()
	switch h := c.handler; call {
	case eventCallOpened:
		h.Opened(c)
	case eventCallReceived:
		n = h.Received(c, p)
	case eventCallDrained:
		h.Drained(c)
	case eventCallTick:
		h.Tick(c)
	case eventCallShuttingDown:
		h.ShuttingDown(c)
	case eventCallEnded:
		h.Ended(c, err)
	}
	returned = true
	return n
}

// callFailed ends the connection after a method of the handler has panicked or ended its
// goroutine.
func (c *EventConn) callFailed(panicked any) {
	c.fail(errEventPanic)
	if panicked != nil {
		(*Server)(c.engineConn().Set.Host.(*host)).logPanic(c.engineConn(), panicked)
		return
	}
	// the goroutine ends, and another one must continue; the callers unlock mu
	c.mu.Lock()
	c.state &^= eventWorking | eventTaken | eventCorked
	go c.work(false)
}

package websocket

import (
	"sync"
	"time"
)

// pinger sends Ping frames, and closes the connection if the peer does not answer.
type pinger struct {
	c                 *Conn
	interval, timeout time.Duration

	mu      sync.Mutex // guards the following
	timer   *time.Timer
	stopped bool
	awaits  bool   // for the answer to a Ping frame
	seen    uint32 // Conn.received when the frame was sent
}

func (c *Conn) startPings(interval, timeout time.Duration) {
	if interval <= 0 {
		return
	}
	if timeout <= 0 {
		timeout = interval
	}
	p := &pinger{c: c, interval: interval, timeout: timeout}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.pinger = p
	p.timer = time.AfterFunc(interval, p.fire)
}

func (c *Conn) stopPings() {
	if p := c.pinger; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stopped = true
		p.timer.Stop()
	}
}

// fire sends a Ping frame, or checks that something has arrived since.
func (p *pinger) fire() {
	p.mu.Lock()
	awaits := p.awaits
	p.mu.Unlock()
	if awaits {
		p.check()
		return
	}
	seen := p.c.received.Load()
	if p.c.WriteControl(PingMessage, nil, time.Now().Add(p.timeout)) == ErrCloseSent {
		// the closing handshake has a limit of its own
		return
	}
	p.next(true, seen, p.timeout)
}

// check is called when the time for an answer is over.
func (p *pinger) check() {
	if p.c.received.Load() != p.seen {
		p.next(false, 0, max(p.interval-p.timeout, time.Millisecond))
		return
	}
	// an application that does not read cannot receive the answer
	since := p.c.waitsSince.Load()
	if waited := time.Duration(time.Now().UnixNano() - since); since == 0 {
		p.next(true, p.seen, p.timeout)
	} else if waited < p.timeout {
		p.next(true, p.seen, p.timeout-waited)
	} else {
		_ = p.c.abort(ErrPongTimeout)
	}
}

// next sets the timer.
func (p *pinger) next(awaits bool, seen uint32, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.awaits, p.seen = awaits, seen; !p.stopped {
		p.timer.Reset(after)
	}
}

package websocket

import (
	"sync"
	"time"
)

// pinger sends Ping frames, and closes the connection if the peer does not answer.
type pinger struct {
	c        *Conn
	interval time.Duration
	timeout  time.Duration // negative if an answer is not required

	mu      sync.Mutex // guards the following
	timer   *time.Timer
	stopped bool
	pingAt  time.Time     // when the next Ping frame is due
	awaits  bool          // for the answer to a Ping frame
	seen    uint32        // Conn.received before the first Ping frame without an answer
	sent    time.Time     // when that was sent
	waited  time.Duration // how long methods have waited since then, each time in vain
	since   time.Time     // when the current wait has begun; zero if there is none
}

func (c *Conn) startPings(interval, timeout time.Duration) {
	if interval <= 0 {
		return
	}
	if timeout == 0 {
		timeout = interval
	}
	p := &pinger{c: c, interval: interval, timeout: timeout, pingAt: time.Now().Add(interval)}
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

// beginWait records that a method that reads begins to wait for bytes.
func (c *Conn) beginWait() {
	if p := c.pinger; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.since = time.Now()
	}
}

// endWait records that it has got some, or that its time is up.
func (c *Conn) endWait() {
	if p := c.pinger; p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waited = p.inVain()
		p.since = time.Time{}
	}
}

// inVain returns how long methods have waited since the Ping frame was sent. An application that
// does not read cannot receive the answer, so the rest of the time does not count. mu is held.
func (p *pinger) inVain() time.Duration {
	switch {
	case p.since.IsZero():
		return p.waited
	case p.since.Before(p.sent):
		return p.waited + time.Since(p.sent)
	}
	return p.waited + time.Since(p.since)
}

// fire sends a Ping frame if it is time, and checks that something has arrived since an earlier
// one.
func (p *pinger) fire() {
	seen := p.c.received.Load()
	p.mu.Lock()
	p.awaits = p.awaits && seen == p.seen
	late := p.awaits && p.inVain() >= p.timeout
	pings := !time.Now().Before(p.pingAt)
	if pings {
		p.pingAt = time.Now().Add(p.interval)
	}
	p.mu.Unlock()
	if late {
		_ = p.c.abort(ErrPongTimeout)
		return
	}
	limit := p.timeout
	if limit < 0 {
		limit = p.interval
	}
	if pings && p.c.WriteControl(PingMessage, nil, time.Now().Add(limit)) == ErrCloseSent && p.c.isOver() {
		return
	}
	// a peer that has been sent a Close frame has to answer that
	p.next(pings, seen)
}

// next sets the timer. seen is Conn.received before a Ping frame, if one was sent.
func (p *pinger) next(pinged bool, seen uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if pinged && !p.awaits && p.timeout > 0 {
		p.awaits, p.seen, p.sent, p.waited = true, seen, time.Now(), 0
	}
	after := time.Until(p.pingAt)
	if p.awaits {
		left := p.timeout - p.inVain()
		if p.since.IsZero() {
			// it does not become less until a method reads
			left = max(left, p.timeout/8)
		}
		after = min(after, left)
	}
	if !p.stopped {
		p.timer.Reset(max(after, time.Millisecond))
	}
}

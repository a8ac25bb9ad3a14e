package fasthttp

import (
	"net"
	"time"
)

// defaultBodyRateGrace is Server.MinRequestBodyRateGrace if it is not set.
const defaultBodyRateGrace = 5 * time.Second

// pace is how much of its time a body that must come at a minimum rate has left. It
// begins with the grace; bytes that come add to that, and waiting takes from it.
// There is never more of it than the grace, so a client that has sent much cannot
// hold the rest back for long.
type pace struct {
	begun bool
	left  time.Duration
	since time.Time // when the wait began that is under way, for a body that is buffered
	got   int64     // bytes by then
}

// spend records that n bytes have come during a wait for the peer.
func (p *pace) spend(s *Server, waited time.Duration, n int64) {
	grace := s.set.bodyRateGrace
	if !p.begun {
		p.begun, p.left = true, grace
		return
	}
	earned := time.Duration(float64(n) / float64(s.MinRequestBodyRate) * float64(time.Second))
	p.left = min(p.left-waited+min(earned, grace), grace)
}

// paceUntil returns when the wait ends that is about to begin for more of a buffered
// body: at the time until, if not before.
func (x *h1Exchange) paceUntil(until time.Time) time.Time {
	if x.s.MinRequestBodyRate <= 0 {
		return until
	}
	p, now := &x.pace, time.Now()
	p.spend(x.s, now.Sub(p.since), x.recv.got-p.got)
	p.since, p.got = now, x.recv.got
	return sooner(until, now.Add(p.left))
}

// awaitPaced is awaitBody for a body that a handler reads. The time that the handler
// takes does not count.
func (x *h1Exchange) awaitPaced(conn net.Conn) (int, error) {
	if x.s.MinRequestBodyRate <= 0 {
		return x.awaitBody(conn)
	}
	p, now := &x.pace, time.Now()
	if !p.begun {
		p.spend(x.s, 0, 0)
	}
	x.h.link.LimitReads(sooner(x.h.readUntil, now.Add(p.left)))
	if x.cut.Load() {
		// LimitReads may have replaced the deadline that ends the reading
		return 0, errReadingCut
	}
	n, err := x.awaitBody(conn)
	p.spend(x.s, time.Since(now), int64(n))
	return n, err
}

// endPace does away with the deadline of the last wait.
func (x *h1Exchange) endPace() {
	x.pace = pace{}
	x.h.link.LimitReads(x.h.readUntil)
}

// passed reports whether a time has come that is not the zero time.
func passed(until time.Time) bool { return !until.IsZero() && !time.Now().Before(until) }

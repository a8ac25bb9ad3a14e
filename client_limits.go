package fasthttp

import "time"

// limitHead gives the head of the response its deadline, and keeps the one of the
// rest for limitBody.
func (x *clientExchange) limitHead() error {
	hc, now := x.hc, time.Now()
	x.until = x.call.deadline
	if hc.ReadTimeout > 0 {
		x.until = earliest(x.until, now.Add(hc.ReadTimeout))
	}
	x.cc.limitRead(earliest(x.until, now.Add(hc.ResponseHeaderTimeout)))
	return x.call.canceled()
}

// limitBody gives the response its deadline behind a head that had one of its own.
func (x *clientExchange) limitBody() error {
	x.cc.limitRead(x.until)
	return x.call.canceled()
}

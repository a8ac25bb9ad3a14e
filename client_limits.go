package fasthttp

import "time"

// limitWrite gives the request its deadline, and the response the same until the
// request is written.
func (x *clientExchange) limitWrite() error {
	deadline := x.call.deadline
	if timeout := x.hc.WriteTimeout; timeout > 0 {
		deadline = earliest(deadline, time.Now().Add(timeout))
	}
	return x.cc.guard.limitRequest(deadline)
}

// limitsAnswers reports whether a response has other deadlines than its request.
func (c *HostClient) limitsAnswers() bool {
	return c.ReadTimeout > 0 || c.WriteTimeout > 0 || c.ResponseHeaderTimeout > 0
}

// limitAnswer gives the response to a request that was just written its deadlines,
// in a call with the deadline.
func (c *HostClient) limitAnswer(g *connGuard, deadline time.Time) error {
	by := c.answerBy(deadline)
	if c.ResponseHeaderTimeout <= 0 {
		return g.limitRead(by)
	}
	return g.limitAnswer(time.Now().Add(c.ResponseHeaderTimeout), by)
}

// limitDraining is limitAnswer for a request that could not be written to its end:
// only what has come by then is of interest.
func (c *HostClient) limitDraining(g *connGuard, deadline time.Time) error {
	return g.limitRead(earliest(c.answerBy(deadline), time.Now().Add(drainingTime)))
}

// answerBy returns when a response must be there whose request was just written,
// in a call with the deadline.
func (c *HostClient) answerBy(deadline time.Time) time.Time {
	if c.ReadTimeout <= 0 {
		return deadline
	}
	return earliest(deadline, time.Now().Add(c.ReadTimeout))
}

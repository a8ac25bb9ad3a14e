package fasthttp

import (
	"time"

	"github.com/valyala/fasthttp/internal/clientconn"
	"github.com/valyala/fasthttp/internal/clock"
)

// limitWrite gives the request its deadline, and the response the same until the
// request is written.
func (x *clientExchange) limitWrite() error {
	deadline := x.call.deadline
	if timeout := x.hc.WriteTimeout; timeout > 0 {
		deadline = clock.Earliest(deadline, time.Now().Add(timeout))
	}
	return x.cc.line.Guard.LimitRequest(deadline)
}

// limitsAnswers reports whether a response has other deadlines than its request.
func (c *HostClient) limitsAnswers() bool {
	return c.ReadTimeout > 0 || c.WriteTimeout > 0 || c.ResponseHeaderTimeout > 0
}

// limitAnswer gives the response to a request that was just written its deadlines,
// in a call with the deadline.
func (c *HostClient) limitAnswer(g *clientconn.Guard, deadline time.Time) error {
	by := c.answerBy(deadline)
	if c.ResponseHeaderTimeout <= 0 {
		return g.LimitRead(by)
	}
	return g.LimitAnswer(time.Now().Add(c.ResponseHeaderTimeout), by)
}

// limitDraining is limitAnswer for a request that could not be written to its end:
// only what has come by then is of interest.
func (c *HostClient) limitDraining(g *clientconn.Guard, deadline time.Time) error {
	return g.LimitRead(clock.Earliest(c.answerBy(deadline), time.Now().Add(drainingTime)))
}

// answerBy returns when a response must be there whose request was just written,
// in a call with the deadline.
func (c *HostClient) answerBy(deadline time.Time) time.Time {
	if c.ReadTimeout <= 0 {
		return deadline
	}
	return clock.Earliest(deadline, time.Now().Add(c.ReadTimeout))
}

// drainingTime is how long responses are waited for after requests cannot be sent
// any more.
const drainingTime = 250 * time.Millisecond

package fasthttp

import (
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/http1"
)

// defaultExpectTimeout is how long a server that says nothing is given to ask for
// the content of a request: one that knows nothing of expectations does not
// answer before it has all of it.
const defaultExpectTimeout = time.Second

func (c *HostClient) expectTimeout() time.Duration {
	if c.ExpectContinueTimeout <= 0 {
		return defaultExpectTimeout
	}
	return c.ExpectContinueTimeout
}

// expectsContinue reports whether the head of the request goes out alone, to find
// out first whether the server wants the content (RFC 9110 section 10.1.1).
func (x *clientExchange) expectsContinue(content []byte) bool {
	return (len(content) > 0 || x.req.body.stream != nil) && x.req.MayContinue()
}

// awaitContinue waits until the server asks for the content, answers without
// having seen it, or has said nothing for too long.
func (x *clientExchange) awaitContinue() error {
	if trace := x.call.trace; trace != nil && trace.Wait100Continue != nil {
		trace.Wait100Continue()
	}
	cc, call := x.cc, x.call
	until := time.Now().Add(x.hc.expectTimeout())
	for x.awaitsHead() {
		if len(cc.peek()) == 0 {
			if err := cc.line.Guard.LimitRead(clock.Earliest(call.deadline, until)); err != nil {
				return err
			}
			err := x.receive()
			if isTimeout(err) && !call.expired() && cc.line.Guard.Err() == nil {
				return x.sendExpected()
			}
			if err != nil {
				return err
			}
		}
		// what has begun to come has the time that a response has
		if err := x.hc.limitAnswer(&cc.line.Guard, call.deadline); err != nil {
			return err
		}
		if err := x.nextHead(); err != nil {
			return err
		}
		if x.resp.Header.status == StatusContinue {
			return x.sendExpected()
		}
	}
	cc.wire.Advance(http1.SendStops)
	x.traceWrote(wroteRequest, nil)
	if !x.hc.limitsAnswers() {
		return nil
	}
	return x.hc.limitAnswer(&cc.line.Guard, call.deadline)
}

// sendExpected writes the content of a request whose head was written before.
func (x *clientExchange) sendExpected() error {
	if err := x.limitWrite(); err != nil {
		return err
	}
	return x.sendContent(bufpool.Get(x.hc.writeSize()), x.req.content())
}

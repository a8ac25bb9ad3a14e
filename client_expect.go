package fasthttp

import (
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
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

// expectsContinue tells whether the head of the request goes out alone, to find
// out first whether the server wants the content (RFC 9110 section 10.1.1).
func (x *clientExchange) expectsContinue() bool {
	req := x.req
	return (req.body.stream != nil || len(req.content()) > 0) && req.MayContinue()
}

// awaitContinue waits until the server asks for the content, answers without
// having seen it, or has said nothing for too long.
func (x *clientExchange) awaitContinue() error {
	if trace := x.call.trace; trace != nil && trace.Wait100Continue != nil {
		trace.Wait100Continue()
	}
	cc, call := x.cc, x.call
	until := time.Now().Add(x.hc.expectTimeout())
	for !x.answered {
		if len(cc.peek()) == 0 {
			cc.limitRead(earliest(call.deadline, until))
			if err := call.canceled(); err != nil {
				return err
			}
			err := x.receive()
			if isTimeout(err) && !call.expired() && call.canceled() == nil {
				return nil
			}
			if err != nil {
				return err
			}
		}
		// what has begun to come has the time that a response has
		cc.limitRead(call.deadline)
		if err := x.limitRead(); err != nil {
			return err
		}
		if err := x.nextHead(); err != nil {
			return err
		}
		if x.resp.Header.status == StatusContinue {
			return nil
		}
	}
	return nil
}

// sendContent writes the content of a request whose head was written before,
// unless there is an answer without it.
func (x *clientExchange) sendContent() error {
	var err error
	if !x.answered {
		if err = x.limitWrite(); err != nil {
			return err
		}
		out := bufpool.Get(x.hc.writeSize())
		err = x.write(out)
		x.cc.receiveInto(out)
	}
	if x.call.trace != nil {
		traceWroteRequest(x.call.trace, err)
	}
	return err
}

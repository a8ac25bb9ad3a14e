package fasthttp

import (
	"errors"

	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

var _ recvbuf.Source = (*h1Exchange)(nil)

// newSource returns the source of the body of the current request, to be started.
func (x *h1Exchange) newSource() *h1Content {
	c := x.spare
	if x.spare = nil; c == nil {
		c = new(h1Content)
	}
	x.toDrain = drainLimit
	return c
}

// reclaim takes the source of a request that has ended. A request whose context is
// left to the application keeps its source, which may be read at any time.
func (x *h1Exchange) reclaim(source contentSource) {
	if c, ok := source.(*h1Content); ok {
		c.clear()
		x.spare = c
	}
}

// Peek implements recvbuf.Source: the body of a request that is a stream is read from
// its exchange.
func (x *h1Exchange) Peek() []byte { return x.h.pending() }

// Discard implements recvbuf.Source.
func (x *h1Exchange) Discard(n int) {
	if n > 0 {
		x.h.consume(n)
	}
}

// Fill implements recvbuf.Source.
func (x *h1Exchange) Fill() error {
	if x.cut.Load() {
		return errReadingCut
	}
	if err := x.goOn(); err != nil {
		return err
	}
	n, err := x.awaitPaced(x.h.blocking())
	if n > 0 {
		if x.held != nil {
			x.held.Progress(n)
		}
		x.h.Received(n, 0)
		return nil
	}
	return err
}

// errReadingCut is the error of reading a body that was still arriving when its
// handler timed out.
var errReadingCut = errors.New("fasthttp: the rest of the body is not read since the handler has timed out")

// goOn sends 100 (Continue) to a client that waits for it before it sends a body that
// is a stream, and flushes output that the client may wait for before it sends more.
// If the stream has a goroutine of its own, the other goroutine handles the response.
func (x *h1Exchange) goOn() error {
	if !x.duplex {
		x.sayContinue()
		return x.flushNow()
	}
	x.continuing.Lock()
	defer x.continuing.Unlock()
	if x.h.conn.Waiting() != http1.WaitOpen {
		return nil
	}
	x.sayContinue()
	return x.flushNow()
}

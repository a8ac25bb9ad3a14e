package integrationtests

import (
	"bufio"
	"fmt"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// watchIn makes the late handler begin to watch its client in a stage, and returns its
// channel.
func watchIn(t *testing.T, r *lateRequest, at, watch stage) (done <-chan struct{}) {
	t.Helper()
	if at == watch {
		r.do(t, func(ctx *fasthttp.RequestCtx) {
			ctx.WatchDisconnect()
			done = ctx.Done()
		})
	}
	return done
}

// TestPanicAroundALateHandlerTellsIt has the handler around a late one panic: the client gets
// neither response.
func TestPanicAroundALateHandlerTellsIt(t *testing.T) {
	t.Parallel()
	forEachAsker(t, func(t *testing.T, start func(s *fasthttp.Server) func() client) {
		requests := make(chan servedLate, 1)
		dial := start(lateServer(t, requests))
		for name, how := range latenesses {
			for watch := how.begins; watch <= atAnswer; watch++ {
				what, r := fmt.Sprintf("%s, watches: %v", name, watch), newLateRequest(t)
				requests <- servedLate{r, how.around(r), func(*fasthttp.RequestCtx) { panic("a mistake") }}
				c := dial()
				c.get("/")
				var own <-chan struct{}
				for at := atRun; at <= atAnswer; at++ {
					r.reach(t, what, at, how.begins, c.await)
					if done := watchIn(t, r, at, watch); done != nil {
						own = done
					}
				}
				servertest.Receive(t, what+": the end of the context", own)
				r.end(t)
				c.leave()
			}
		}
	})
}

// TestHandlerAroundALateOneSeesItsClientLeave has handlers around late ones watch their
// clients, whichever handler has begun to watch before.
func TestHandlerAroundALateOneSeesItsClientLeave(t *testing.T) {
	t.Parallel()
	forEachAsker(t, func(t *testing.T, start func(s *fasthttp.Server) func() client) {
		requests := make(chan servedLate, 1)
		dial := start(lateServer(t, requests))
		for _, name := range []string{"timeout", "outer of two timeouts", "inner of two timeouts", "timeout before another handler"} {
			for _, watch := range []stage{atRun, atLate, atNever} {
				what, r := fmt.Sprintf("%s, watches: %v", name, watch), newLateRequest(t)
				waits, left := make(chan struct{}), make(chan error, 1)
				requests <- servedLate{r, latenesses[name].around(r), func(ctx *fasthttp.RequestCtx) {
					ctx.WatchDisconnect()
					done := ctx.Done()
					close(waits)
					r.wait(done)
					left <- ctx.Err()
				}}
				c := dial()
				c.get("/")
				servertest.Receive(t, what+": the handler", r.begun)
				own := watchIn(t, r, atRun, watch)
				servertest.Receive(t, what+": the handlers around it", r.late)
				if done := watchIn(t, r, atLate, watch); done != nil {
					own = done
				}
				close(r.answer)
				servertest.Receive(t, what+": the handler around it", waits)
				c.leave()
				servertest.Receive(t, what+": the end of the client", left)
				if own != nil {
					servertest.Receive(t, what+": the end of the context", own)
				}
				r.end(t)
			}
		}
	})
}

// streamsAround is a handler around a late one that watches the client, before it calls the
// late one or later, and responds with a stream. The stream lasts until the channel goOn is
// closed, or until the client disconnects, which the channel leaves reports.
type streamsAround struct {
	early              bool
	done               <-chan struct{}
	sent, goOn, leaves chan struct{}
	stop               <-chan struct{} // the test has ended
}

func (s *streamsAround) watch(ctx *fasthttp.RequestCtx) {
	ctx.WatchDisconnect()
	s.done = ctx.Done()
}

func (s *streamsAround) around(late fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if s.early {
			s.watch(ctx)
		}
		late(ctx)
		if !s.early {
			s.watch(ctx)
		}
	}
}

func (s *streamsAround) respond(ctx *fasthttp.RequestCtx) {
	ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
		_, _ = w.WriteString("event")
		_ = w.Flush()
		s.sent <- struct{}{}
		select {
		case <-s.done:
			s.leaves <- struct{}{}
		case <-s.goOn:
		case <-s.stop:
		}
	})
}

// TestStreamAroundALateHandlerGoesOn has the handler around a late one respond with a stream
// whose producer watches the client, as the late one does. The producer's context ends when
// the client disconnects, and not before; the late handler's context ends when the client has
// the response.
func TestStreamAroundALateHandlerGoesOn(t *testing.T) {
	t.Parallel()
	forEachAsker(t, func(t *testing.T, start func(s *fasthttp.Server) func() client) {
		requests := make(chan servedLate, 1)
		s := lateServer(t, requests)
		s.StreamRequestBody = true
		dial := start(s)
		for _, name := range []string{"timeout", "outer of two timeouts", "inner of two timeouts"} {
			for _, early := range []bool{true, false} {
				for _, end := range []string{"ends", "is left", "ends the connection"} {
					what := fmt.Sprintf("%s, the one around it watches early: %v, the stream %s", name, early, end)
					c := dial()
					h1, isHTTP1 := c.(http1Asker)
					if !isHTTP1 && end == "ends the connection" {
						continue
					}
					r := newLateRequest(t)
					stream := &streamsAround{early: early, sent: make(chan struct{}, 1), goOn: make(chan struct{}), leaves: make(chan struct{}, 1), stop: t.Context().Done()}
					requests <- servedLate{r, stream.around(latenesses[name].around(r)), stream.respond}
					if end == "ends the connection" {
						// the late handler may read the body while it arrives
						h1.Send(half("1.1"))
					} else {
						c.get("/")
					}
					servertest.Receive(t, what+": the handler", r.begun)
					own := watchIn(t, r, atRun, atRun)
					servertest.Receive(t, what+": the handlers around it", r.late)
					close(r.answer)
					servertest.Receive(t, what+": the stream", stream.sent)
					if end == "is left" {
						c.leave()
						servertest.Receive(t, what+": the end of the client", stream.leaves)
					} else {
						if servertest.IsClosed(own) {
							t.Errorf("%s: the client has left", what)
						}
						close(stream.goOn)
						c.expect(408, "event")
					}
					servertest.Receive(t, what+": the end of the context", own)
					if len(stream.leaves) > 0 {
						t.Errorf("%s: the client has left", what)
					}
					r.end(t)
					if end == "ends" {
						c.get("/next")
						c.expect(200, "<nil>")
					}
				}
			}
		}
	})
}

// TestContextsOfARequestShareAWatch has two contexts of a request begin to watch the client
// while a handler with a time limit runs, in either order. Both end when the client
// disconnects; otherwise the watch reads nothing of the next request.
func TestContextsOfARequestShareAWatch(t *testing.T) {
	t.Parallel()
	forEachAsker(t, func(t *testing.T, start func(s *fasthttp.Server) func() client) {
		waits, left := make(chan struct{}, 1), make(chan struct{}, 2)
		dial := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			order := string(ctx.QueryArgs().Peek("order"))
			var outer, inner <-chan struct{}
			inTime(func(within *fasthttp.RequestCtx) {
				for _, who := range order {
					switch who {
					case 'o':
						ctx.WatchDisconnect()
						outer = ctx.Done()
					case 'i':
						within.WatchDisconnect()
						inner = within.Done()
					}
				}
			})(ctx)
			if string(ctx.Path()) != "/leave" {
				fmt.Fprint(ctx, ctx.Err())
				return
			}
			waits <- struct{}{}
			for _, done := range []<-chan struct{}{outer, inner} {
				if done != nil {
					<-done
				}
				left <- struct{}{}
			}
		}})
		for _, order := range []string{"o", "i", "oi", "io"} {
			c := dial()
			for range 3 {
				c.get("/?order=" + order)
				c.expect(200, "<nil>")
			}
			c.get("/leave?order=" + order)
			servertest.Receive(t, "the handler", waits)
			c.leave()
			servertest.Receive(t, order+": the end of the outer context", left)
			servertest.Receive(t, order+": the end of the inner context", left)
		}
	})
}

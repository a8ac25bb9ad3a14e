package integrationtests

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// soon is a time limit that passes while the handler waits. It limits nothing that must
// succeed.
const soon = time.Millisecond

// stage is the progress of a request whose client gets another response than the handler's.
type stage int

const (
	atRun    stage = iota // the handler has begun
	atLate                // the handlers around it know that it is late, and have not returned
	atAnswer              // the client has the other response
	atNever
)

func (s stage) String() string { return [...]string{"running", "late", "answered", "never"}[s] }

// lateRequest is a request whose handler executes the test's functions in each stage.
type lateRequest struct {
	begin, begun chan struct{} // for handlers that do not begin at once
	acts         chan func(ctx *fasthttp.RequestCtx)
	acted        chan struct{}
	late, answer chan struct{} // the handlers around it know, and may return
	ended        chan struct{}
	stop         <-chan struct{} // the test has ended
}

func newLateRequest(t *testing.T) *lateRequest {
	return &lateRequest{
		begin: make(chan struct{}), begun: make(chan struct{}), acts: make(chan func(*fasthttp.RequestCtx), 1),
		acted: make(chan struct{}, 1), late: make(chan struct{}, 1), answer: make(chan struct{}), ended: make(chan struct{}),
		stop: t.Context().Done(),
	}
}

// handle is the late handler.
func (r *lateRequest) handle(ctx *fasthttp.RequestCtx) {
	defer close(r.ended)
	close(r.begun)
	for {
		select {
		case act, ok := <-r.acts:
			if !ok {
				return
			}
			act(ctx)
			r.acted <- struct{}{}
		case <-r.stop:
			return
		}
	}
}

// wait waits until a channel is closed, or the test has ended.
func (r *lateRequest) wait(c <-chan struct{}) {
	select {
	case <-c:
	case <-r.stop:
	}
}

// do makes the late handler call f.
func (r *lateRequest) do(t *testing.T, f func(ctx *fasthttp.RequestCtx)) {
	t.Helper()
	r.acts <- f
	servertest.Receive(t, "the end of a step of the handler", r.acted)
}

// end makes the late handler return.
func (r *lateRequest) end(t *testing.T) {
	t.Helper()
	close(r.acts)
	servertest.Receive(t, "the end of the late handler", r.ended)
}

// inTime is h with a time limit that it keeps.
func inTime(h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return fasthttp.TimeoutHandler(h, servertest.Never, "not this one")
}

// tooSlow is h with a time limit that passes.
func tooSlow(h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return fasthttp.TimeoutHandler(h, soon, "late")
}

// leftBehind leaves its context to h, and then calls TimeoutError.
func leftBehind(r *lateRequest, h fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		go h(ctx)
		r.wait(r.begun)
		ctx.TimeoutError("late")
	}
}

// latenesses are the ways in which a handler may be late, and the stages in which it begins.
var latenesses = map[string]struct {
	around func(r *lateRequest) fasthttp.RequestHandler
	begins stage
}{
	"timeout": {func(r *lateRequest) fasthttp.RequestHandler { return tooSlow(r.handle) }, atRun},
	"outer of two timeouts": {func(r *lateRequest) fasthttp.RequestHandler {
		return tooSlow(inTime(r.handle))
	}, atRun},
	"inner of two timeouts": {func(r *lateRequest) fasthttp.RequestHandler {
		return inTime(tooSlow(r.handle))
	}, atRun},
	"both of two timeouts": {func(r *lateRequest) fasthttp.RequestHandler {
		return tooSlow(tooSlow(r.handle))
	}, atRun},
	"outer of three timeouts": {func(r *lateRequest) fasthttp.RequestHandler {
		return tooSlow(inTime(inTime(r.handle)))
	}, atRun},
	"timeout before another handler": {func(r *lateRequest) fasthttp.RequestHandler {
		late, next := tooSlow(r.handle), inTime(func(*fasthttp.RequestCtx) {})
		return func(ctx *fasthttp.RequestCtx) {
			late(ctx)
			next(ctx)
		}
	}, atRun},
	"timeout before another one": {func(r *lateRequest) fasthttp.RequestHandler {
		late, next := tooSlow(r.handle), tooSlow(func(*fasthttp.RequestCtx) { r.wait(r.answer) })
		return func(ctx *fasthttp.RequestCtx) {
			late(ctx)
			next(ctx)
		}
	}, atRun},
	"TimeoutError": {func(r *lateRequest) fasthttp.RequestHandler { return leftBehind(r, r.handle) }, atRun},
	"TimeoutError under a timeout": {func(r *lateRequest) fasthttp.RequestHandler {
		return inTime(leftBehind(r, r.handle))
	}, atRun},
	"TimeoutError beside an inner handler": {func(r *lateRequest) fasthttp.RequestHandler {
		return leftBehind(r, inTime(r.handle))
	}, atRun},
	"TimeoutError beside an inner handler, under a timeout": {func(r *lateRequest) fasthttp.RequestHandler {
		return inTime(leftBehind(r, inTime(r.handle)))
	}, atRun},
	"begun by a late handler": {func(r *lateRequest) fasthttp.RequestHandler {
		return tooSlow(func(ctx *fasthttp.RequestCtx) {
			r.wait(r.begin)
			inTime(r.handle)(ctx)
		})
	}, atLate},
	"begun by a late handler, after the answer": {func(r *lateRequest) fasthttp.RequestHandler {
		return tooSlow(func(ctx *fasthttp.RequestCtx) {
			r.wait(r.begin)
			inTime(inTime(r.handle))(ctx)
		})
	}, atAnswer},
	"begun after TimeoutError": {func(r *lateRequest) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) {
			go func() {
				r.wait(r.begin)
				inTime(r.handle)(ctx)
			}()
			ctx.TimeoutError("late")
		}
	}, atLate},
	"begun after TimeoutError, after the answer": {func(r *lateRequest) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) {
			go func() {
				r.wait(r.begin)
				inTime(r.handle)(ctx)
			}()
			ctx.TimeoutError("late")
		}
	}, atAnswer},
}

// client is a client of either protocol that sends requests one after the other.
type client interface {
	get(path string)
	expect(status int, content string)
	await() // any end of the response
	leave()
}

type http1Asker struct{ *servertest.Conn }

func (c http1Asker) get(path string)                   { c.Get(path) }
func (c http1Asker) expect(status int, content string) { c.Expect(status, content) }
func (c http1Asker) await()                            { c.Next("GET") }
func (c http1Asker) leave()                            { _ = c.Close() }

type http2Asker struct {
	*frameConn
	id uint32
}

func (c *http2Asker) get(path string) {
	c.id += 2
	c.Begin(c.id, true, "GET", path)
}

func (c *http2Asker) expect(status int, content string) {
	c.ExpectResponse(c.id, strconv.Itoa(status), content)
}

func (c *http2Asker) await() { c.Response(c.id) }

func (c *http2Asker) leave() { _ = c.Close() }

// forEachAsker runs a test on every engine and with both protocols. dial connects to a server
// that start has started.
func forEachAsker(t *testing.T, test func(t *testing.T, start func(s *fasthttp.Server) (dial func() client))) {
	t.Run("HTTP1", func(t *testing.T) {
		t.Parallel()
		forEachEngine(t, func(t *testing.T, start starter) {
			t.Parallel()
			test(t, func(s *fasthttp.Server) func() client {
				ts := start(s)
				return func() client { return http1Asker{ts.Dial()} }
			})
		})
	})
	t.Run("HTTP2", func(t *testing.T) {
		overHTTP2(t, func(t *testing.T, start http2Starter) {
			test(t, func(s *fasthttp.Server) func() client {
				ts := start(s)
				return func() client { return &http2Asker{frameConn: ts.dialFrames(t), id: ^uint32(0)} }
			})
		})
	})
}

// lateServer serves the requests that it receives from the channel, and others.
func lateServer(t *testing.T, requests <-chan servedLate) *fasthttp.Server {
	return &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) != "/" {
			fmt.Fprint(ctx, ctx.Err())
			return
		}
		served := <-requests
		served.around(ctx)
		if err := ctx.Err(); err != nil {
			t.Errorf("the handler around it: %v", err)
		}
		served.late <- struct{}{}
		served.wait(served.answer)
		if served.then != nil {
			served.then(ctx)
		}
	}}
}

// servedLate is a late request with the handlers around it; then is what the outermost of
// them does in the end.
type servedLate struct {
	*lateRequest
	around, then fasthttp.RequestHandler
}

// TestLateHandlerIsToldOfTheAnswer has late handlers begin to watch their clients, and derive
// contexts, in each stage of their requests. Their contexts end when the client has the other
// response, whenever they begin to watch, and not before. Contexts of handlers that do not
// watch do not end.
func TestLateHandlerIsToldOfTheAnswer(t *testing.T) {
	t.Parallel()
	forEachAsker(t, func(t *testing.T, start func(s *fasthttp.Server) func() client) {
		requests := make(chan servedLate, 1)
		dial := start(lateServer(t, requests))
		all := lateServer(t, requests)
		all.CancelOnDisconnect = true
		dialAll := start(all)
		for name, how := range latenesses {
			c, cAll := dial(), dialAll()
			for derive := how.begins; derive <= atNever; derive++ {
				for watch := how.begins; watch <= atNever; watch++ {
					what := fmt.Sprintf("%s, derives: %v, watches: %v", name, derive, watch)
					r := newLateRequest(t)
					requests <- servedLate{r, how.around(r), nil}
					toldOfTheAnswer(t, what, c, r, how.begins, derive, watch, (*fasthttp.RequestCtx).WatchDisconnect)
				}
				// with CancelOnDisconnect a derived context watches
				r := newLateRequest(t)
				requests <- servedLate{r, how.around(r), nil}
				toldOfTheAnswer(t, fmt.Sprintf("%s, derives and watches: %v", name, derive), cAll, r, how.begins, derive, derive, func(ctx *fasthttp.RequestCtx) { _ = ctx.Done() })
			}
		}
	})
}

// reach brings a request to a stage, in which its handler may begin. Once it may be answered,
// answered checks the response.
func (r *lateRequest) reach(t *testing.T, what string, at, begins stage, answered func()) {
	t.Helper()
	switch at {
	case atLate:
		servertest.Receive(t, what+": the handlers around it", r.late)
	case atAnswer:
		close(r.answer)
		answered()
	}
	if at == begins {
		close(r.begin)
		servertest.Receive(t, what+": the handler", r.begun)
	}
}

func toldOfTheAnswer(t *testing.T, what string, c client, r *lateRequest, begins, derive, watch stage, begin func(ctx *fasthttp.RequestCtx)) {
	t.Helper()
	c.get("/")
	var own <-chan struct{}
	var derived context.Context
	for at := atRun; at <= atAnswer; at++ {
		r.reach(t, what, at, begins, func() { c.expect(408, "late") })
		if at < begins {
			continue
		}
		r.do(t, func(ctx *fasthttp.RequestCtx) {
			if at == derive {
				inner, cancel := context.WithCancel(ctx)
				t.Cleanup(cancel)
				derived = inner
			}
			if at == watch {
				begin(ctx)
				own = ctx.Done()
			}
		})
		told := at == atAnswer && watch != atNever
		if told {
			servertest.Receive(t, what+": the end of the context", own)
		}
		if told && derived != nil {
			servertest.Receive(t, what+": the end of the derived context", derived.Done())
		}
		if !told && (own != nil && servertest.IsClosed(own) || derived != nil && derived.Err() != nil) {
			t.Errorf("%s: told when %v", what, at)
		}
	}
	r.end(t)
	c.get("/next")
	c.expect(200, "<nil>")
}

// TestShutdownEndsLateHandlers has handlers that do not watch their clients derive contexts
// in each stage of their requests. A shutdown ends these in each later stage.
func TestShutdownEndsLateHandlers(t *testing.T) {
	t.Parallel()
	forEachAsker(t, func(t *testing.T, start func(s *fasthttp.Server) func() client) {
		for name, how := range latenesses {
			for derive := how.begins; derive <= atAnswer; derive++ {
				for stop := max(derive, atLate); stop <= atAnswer; stop++ {
					t.Run(fmt.Sprintf("%s, derives: %v, shut down: %v", name, derive, stop), func(t *testing.T) {
						requests := make(chan servedLate, 1)
						s := lateServer(t, requests)
						c, r := start(s)(), newLateRequest(t)
						requests <- servedLate{r, how.around(r), nil}
						endedByShutdown(t, s, c, r, how.begins, derive, stop)
					})
				}
			}
		}
	})
}

func endedByShutdown(t *testing.T, s *fasthttp.Server, c client, r *lateRequest, begins, derive, stop stage) {
	c.get("/")
	var derived context.Context
	stopped := make(chan error, 1)
	for at := atRun; at <= atAnswer; at++ {
		r.reach(t, "shutdown", at, begins, func() { c.expect(408, "late") })
		if at == derive {
			r.do(t, func(ctx *fasthttp.RequestCtx) {
				inner, cancel := context.WithCancel(ctx)
				t.Cleanup(cancel)
				derived = inner
			})
		}
		if at == stop {
			if derived.Err() != nil {
				t.Error("the context has ended before the shutdown")
			}
			go func() { stopped <- s.Shutdown() }()
			servertest.Receive(t, "the end of the context", derived.Done())
		}
	}
	r.end(t)
	c.leave()
	servertest.Must(t, servertest.Receive(t, "the shutdown", stopped))
}

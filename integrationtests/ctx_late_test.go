package integrationtests

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
)

// Goroutines of a handler may call Done and Err late, as database/sql does: by then the
// handler may have returned, and the context may belong to another request, or to none.
func TestDoneAndErrMayBeAskedAfterTheHandlerHasReturned(t *testing.T) {
	t.Parallel()
	for _, forAll := range []bool{false, true} {
		for name, around := range map[string]func(fasthttp.RequestHandler) fasthttp.RequestHandler{
			"bare":           func(h fasthttp.RequestHandler) fasthttp.RequestHandler { return h },
			"TimeoutHandler": inTime,
		} {
			t.Run(fmt.Sprintf("%s, CancelOnDisconnect %v", name, forAll), func(t *testing.T) {
				forEachAsker(t, func(t *testing.T, start func(s *fasthttp.Server) (dial func() client)) {
					testLateAsking(t, start, around, forAll)
				})
			})
		}
	}
}

// lateQuestions is how often a goroutine asks at each step of the test.
const lateQuestions = 20

func testLateAsking(t *testing.T, start func(s *fasthttp.Server) (dial func() client), around func(fasthttp.RequestHandler) fasthttp.RequestHandler, forAll bool) {
	const rounds, requests = 2, 12
	// The goroutines ask at each step, and not all the time, since that would take most of the time
	// of the other tests. All tokens fit, also if a goroutine has found a fault and takes none.
	steps := make(chan struct{}, rounds*(3*requests+1)*2*rounds)
	step := func() {
		for range 2 * rounds {
			steps <- struct{}{}
		}
	}
	var askers sync.WaitGroup
	dial := start(&fasthttp.Server{CancelOnDisconnect: forAll, Handler: around(func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/asks" {
			askers.Go(func() {
				for range steps {
					if !askLate(t, ctx) {
						return
					}
				}
			})
		}
		step()
		ctx.SetBodyString("answered")
	})})
	for range rounds {
		c := dial()
		for i := range requests {
			path := "/asks"
			if i > 1 {
				path = "/"
			}
			step()
			c.get(path)
			c.expect(200, "answered")
			step()
		}
		c.leave()
		step()
	}
	close(steps)
	askers.Wait()
}

// askLate asks a context that may be of another request by now, and reports whether it may be
// asked again.
func askLate(t *testing.T, ctx *fasthttp.RequestCtx) bool {
	for range lateQuestions {
		if ctx.Done() == nil {
			t.Error("there is no channel")
			return false
		}
		if err := ctx.Err(); err != nil && err != context.Canceled {
			t.Errorf("Err is %v", err)
		}
		_, _ = ctx.Deadline()
		runtime.Gosched()
	}
	return true
}

package integrationtests

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
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

func testLateAsking(t *testing.T, start func(s *fasthttp.Server) (dial func() client), around func(fasthttp.RequestHandler) fasthttp.RequestHandler, forAll bool) {
	enough := make(chan struct{})
	var askers sync.WaitGroup
	dial := start(&fasthttp.Server{CancelOnDisconnect: forAll, Handler: around(func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/asks" {
			askers.Go(func() {
				for !servertest.IsClosed(enough) {
					if ctx.Done() == nil {
						t.Error("there is no channel")
						return
					}
					if err := ctx.Err(); err != nil && err != context.Canceled {
						t.Errorf("Err is %v", err)
					}
					_, _ = ctx.Deadline()
					runtime.Gosched()
				}
			})
		}
		ctx.SetBodyString("answered")
	})})
	for range 2 {
		c := dial()
		for i := range 12 {
			path := "/asks"
			if i > 1 {
				path = "/"
			}
			c.get(path)
			c.expect(200, "answered")
		}
		c.leave()
	}
	close(enough)
	askers.Wait()
}

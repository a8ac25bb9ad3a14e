package pprofhandler_test

import (
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/pprofhandler"
)

// The profiles have their own paths beside those of the program.
func ExamplePprofHandler() {
	handler := func(ctx *fasthttp.RequestCtx) {
		if strings.HasPrefix(string(ctx.Path()), "/debug/pprof/") {
			pprofhandler.PprofHandler(ctx)
			return
		}
		ctx.WriteString("hello")
	}

	for _, target := range []string{"/", "/debug/pprof/goroutine?debug=1"} {
		var req fasthttp.Request
		req.SetRequestURI(target)
		var ctx fasthttp.RequestCtx
		ctx.Init(&req, nil, nil)
		handler(&ctx)
		text, _, _ := strings.Cut(string(ctx.Response.Body()), ":")
		fmt.Println(text)
	}
	// Output:
	// hello
	// goroutine profile
}

package expvarhandler_test

import (
	"expvar"
	"fmt"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/expvarhandler"
)

var orders = expvar.NewInt("orders")

// ExpvarHandler serves the variables on one path, and the program serves the others.
func ExampleExpvarHandler() {
	handler := func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/debug/vars":
			expvarhandler.ExpvarHandler(ctx)
		default:
			orders.Add(1)
		}
	}

	for _, target := range []string{"/order", "/order", "/debug/vars?r=^orders$"} {
		var req fasthttp.Request
		req.SetRequestURI(target)
		var ctx fasthttp.RequestCtx
		ctx.Init(&req, nil, nil)
		handler(&ctx)
		fmt.Printf("%s", ctx.Response.Body())
	}
	// Output:
	// {
	// 	"orders": 2
	// }
}

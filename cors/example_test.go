package cors_test

import (
	"fmt"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/cors"
)

// A server whose responses pages of some other origins can read.
func ExamplePolicy_Attach() {
	policy, err := cors.New(cors.Options{
		Origins: []string{"https://example.com", "https://*.example.org"},
		Methods: []string{"PUT"},
		Headers: []string{"Content-Type"},
	})
	if err != nil {
		panic(err)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.NotFound() }}
	policy.Attach(server)

	var req fasthttp.Request
	req.SetRequestURI("/")
	req.Header.Set("Origin", "https://app.example.org")
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, nil, nil)
	server.Handler(&ctx)
	fmt.Println(ctx.Response.StatusCode())
	fmt.Printf("%s\n", ctx.Response.Header.Peek("Access-Control-Allow-Origin"))
	fmt.Printf("%s\n", ctx.Response.Header.Peek("Vary"))
	// Output:
	// 404
	// https://app.example.org
	// Origin
}

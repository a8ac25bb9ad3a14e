package cors_test

import (
	"fmt"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/cors"
	"github.com/valyala/fasthttp/fasthttptest"
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
	resp, err := fasthttptest.Do(server.Handler, &req)
	if err != nil {
		panic(err)
	}
	fmt.Println(resp.StatusCode())
	fmt.Printf("%s\n", resp.Header.Peek("Access-Control-Allow-Origin"))
	fmt.Printf("%s\n", resp.Header.Peek("Vary"))
	// Output:
	// 404
	// https://app.example.org
	// Origin
}

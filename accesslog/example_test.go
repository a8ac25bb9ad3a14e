package accesslog_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/accesslog"
)

// A server with a log in the Combined format on the standard output.
func ExampleNew() {
	log := accesslog.New(accesslog.Options{})
	defer log.Close()

	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello\n") }}
	log.Attach(server)
	// server.ListenAndServe(":8080") serves until the program ends
}

// A log through a slog.Handler, which has one in ten responses and all errors.
func ExampleLog_Attach() {
	handler := slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "duration" {
			return slog.Attr{}
		}
		return a
	}})
	log := accesslog.New(accesslog.Options{Handler: handler, Sample: 10})
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { ctx.NotFound() }}
	log.Attach(server)

	// as the server does for a request
	var ctx fasthttp.RequestCtx
	var req fasthttp.Request
	req.SetRequestURI("/page?token=secret")
	ctx.Init(&req, nil, nil)
	server.Handler(&ctx)
	server.ResponseSent(&ctx, fasthttp.SentResponse{StatusCode: ctx.Response.StatusCode(), Bytes: 160})

	if err := log.Flush(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output: level=INFO msg=request client=0.0.0.0 method=GET target="/page?token=***" protocol=HTTP/1.1 status=404 bytes=160
}

// Command fasthttp is the server that the socket benchmarks measure. Which
// fasthttp it is made of is up to the module file it is built with.
package main

import (
	"net"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

var body = []byte(serving.Body)

func main() { serving.Main(serve) }

func serve(ln net.Listener, mode serving.Mode) error {
	handler := answer
	if mode == serving.Mixed {
		handler = answerMixed
	}
	s := &fasthttp.Server{Handler: handler}
	return s.Serve(ln)
}

func answer(ctx *fasthttp.RequestCtx) { ctx.Success(serving.ContentType, body) }

func answerMixed(ctx *fasthttp.RequestCtx) {
	serving.Slow(string(ctx.Path()))
	answer(ctx)
}

// Command fasthttp is the server that the socket benchmarks measure. The module file with
// which it is built selects its fasthttp.
package main

import (
	"errors"
	"net"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/gateway"
	"github.com/valyala/fasthttp/bench/internal/protocols"
	"github.com/valyala/fasthttp/bench/internal/serving"
)

var body = []byte(serving.Body)

func main() { serving.Main(serve) }

func serve(ln net.Listener, job serving.Job) error {
	s := &fasthttp.Server{Handler: handler(job)}
	if job.Crowd {
		s.TCPKeepalivePeriod = -1
	}
	if job.HTTP2 && !protocols.EnableHTTP2(s) {
		return errors.New("this server has no HTTP/2")
	}
	if job.Streams > 0 && !protocols.AllowStreams(s, job.Streams) {
		return errors.New("this server has no limit of streams")
	}
	if job.TLS() {
		return s.ServeTLS(ln, job.Cert, job.Key)
	}
	return s.Serve(ln)
}

func handler(job serving.Job) fasthttp.RequestHandler {
	switch job.Mode {
	case serving.Mixed:
		return func(ctx *fasthttp.RequestCtx) {
			job.Slow(string(ctx.Path()))
			answer(ctx)
		}
	case serving.Forwards:
		return forward(job.Backend)
	case serving.Proxies:
		return gateway.New(client(job.Backend), job.Backend)
	}
	return answer
}

func answer(ctx *fasthttp.RequestCtx) { ctx.Success(serving.ContentType, body) }

// forward forwards to the backend with the library's own client.
func forward(backend string) fasthttp.RequestHandler {
	client := client(backend)
	return func(ctx *fasthttp.RequestCtx) {
		if err := client.Do(&ctx.Request, &ctx.Response); err != nil {
			ctx.Error(err.Error(), fasthttp.StatusBadGateway)
		}
	}
}

func client(backend string) *fasthttp.HostClient {
	return &fasthttp.HostClient{Addr: backend, MaxConns: serving.BackendConns}
}

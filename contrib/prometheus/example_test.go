package fasthttpprometheus_test

import (
	"log"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"
	fasthttpprometheus "github.com/valyala/fasthttp/contrib/prometheus"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// Metrics of a server and of a client, which another server has at its address.
func Example() {
	handler := func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") }

	server := &fasthttp.Server{Handler: handler}
	prometheus.MustRegister(fasthttpprometheus.NewServer(server, fasthttpprometheus.Options{}))

	client := &fasthttp.Client{}
	calls := fasthttpprometheus.NewClient(client, fasthttpprometheus.Options{})
	client.Transport = fasthttp.ChainRoundTrippers(nil, calls.Transport)
	prometheus.MustRegister(calls)

	metrics := &fasthttp.Server{Handler: fasthttpadaptor.NewFastHTTPHandler(promhttp.Handler())}

	go func() { log.Fatal(metrics.ListenAndServe("localhost:9090")) }()
	log.Fatal(server.ListenAndServe(":8080"))
}

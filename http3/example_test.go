package http3_test

import (
	"log"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/http3"
)

// HTTP/1.1, HTTP/2 and HTTP/3 on one port.
func ExampleServer() {
	handler := func(ctx *fasthttp.RequestCtx) { ctx.WriteString("hello") }
	server := &fasthttp.Server{
		Handler:       handler,
		ResponseReady: http3.Announce(443, time.Hour),
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	h3 := &http3.Server{Server: server}
	go func() { log.Print(h3.ListenAndServe(":443", "cert.pem", "key.pem")) }()
	log.Fatal(server.ListenAndServeTLS(":443", "cert.pem", "key.pem"))
}

// A client of servers that are known to speak HTTP/3, and one that follows their announcements.
func ExampleTransport() {
	direct := &fasthttp.Client{Transport: &http3.Transport{}}
	client := &fasthttp.Client{Transport: &http3.AltTransport{}}

	for _, c := range []*fasthttp.Client{direct, client} {
		status, _, err := c.Get(nil, "https://example.com/")
		log.Print(status, err)
	}
}

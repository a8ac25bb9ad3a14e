// Command http2 serves the same handler by HTTP/2 and HTTP/1.1: over TLS, where a client
// chooses the version in the handshake, and without TLS on a second port, where an HTTP/2
// client needs prior knowledge. Try it with
//
//	curl -k https://localhost:8443/
//	curl -k --http1.1 https://localhost:8443/
//	curl --http2-prior-knowledge http://localhost:8080/
//	curl http://localhost:8080/
//
// The program makes its certificate at its start, and no browser trusts it. A real program
// has one in files (Server.ServeTLS) or requests it, as the example letsencrypt does.
//
// After SIGINT or SIGTERM it announces to its clients that it accepts no more requests,
// answers the requests that it has accepted, and ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	secure := flag.String("https", ":8443", "the TCP address for TLS")
	plain := flag.String("http", ":8080", "the TCP address without TLS")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *secure, *plain, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// newServer returns a server with the timeouts and limits that a public server needs.
func newServer() *fasthttp.Server {
	server := &fasthttp.Server{
		Handler: greet,
		Name:    "http2",
		// Over HTTP/2 these times apply to each request of a connection
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 30 * time.Second,
		// of a connection without requests
		IdleTimeout:        time.Minute,
		MaxRequestBodySize: 1 << 20,
		// Concurrency counts connections; each may have as many handlers as streams
		Concurrency: 10_000,
		HTTP2: fasthttp.HTTP2Config{
			MaxConcurrentStreams: 100,
			// a client that has disappeared is found within 45 seconds
			SendPingTimeout: 30 * time.Second,
			PingTimeout:     15 * time.Second,
		},
		// do not wait longer for clients that do not read their responses
		ShutdownTimeout: 30 * time.Second,
	}
	// once a set names a version, it has only the named ones
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetHTTP2(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	return server
}

// greet is the handler. It need not know the version.
func greet(ctx *fasthttp.RequestCtx) {
	fmt.Fprintf(ctx, "Hello over %s, TLS %v, request %d of connection %d!\n",
		ctx.Request.Header.Protocol(), ctx.IsTLS(), ctx.ConnRequestNum(), ctx.ConnID())
}

// run serves both addresses until ctx ends.
func run(ctx context.Context, secureAddr, plainAddr string, stdout io.Writer) error {
	server := newServer()
	cert, key, err := fasthttp.GenerateTestCertificate("localhost")
	if err == nil {
		err = server.AppendCertEmbed(cert, key)
	}
	if err != nil {
		return err
	}
	secure, err := net.Listen("tcp", secureAddr)
	if err != nil {
		return err
	}
	plain, err := net.Listen("tcp", plainAddr)
	if err != nil {
		_ = secure.Close()
		return err
	}
	fmt.Fprintf(stdout, "http2 listens on %s and %s\n", secure.Addr(), plain.Addr())

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served := make(chan error, 1)
	go func() {
		// one listener without the other is of no use
		defer cancel()
		served <- server.Run(ctx, plain)
	}()
	err = server.RunTLS(ctx, "", "", secure)
	cancel()
	return errors.Join(err, <-served)
}

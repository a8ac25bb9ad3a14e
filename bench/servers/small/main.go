// Command small is the program whose size the benchmarks compare: examples/helloworld, with the
// calls that v1.77.0 has, too.
package main

import (
	"context"
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
	addr := flag.String("addr", ":8080", "the TCP address to listen on")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves addr until ctx ends.
func run(ctx context.Context, addr string, stdout io.Writer) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &fasthttp.Server{
		Handler: greet,
		Name:    "small",
		// a slow client must not be able to hold a connection forever
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	fmt.Fprintf(stdout, "small listens on %s\n", ln.Addr())
	over := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		over <- server.Shutdown()
		_ = ln.Close() // the server may not have begun, and then it does not serve
	})
	err = server.Serve(ln)
	if stop() {
		return err
	}
	return <-over
}

// greet is the handler. It writes to ctx as to any io.Writer. The response is sent after it
// has returned, so the header may be set at the end.
func greet(ctx *fasthttp.RequestCtx) {
	fmt.Fprintf(ctx, "Hello, world!\n\n")

	fmt.Fprintf(ctx, "method:      %s\n", ctx.Method())
	fmt.Fprintf(ctx, "target:      %s\n", ctx.RequestURI())
	fmt.Fprintf(ctx, "path:        %s\n", ctx.Path())
	fmt.Fprintf(ctx, "query:       %s\n", ctx.QueryArgs())
	fmt.Fprintf(ctx, "host:        %s\n", ctx.Host())
	fmt.Fprintf(ctx, "user agent:  %s\n", ctx.UserAgent())
	fmt.Fprintf(ctx, "from:        %s\n", ctx.RemoteAddr())
	fmt.Fprintf(ctx, "connection:  number %d, request number %d on it\n", ctx.ConnID(), ctx.ConnRequestNum())
	fmt.Fprintf(ctx, "body:        %d bytes\n", len(ctx.PostBody()))
	fmt.Fprintf(ctx, "\n%s", &ctx.Request.Header)

	ctx.SetContentType("text/plain; charset=utf-8")
	ctx.Response.Header.Set("X-Greeting", "hello")
}

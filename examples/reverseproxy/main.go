// Command reverseproxy forwards requests to another server, also those of HTTP/2 and for
// WebSockets. Bodies of any size stream through it in both directions.
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
	"github.com/valyala/fasthttp/fasthttpproxy"
)

func main() {
	addr := flag.String("addr", ":8080", "the TCP address to listen on")
	backend := flag.String("backend", "http://localhost:8081", "the `URL` of the server to pass requests on to")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *backend, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves addr until ctx ends.
func run(ctx context.Context, addr, backend string, stdout io.Writer) error {
	proxy, err := fasthttpproxy.NewReverseProxy(backend)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &fasthttp.Server{
		Handler:           proxy.Handler,
		StreamRequestBody: true,
		// bodies may be large: only heads have a timeout, and bodies have a minimum rate
		ReadHeaderTimeout:  10 * time.Second,
		MinRequestBodyRate: 1 << 10,
		// the field is the other server's
		NoDefaultServerHeader: true,
		IdleTimeout:           time.Minute,
		// received requests are answered, except for responses that do not end
		ShutdownTimeout: 30 * time.Second,
	}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	server.HTTP2.ExtendedConnect = true

	fmt.Fprintf(stdout, "reverseproxy listens on %s\n", ln.Addr())
	err = server.Run(ctx, ln)
	proxy.CloseIdleConnections()
	return err
}

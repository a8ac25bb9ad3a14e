// Command multidomain serves several sites from one address, over HTTPS: each has its
// own handler and certificate. The client names the site in the TLS handshake, and in
// the Host field of the request.
//
// The program makes the certificates at its start, and no browser trusts them. A real
// program has them in files (Server.AppendCert) or requests them, as the example
// letsencrypt does. Try it with
//
//	curl -k --connect-to ::127.0.0.1:8443 https://shop.example/
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	addr := flag.String("addr", ":8443", "the TCP address to listen on")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// sites maps domains, in lower case and without a port, to their handlers.
type sites map[string]fasthttp.RequestHandler

func newSites() sites {
	return sites{
		"shop.example": func(ctx *fasthttp.RequestCtx) { ctx.WriteString("Welcome to the shop.\n") },
		"blog.example": func(ctx *fasthttp.RequestCtx) { ctx.WriteString("Nothing was written today.\n") },
	}
}

// serve calls the handler of the requested site. For any other site the response is 421 (RFC
// 9110 section 15.5.20).
func (s sites) serve(ctx *fasthttp.RequestCtx) {
	serve, ok := s[domain(ctx.Host())]
	if !ok {
		ctx.Error("There is no such site here.", fasthttp.StatusMisdirectedRequest)
		return
	}
	serve(ctx)
}

// domain returns the name in a Host field, without its port and without the dot at the end of
// a fully qualified name.
func domain(host []byte) string {
	if colon := bytes.LastIndexByte(host, ':'); colon >= 0 {
		host = host[:colon]
	}
	return strings.TrimSuffix(strings.ToLower(string(host)), ".")
}

// run serves addr until ctx ends.
func run(ctx context.Context, addr string, stdout io.Writer) error {
	all := newSites()
	server := &fasthttp.Server{
		Handler:      all.serve,
		Name:         "multidomain",
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
	}
	// a handshake uses the certificate for the name that the client sends
	for name := range all {
		cert, key, err := fasthttp.GenerateTestCertificate(name)
		if err != nil {
			return err
		}
		if err := server.AppendCertEmbed(cert, key); err != nil {
			return err
		}
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "multidomain listens on %s\n", ln.Addr())
	return server.RunTLS(ctx, "", "", ln)
}

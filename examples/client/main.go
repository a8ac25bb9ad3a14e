// Command client fetches URIs and prints the responses: briefly with Get, and in full with a
// Request and a Response. It follows redirects, with one overall timeout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	timeout := flag.Duration("timeout", 10*time.Second, "how long all requests may take together")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if err := run(ctx, flag.Args(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// client is used for all requests of the program, so that they share its
// connections.
var client = &fasthttp.Client{
	Name: "example",
	// an untrusted server must not exhaust the memory
	MaxResponseBodySize: 8 << 20,
	// try again if a host is down for a moment
	RetryIfErr: fasthttp.RetryWithBackoff(fasthttp.Backoff{Base: 50 * time.Millisecond, Limit: time.Second}),
}

// run fetches the URIs one after the other.
func run(ctx context.Context, uris []string, stdout io.Writer) error {
	if len(uris) == 0 {
		return errors.New("usage: client [-timeout 10s] URI [URI]*")
	}
	defer client.CloseIdleConnections()
	for _, uri := range uris {
		status, body, err := client.GetContext(ctx, nil, uri)
		if err != nil {
			return fmt.Errorf("%s: %w", uri, err)
		}
		fmt.Fprintf(stdout, "%s: %d, %d bytes\n", uri, status, len(body))
		if err := describe(ctx, uri, stdout); err != nil {
			return fmt.Errorf("%s: %w", uri, err)
		}
	}
	return nil
}

// describe requests the header fields only. It releases the Request and the Response to their
// pools when it no longer uses any part of them.
func describe(ctx context.Context, uri string, stdout io.Writer) error {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)

	req.Header.SetMethod(fasthttp.MethodHead)
	req.SetRequestURI(uri)
	req.Header.Set("Accept", "*/*")
	if err := client.DoRedirectsContext(ctx, req, resp, 10); err != nil {
		return err
	}
	// after redirects the URI is the last request's
	fmt.Fprintf(stdout, "    at %s, from %s\n", req.URI(), resp.RemoteAddr())
	for name, value := range resp.Header.All() {
		fmt.Fprintf(stdout, "    %s: %s\n", name, value)
	}
	return nil
}

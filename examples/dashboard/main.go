// Command dashboard serves a page that shows the work of a server as it happens: requests,
// latencies, connections, refusals. The figures come from the hooks of ServerTrace, and go to
// browsers as server-sent events.
//
// The page has an address of its own, which only operators should reach. The flag -demo makes the
// program send itself requests, so that there is something to see.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	addr := flag.String("addr", ":8080", "the TCP address of the service")
	page := flag.String("dashboard", "127.0.0.1:8081", "the TCP address of the dashboard")
	demo := flag.Bool("demo", false, "send requests to the service")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *page, *demo, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run serves the service on addr and the dashboard on page until ctx ends.
func run(ctx context.Context, addr, page string, demo bool, stdout io.Writer) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	pageLn, err := net.Listen("tcp", page)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	service := &fasthttp.Server{
		Handler:      serve,
		Name:         "service",
		ReadTimeout:  10 * time.Second,
		WriteTimeout: 10 * time.Second,
		IdleTimeout:  time.Minute,
		MaxQueueTime: 100 * time.Millisecond,
	}
	m := newMonitor(service)
	dashboard := &fasthttp.Server{
		Handler:     m.serve,
		Name:        "dashboard",
		ReadTimeout: 10 * time.Second,
		IdleTimeout: time.Minute,
	}
	// if one of them fails, the others end, too
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	errs := make(chan error, 2)
	for _, one := range []func() error{
		func() error { return service.Run(ctx, ln) },
		func() error { return dashboard.Run(ctx, pageLn) },
	} {
		all.Go(func() {
			errs <- one()
			cancel()
		})
	}
	all.Go(func() { m.publish(ctx) })
	if demo {
		all.Go(func() { visit(ctx, "http://"+ln.Addr().String()) })
	}
	fmt.Fprintf(stdout, "dashboard of %s listens on %s\n", ln.Addr(), pageLn.Addr())
	all.Wait()
	return errors.Join(<-errs, <-errs)
}

// serve is an example of a service.
func serve(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/":
		ctx.WriteString("Hello, world!\n")
	case "/slow":
		time.Sleep(time.Duration(10+rand.IntN(50)) * time.Millisecond)
		ctx.WriteString("That took a while.\n")
	case "/fails":
		ctx.Error("Something is wrong", fasthttp.StatusInternalServerError)
	default:
		ctx.NotFound()
	}
}

// visit sends requests to the service until ctx ends.
func visit(ctx context.Context, base string) {
	client := &fasthttp.Client{Name: "demo", Timeout: time.Second}
	defer client.CloseIdleConnections()
	paths := []string{"/", "/", "/", "/", "/", "/", "/slow", "/slow", "/missing", "/fails"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for ctx.Err() == nil {
				// failures are seen on the page
				_, _, _ = client.Get(nil, base+paths[rand.IntN(len(paths))])
				select {
				case <-ctx.Done():
				case <-time.After(time.Duration(rand.IntN(40)) * time.Millisecond):
				}
			}
		})
	}
	all.Wait()
}

// Command hostclient requests a path of one server again and again, with many callers
// over few connections, and prints statistics.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http/httptrace"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// options has the options of the command line.
type options struct {
	addr, path     string
	requests       int
	callers, conns int
	timeout        time.Duration
	secure         bool
}

func main() {
	var o options
	flag.StringVar(&o.addr, "addr", "localhost:8080", "the address of the server, or several, separated by commas")
	flag.StringVar(&o.path, "path", "/", "what to ask for")
	flag.IntVar(&o.requests, "requests", 1000, "the number of requests")
	flag.IntVar(&o.callers, "callers", 50, "how many are under way at a time")
	flag.IntVar(&o.conns, "conns", 8, "how many connections they share")
	flag.DurationVar(&o.timeout, "timeout", time.Second, "how long a request may take, the wait for a connection included")
	flag.BoolVar(&o.secure, "tls", false, "speak TLS")
	flag.Parse()
	if err := run(o, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// result has the counters of all callers.
type result struct {
	ok, late, failed atomic.Int64
	bytes, opened    atomic.Int64
}

func run(o options, stdout io.Writer) error {
	var r result
	client := &fasthttp.HostClient{
		Addr:     o.addr,
		IsTLS:    o.secure,
		MaxConns: o.conns,
		// use the connection that was used last, so that surplus connections become
		// idle and are closed
		ConnPoolStrategy:   fasthttp.LIFO,
		StreamResponseBody: true,
		Trace: &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
			if !info.Reused {
				r.opened.Add(1)
			}
		}},
	}
	defer client.CloseIdleConnections()

	begin := time.Now()
	var left atomic.Int64
	left.Store(int64(o.requests))
	var callers sync.WaitGroup
	for range o.callers {
		callers.Go(func() {
			for left.Add(-1) >= 0 {
				r.count(load(client, o))
			}
		})
	}
	callers.Wait()
	fmt.Fprintf(stdout, "%d responses with %d bytes in %v, %d too late, %d failed, %d connections opened\n",
		r.ok.Load(), r.bytes.Load(), time.Since(begin).Round(time.Millisecond), r.late.Load(), r.failed.Load(), r.opened.Load())
	if r.ok.Load() == 0 {
		return errors.New("there was no response")
	}
	return nil
}

// load sends one request and reads the body as it arrives, whatever its size.
func load(client *fasthttp.HostClient, o options) (int64, error) {
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)

	req.SetRequestURI(o.path)
	req.Header.SetHost(o.addr)
	if err := client.DoTimeout(req, resp, o.timeout); err != nil {
		return 0, err
	}
	if !resp.IsBodyStream() {
		return 0, nil
	}
	// other callers can use the connection after the body was read to its end or closed
	n, err := io.Copy(io.Discard, resp.BodyStream())
	if closed := resp.CloseBodyStream(); err == nil {
		err = closed
	}
	return n, err
}

func (r *result) count(n int64, err error) {
	switch {
	case err == nil:
		r.ok.Add(1)
		r.bytes.Add(n)
	case errors.Is(err, fasthttp.ErrTimeout):
		r.late.Add(1)
	default:
		r.failed.Add(1)
	}
}

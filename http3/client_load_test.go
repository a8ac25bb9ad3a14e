package http3

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A server that ends each connection after few requests refuses some that are under way.
func TestClientOfAServerThatEndsConnections(t *testing.T) {
	var served atomic.Int32
	_, addr := run(t, &fasthttp.Server{MaxRequestsPerConn: 5, Handler: func(ctx *fasthttp.RequestCtx) {
		served.Add(1)
		ctx.Write(ctx.PostBody())
	}})
	c, transport := newClient(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				want := fmt.Sprint(i, " ", j)
				resp, err := call(t, c, "https://"+addr, func(req *fasthttp.Request, _ *fasthttp.Response) {
					req.Header.SetMethod("POST")
					req.SetBodyString(want)
				})
				if err != nil || string(resp.Body()) != want {
					t.Errorf("call %s: %v", want, err)
				}
			}
		})
	}
	all.Wait()
	if n := served.Load(); n != 160 {
		t.Errorf("%d requests were served", n)
	}
	awaitRequests(t, transport, 0)
}

func TestClientRetiresConnections(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) { fmt.Fprint(ctx, ctx.ConnID()) }})
	for name, row := range map[string]struct {
		configure func(*fasthttp.Client)
		prepare   func(*fasthttp.Request)
	}{
		"MaxConnDuration": {func(c *fasthttp.Client) { c.MaxConnDuration = time.Nanosecond }, func(*fasthttp.Request) {}},
		"Connection":      {func(*fasthttp.Client) {}, func(req *fasthttp.Request) { req.SetConnectionClose() }},
	} {
		c, _ := newClient(t, func(c *fasthttp.Client, _ *Transport) { row.configure(c) })
		seen := map[string]bool{}
		for range 3 {
			resp, err := call(t, c, "https://"+addr, func(req *fasthttp.Request, _ *fasthttp.Response) { row.prepare(req) })
			if err != nil {
				t.Fatal(err)
			}
			seen[string(resp.Body())] = true
		}
		if len(seen) != 3 {
			t.Errorf("%s: %d connections", name, len(seen))
		}
	}
}

// Whatever calls do, nothing is left of them.
func TestClientLeavesNothing(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
		if ctx.IsPost() {
			ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
			return
		}
		ctx.SetBodyStream(strings.NewReader(strings.Repeat("x", 200_000)), -1)
	}})
	c, transport := newClient(t)
	var all sync.WaitGroup
	for i := range 8 {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		all.Go(func() {
			for range 40 {
				if err := doAnything(c, "https://"+addr, random); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	awaitRequests(t, transport, 0)
	if n := transport.ConnsCount(); n != 1 {
		t.Errorf("%d connections", n)
	}
	if err := transport.Close(); err != nil {
		t.Error(err)
	}
	servertest.Eventually(t, "no goroutines of clients", func() bool { return len(clientGoroutines()) == 0 })
}

// clientGoroutines returns the stacks of goroutines that work for clients. Servers keep some of theirs for
// a while.
func clientGoroutines() (found []string) {
	b := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
		for _, name := range []string{"(*clientConn)", "(*clientStream)", "(*Transport).connect", "fasthttp.(*h3Sender)", "fasthttp.(*h3Call)"} {
			if strings.Contains(stack, name) {
				found = append(found, stack)
				break
			}
		}
	}
	return found
}

// doAnything makes a call that may be cancelled, or whose body may be closed early.
func doAnything(c *fasthttp.Client, url string, random *rand.Rand) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI(url)
	switch random.IntN(3) {
	case 0:
		req.Header.SetMethod("POST")
		req.SetBody(make([]byte, random.IntN(200_000)))
	case 1:
		req.Header.SetMethod("POST")
		req.SetBodyStream(strings.NewReader(strings.Repeat("x", random.IntN(200_000))), -1)
	}
	resp.StreamBody = random.IntN(2) == 0
	if random.IntN(3) == 0 {
		go cancel()
	}
	err := c.DoContext(ctx, req, resp)
	if err == nil && resp.BodyStream() != nil {
		if random.IntN(2) == 0 {
			_, err = io.Copy(io.Discard, resp.BodyStream())
		}
		if closed := resp.CloseBodyStream(); err == nil {
			err = closed
		}
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// A call that waits for room gets a stream of whichever connection has one first.
func TestCallsWaitForRoomOnAnyConnection(t *testing.T) {
	gates := map[string]*servertest.Gate{"/a": servertest.NewGate(), "/b": servertest.NewGate(), "/c": servertest.NewGate()}
	_, addr := run(t, &fasthttp.Server{
		HTTP2:   fasthttp.HTTP2Config{MaxConcurrentStreams: 1},
		Handler: func(ctx *fasthttp.RequestCtx) { gates[string(ctx.Path())].Pass("") },
	})
	c, transport := newClient(t, func(_ *fasthttp.Client, transport *Transport) { transport.MaxConnsPerHost = 2 })
	ended := make(chan error, 3)
	start := func(path string) {
		go func() {
			_, err := call(t, c, "https://"+addr+path, nil)
			ended <- err
		}()
	}
	for _, path := range []string{"/a", "/b"} {
		start(path)
		servertest.Receive(t, path, gates[path].Entered)
	}
	close(gates["/c"].Open)
	start("/c")
	awaitStack(t, "awaitRoom")
	close(gates["/b"].Open)
	for range 2 {
		servertest.Must(t, servertest.Receive(t, "the end of /b and /c", ended))
	}
	close(gates["/a"].Open)
	servertest.Must(t, servertest.Receive(t, "the end of /a", ended))
	awaitRequests(t, transport, 0)
}

// A call for which another connection is dialed gets a stream of the first one if that has room before.
func TestCallsWaitForRoomWhileDialing(t *testing.T) {
	gate := servertest.NewGate()
	_, addr := run(t, &fasthttp.Server{
		HTTP2: fasthttp.HTTP2Config{MaxConcurrentStreams: 1},
		Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/first" {
				gate.Pass("")
			}
		},
	})
	dials, goOn := make(chan struct{}, 10), make(chan struct{})
	defer close(goOn)
	c, _ := newClient(t, func(_ *fasthttp.Client, transport *Transport) {
		transport.Dial = func(ctx context.Context, addr string, config *tls.Config, quicConfig *quic.Config) (*quic.Conn, error) {
			if dials <- struct{}{}; len(dials) > 1 {
				<-goOn
			}
			return quic.DialAddr(ctx, addr, config, quicConfig)
		}
	})
	ended := make(chan error, 2)
	start := func(path string) {
		go func() {
			_, err := call(t, c, "https://"+addr+path, nil)
			ended <- err
		}()
	}
	start("/first")
	servertest.Receive(t, "the first request", gate.Entered)
	start("/second")
	servertest.Eventually(t, "the second dial", func() bool { return len(dials) == 2 })
	close(gate.Open)
	for range 2 {
		servertest.Must(t, servertest.Receive(t, "the end of a call", ended))
	}
}

// awaitStack waits until a goroutine is in a function.
func awaitStack(t *testing.T, name string) {
	t.Helper()
	servertest.Eventually(t, name, func() bool { return strings.Contains(string(servertest.Stacks()), name+"(") })
}

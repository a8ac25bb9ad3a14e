package http3

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/servertest"
)

// newClient returns a client with a Transport. At its end it must have left nothing.
func newClient(t *testing.T, configure ...func(*fasthttp.Client, *Transport)) (*fasthttp.Client, *Transport) {
	transport := &Transport{DialTimeout: wait, QUICConfig: patient()}
	c := &fasthttp.Client{Transport: transport, TLSConfig: &tls.Config{InsecureSkipVerify: true}, Timeout: wait}
	for _, f := range configure {
		f(c, transport)
	}
	t.Cleanup(func() {
		if err := transport.Close(); err != nil {
			t.Error(err)
		}
		if n := transport.ConnsCount(); n != 0 {
			t.Errorf("%d connections are left", n)
		}
	})
	return c, transport
}

// call makes a call, and returns the response.
func call(t *testing.T, c *fasthttp.Client, url string, prepare func(*fasthttp.Request, *fasthttp.Response)) (*fasthttp.Response, error) {
	t.Helper()
	req, resp := new(fasthttp.Request), new(fasthttp.Response)
	req.SetRequestURI(url)
	if prepare != nil {
		prepare(req, resp)
	}
	return resp, c.Do(req, resp)
}

// await waits until a test releases a handler, or the server is closed because the test has failed.
func await(ctx *fasthttp.RequestCtx, goOn <-chan struct{}) {
	select {
	case <-goOn:
	case <-ctx.Done():
	}
}

func echo(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set("X-Seen", fmt.Sprintf("%s %s %s %v", ctx.Method(), ctx.RequestURI(), ctx.Request.Header.Protocol(), ctx.IsTLS()))
	ctx.SetStatusCode(fasthttp.StatusAccepted)
	ctx.Write(ctx.PostBody())
}

func TestClientRequestsAndResponses(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: echo})
	c, transport := newClient(t)
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"} {
		for _, size := range []int{0, 1, 1000, 100 << 10, 3 << 20} {
			if size > 0 && (method == "GET" || method == "HEAD") {
				continue
			}
			for _, streams := range []bool{false, true} {
				body := strings.Repeat("x", size)
				resp, err := call(t, c, "https://"+addr+"/path?q=1", func(req *fasthttp.Request, _ *fasthttp.Response) {
					req.Header.SetMethod(method)
					if streams && size > 0 {
						req.SetBodyStream(strings.NewReader(body), -1)
					} else {
						req.SetBodyString(body)
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				want := method + " /path?q=1 HTTP/3.0 true"
				if got := string(resp.Header.Peek("X-Seen")); resp.StatusCode() != 202 || got != want || len(resp.Body()) != size || string(resp.Header.Protocol()) != "HTTP/3.0" {
					t.Errorf("%s with %d bytes, a stream: %v: %d, %d bytes, %q, %s", method, size, streams, resp.StatusCode(), len(resp.Body()), got, resp.Header.Protocol())
				}
			}
		}
	}
	if n := transport.ConnsCount(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestClientJoinsDials(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: echo})
	c, transport := newClient(t)
	var all sync.WaitGroup
	for i := range 90 {
		all.Go(func() {
			want := strings.Repeat(fmt.Sprint(i, ","), 500)
			resp, err := call(t, c, "https://"+addr, func(req *fasthttp.Request, _ *fasthttp.Response) {
				req.Header.SetMethod("POST")
				req.SetBodyString(want)
			})
			if err != nil || string(resp.Body()) != want {
				t.Errorf("request %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if n := transport.ConnsCount(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// The client opens more connections when the server permits no more requests, and waits when it may not.
func TestClientLimitsConnections(t *testing.T) {
	var running, most atomic.Int32
	release := make(chan struct{})
	_, addr := run(t, &fasthttp.Server{HTTP2: fasthttp.HTTP2Config{MaxConcurrentStreams: 2}, Handler: func(ctx *fasthttp.RequestCtx) {
		if n := running.Add(1); n == 4 {
			close(release)
		}
		most.Store(max(most.Load(), running.Load()))
		await(ctx, release)
		running.Add(-1)
	}})
	c, transport := newClient(t, func(_ *fasthttp.Client, t *Transport) { t.MaxConnsPerHost = 2 })
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := call(t, c, "https://"+addr, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := transport.ConnsCount(); n != 2 || most.Load() > 4 {
		t.Errorf("%d connections, %d requests at once", n, most.Load())
	}
}

func TestClientWaitsForRoomWithinItsLimit(t *testing.T) {
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	_, addr := run(t, &fasthttp.Server{HTTP2: fasthttp.HTTP2Config{MaxConcurrentStreams: 1}, Handler: func(ctx *fasthttp.RequestCtx) {
		arrived <- struct{}{}
		await(ctx, release)
	}})
	c, _ := newClient(t, func(c *fasthttp.Client, t *Transport) {
		t.MaxConnsPerHost, c.MaxConnWaitTimeout = 1, 10*time.Millisecond
	})
	first := make(chan error, 1)
	go func() {
		_, err := call(t, c, "https://"+addr, nil)
		first <- err
	}()
	servertest.Receive(t, "the request", arrived)
	if _, err := call(t, c, "https://"+addr, nil); err != fasthttp.ErrNoFreeConns {
		t.Error(err)
	}
	close(release)
	if err := servertest.Receive(t, "the response", first); err != nil {
		t.Error(err)
	}
}

// The response is read while the request is sent.
func TestClientStreamsInBothDirections(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{StreamRequestBody: true, Handler: upperCase})
	c, transport := newClient(t)
	r, w := io.Pipe()
	resp, err := call(t, c, "https://"+addr, func(req *fasthttp.Request, resp *fasthttp.Response) {
		resp.StreamBody = true
		req.Header.SetMethod("POST")
		req.SetBodyStream(r, -1)
	})
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(resp.BodyStream())
	for i := range 10 {
		line := fmt.Sprintf("line %d\n", i)
		if _, err := io.WriteString(w, line); err != nil {
			t.Fatal(err)
		}
		if got, err := in.ReadString('\n'); err != nil || got != strings.ToUpper(line) {
			t.Fatalf("%q, %v", got, err)
		}
	}
	w.Close()
	if rest, err := io.ReadAll(in); err != nil || string(rest) != "EOF" {
		t.Errorf("%q, %v", rest, err)
	}
	if err := resp.CloseBodyStream(); err != nil {
		t.Error(err)
	}
	awaitRequests(t, transport, 0)
}

// awaitRequests waits until the connections of a transport have n requests.
func awaitRequests(t *testing.T, transport *Transport, n int) {
	t.Helper()
	servertest.Eventually(t, fmt.Sprint(n, " requests"), func() bool {
		got := 0
		for _, c := range transport.all() {
			got += c.requests()
		}
		return got == n
	})
}

func TestClientTrailersAndInterimResponses(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{AcceptTrailer: func([]byte) bool { return true }, Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Link", "</a>")
		if err := ctx.EarlyHints(); err != nil {
			t.Error(err)
		}
		ctx.Response.Header.SetTrailer("X-After")
		ctx.Response.Header.SetBytesV("X-After", ctx.Request.Header.PeekTrailer("X-Sum"))
		ctx.WriteString("content")
	}})
	var hints, gotConn, wrote atomic.Int32
	c, _ := newClient(t, func(c *fasthttp.Client, _ *Transport) {
		c.Trace = &httptrace.ClientTrace{
			Got1xxResponse: func(code int, _ textproto.MIMEHeader) error { hints.Store(int32(code)); return nil },
			GotConn:        func(httptrace.GotConnInfo) { gotConn.Add(1) },
			WroteRequest:   func(httptrace.WroteRequestInfo) { wrote.Add(1) },
		}
	})
	for calls := range 8 {
		streams, late, informs := calls&1 != 0, calls&2 != 0, calls&4 != 0
		var informed string
		// with and without a trace
		c := c
		if informs {
			c, _ = newClient(t)
		}
		resp, err := call(t, c, "https://"+addr, func(req *fasthttp.Request, resp *fasthttp.Response) {
			resp.StreamBody = streams
			if informs {
				req.OnInform = func(h *fasthttp.ResponseHeader) error {
					informed += fmt.Sprintf("%d %s", h.StatusCode(), h.Peek("Link"))
					return nil
				}
			}
			req.Header.SetMethod("POST")
			addTrailer := func() {
				req.Header.SetTrailer("X-Sum")
				req.Header.Set("X-Sum", "17")
			}
			if !late {
				addTrailer()
			}
			req.SetBodyStream(io.MultiReader(strings.NewReader("abc"), readerFunc(func([]byte) (int, error) {
				if late {
					addTrailer()
				}
				return 0, io.EOF
			})), -1)
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(resp.Body()); got != "content" || string(resp.Header.PeekTrailer("X-After")) != "17" {
			t.Errorf("a stream: %v, trailers by the stream: %v: %q, %q", streams, late, got, resp.Header.PeekTrailer("X-After"))
		}
		if informs && informed != "103 </a>" {
			t.Errorf("a stream: %v: OnInform has got %q", streams, informed)
		}
	}
	if hints.Load() != 103 || gotConn.Load() != 4 || wrote.Load() != 4 {
		t.Error(hints.Load(), gotConn.Load(), wrote.Load())
	}
}

// A proxy both of whose sides speak HTTP/3 passes on informational responses.
func TestReverseProxyForwardsInterimResponses(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Link", "</a>")
		if err := ctx.EarlyHints(); err != nil {
			t.Error(err)
		}
	}})
	upstream, _ := newClient(t)
	proxy := &fasthttpproxy.ReverseProxy{Target: "https://" + addr, Client: upstream}
	_, front := run(t, &fasthttp.Server{Handler: proxy.Handler})
	c, _ := newClient(t)
	var got []string
	resp, err := call(t, c, "https://"+front, func(req *fasthttp.Request, _ *fasthttp.Response) {
		req.OnInform = func(h *fasthttp.ResponseHeader) error {
			got = append(got, fmt.Sprintf("%d %s", h.StatusCode(), h.Peek("Link")))
			return nil
		}
	})
	if err != nil || resp.StatusCode() != 200 || len(got) != 1 || got[0] != "103 </a>" {
		t.Errorf("%d, %v, after %q", resp.StatusCode(), err, got)
	}
}

func TestClientExpectsContinue(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{
		ContinueHandler: func(h *fasthttp.RequestHeader) bool { return string(h.Peek("X-Want")) == "yes" },
		Handler:         echo,
	})
	c, _ := newClient(t, func(c *fasthttp.Client, _ *Transport) { c.ExpectContinueTimeout = wait })
	for want, status := range map[string]int{"yes": 202, "no": 417} {
		read := make(chan struct{}, 1)
		resp, err := call(t, c, "https://"+addr, func(req *fasthttp.Request, _ *fasthttp.Response) {
			req.Header.SetMethod("POST")
			req.Header.Set("Expect", "100-continue")
			req.Header.Set("X-Want", want)
			req.SetBodyStream(io.MultiReader(readerFunc(func([]byte) (int, error) { read <- struct{}{}; return 0, io.EOF }), strings.NewReader("abc")), -1)
		})
		if err != nil || resp.StatusCode() != status || (status == 202) != (len(read) == 1) {
			t.Errorf("%s: %d, %v, content read: %d", want, resp.StatusCode(), err, len(read))
		}
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A call that ends early resets its stream, and leaves the connection to others.
func TestClientTimeoutsAndContexts(t *testing.T) {
	// of each row, whose requests may arrive late
	var events sync.Map
	of := func(row string) (arrived, gone chan struct{}) {
		both, _ := events.LoadOrStore(row, [2]chan struct{}{make(chan struct{}, 20), make(chan struct{}, 20)})
		return both.([2]chan struct{})[0], both.([2]chan struct{})[1]
	}
	_, addr := run(t, &fasthttp.Server{CancelOnDisconnect: true, Handler: func(ctx *fasthttp.RequestCtx) {
		arrived, gone := of(string(ctx.QueryArgs().Peek("row")))
		arrived <- struct{}{}
		switch string(ctx.Path()) {
		case "/waits":
			<-ctx.Done()
			gone <- struct{}{}
		case "/stalls":
			ctx.Response.ImmediateHeaderFlush = true
			ctx.Response.SetBodyStreamWriter(func(w *bufio.Writer) {
				for pace := time.NewTicker(time.Millisecond); ; <-pace.C {
					w.WriteString("abc")
					if w.Flush() != nil {
						break
					}
				}
				gone <- struct{}{}
			})
		}
	}})
	c, transport := newClient(t)
	cause := errors.New("the cause")
	// a limit may be so short that the request does not arrive
	within := func(req *fasthttp.Request, resp *fasthttp.Response) error {
		arrived, _ := of(string(req.URI().QueryArgs().Peek("row")))
		for limit := 100 * time.Millisecond; ; limit *= 2 {
			err := c.DoTimeout(req, resp, limit)
			if err != fasthttp.ErrTimeout || len(arrived) > 0 || limit > wait {
				return err
			}
		}
	}
	for name, row := range map[string]struct {
		path string
		do   func(req *fasthttp.Request, resp *fasthttp.Response) error
		want error
	}{
		"timeout":           {"/waits", within, fasthttp.ErrTimeout},
		"timeout of a body": {"/stalls", within, fasthttp.ErrTimeout},
		"context": {"/waits", func(req *fasthttp.Request, resp *fasthttp.Response) error {
			ctx, cancel := context.WithCancelCause(context.Background())
			arrived, _ := of("context")
			go func() {
				servertest.Receive(t, "the request", arrived)
				cancel(cause)
			}()
			return c.DoContext(ctx, req, resp)
		}, cause},
		"context of a stream": {"/stalls", func(req *fasthttp.Request, resp *fasthttp.Response) error {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			resp.StreamBody = true
			if err := c.DoContext(ctx, req, resp); err != nil {
				return err
			}
			cancel()
			_, err := io.ReadAll(resp.BodyStream())
			return err
		}, context.Canceled},
		"closed stream": {"/stalls", func(req *fasthttp.Request, resp *fasthttp.Response) error {
			resp.StreamBody = true
			if err := c.Do(req, resp); err != nil {
				return err
			}
			_, err := io.ReadFull(resp.BodyStream(), make([]byte, 3))
			return errors.Join(err, resp.CloseBodyStream())
		}, nil},
	} {
		req, resp := new(fasthttp.Request), new(fasthttp.Response)
		req.SetRequestURI("https://" + addr + row.path + "?row=" + url.QueryEscape(name))
		_, gone := of(name)
		if err := row.do(req, resp); !errors.Is(err, row.want) {
			t.Errorf("%s: %v", name, err)
		}
		select {
		case <-gone:
		case <-time.After(wait):
			t.Fatalf("%s: the server was not told", name)
		}
		awaitRequests(t, transport, 0)
	}
	if n := transport.ConnsCount(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestClientLimitsResponses(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/length":
			ctx.Write(make([]byte, 1001))
		case "/stream":
			ctx.Response.SetBodyStream(bytes.NewReader(make([]byte, 1001)), -1)
		}
	}})
	// a server that does not look at the limit
	heedless := rawServer(t, settings(), func(q *quic.Conn) {
		if s, err := q.AcceptStream(context.Background()); err == nil {
			_, _ = s.Write(status("200", "x-large: "+strings.Repeat("x", 5000)))
			_ = s.Close()
		}
	})
	c, transport := newClient(t, func(c *fasthttp.Client, _ *Transport) { c.MaxResponseBodySize, c.ReadBufferSize = 1000, 4096 })
	for _, path := range []string{"/length", "/stream"} {
		if _, err := call(t, c, "https://"+addr+path, nil); err != fasthttp.ErrBodyTooLarge {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, err := call(t, c, "https://"+heedless, nil)
	if _, ok := errors.AsType[*fasthttp.ErrSmallBuffer](err); !ok {
		t.Error(err)
	}
	awaitRequests(t, transport, 0)
	if n := transport.ConnsCount(); n != 2 {
		t.Errorf("%d connections", n)
	}
}

func TestClientClosesIdleConnections(t *testing.T) {
	_, addr := run(t, &fasthttp.Server{Handler: echo})
	for name, end := range map[string]func(*Transport){
		"time":                 nil,
		"CloseIdleConnections": (*Transport).CloseIdleConnections,
	} {
		c, transport := newClient(t, func(_ *fasthttp.Client, t *Transport) {
			if end == nil {
				t.MaxIdleConnDuration = time.Millisecond
			}
		})
		if _, err := call(t, c, "https://"+addr, nil); err != nil {
			t.Fatal(err)
		}
		if end != nil {
			end(transport)
		}
		servertest.Eventually(t, name+": the end of the connection", func() bool { return transport.ConnsCount() == 0 })
		if _, err := call(t, c, "https://"+addr, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestClosedTransport(t *testing.T) {
	arrived := make(chan struct{})
	_, addr := run(t, &fasthttp.Server{CancelOnDisconnect: true, Handler: func(ctx *fasthttp.RequestCtx) {
		close(arrived)
		<-ctx.Done()
	}})
	c, transport := newClient(t)
	failed := make(chan error, 1)
	go func() {
		_, err := call(t, c, "https://"+addr, func(req *fasthttp.Request, _ *fasthttp.Response) { req.Header.SetMethod("POST") })
		failed <- err
	}()
	servertest.Receive(t, "the request", arrived)
	_ = transport.Close()
	if err := servertest.Receive(t, "the call", failed); !errors.Is(err, fasthttp.ErrConnectionClosed) {
		t.Error(err)
	}
	if _, err := call(t, c, "https://"+addr, nil); !errors.Is(err, ErrTransportClosed) {
		t.Error(err)
	}
}

func TestClientRefusesPlainURIs(t *testing.T) {
	c, _ := newClient(t)
	if _, err := call(t, c, "http://localhost:1", nil); err == nil {
		t.Error("it was sent")
	}
}

// The server ends the connection gracefully while requests are under way and come.
func TestClientOfAServerThatShutsDown(t *testing.T) {
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	s, addr := run(t, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		arrived <- struct{}{}
		await(ctx, release)
		ctx.WriteString("done")
	}})
	c, _ := newClient(t)
	first := make(chan error, 1)
	go func() {
		resp, err := call(t, c, "https://"+addr, nil)
		if err == nil && string(resp.Body()) != "done" {
			err = fmt.Errorf("%q", resp.Body())
		}
		first <- err
	}()
	servertest.Receive(t, "the request", arrived)
	over := make(chan error, 1)
	go func() { over <- s.Shutdown(context.Background()) }()
	close(release)
	if err := servertest.Receive(t, "the response", first); err != nil {
		t.Error(err)
	}
	if err := servertest.Receive(t, "the end of Shutdown", over); err != nil {
		t.Error(err)
	}
}

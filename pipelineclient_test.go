package fasthttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// pipelinePeer is a server that runs a script for each connection.
type pipelinePeer struct {
	addr  string
	conns atomic.Int64
}

// startPipelinePeer listens until the test ends. By then all connections must have
// ended.
func startPipelinePeer(t *testing.T, serve func(n int, c *pipelinePeerConn)) *pipelinePeer {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pipelinePeer{addr: ln.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			n := int(p.conns.Add(1))
			serving.Go(func() {
				serve(n, &pipelinePeerConn{t: t, Conn: conn, r: bufio.NewReader(conn)})
				closeInOrder(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		serving.Wait()
	})
	return p
}

// closeInOrder closes a connection so that the client can read the last response. A
// plain close with unread requests would reset the connection.
func closeInOrder(conn net.Conn) {
	_ = conn.(*net.TCPConn).CloseWrite()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
}

// client returns a client of the peer. It closes connections soon after the last
// call.
func (p *pipelinePeer) client() *PipelineClient {
	return &PipelineClient{Addr: p.addr, MaxIdleConnDuration: 200 * time.Millisecond}
}

type pipelinePeerConn struct {
	net.Conn
	t *testing.T
	r *bufio.Reader
}

// request reads a request and returns its method and target, or "" at the end of the
// connection.
func (c *pipelinePeerConn) request() string {
	var req Request
	if err := req.Read(c.r); err != nil {
		return ""
	}
	return string(req.Header.Method()) + " " + string(req.Header.RequestURI())
}

// expect reads requests and fails the test if they differ.
func (c *pipelinePeerConn) expect(requests ...string) {
	for _, want := range requests {
		if got := c.request(); got != want {
			c.t.Errorf("the server got %q, want %q", got, want)
		}
	}
}

func (c *pipelinePeerConn) send(text string) { _, _ = io.WriteString(c, text) }

// ok sends a response with a body.
func (c *pipelinePeerConn) ok(body string) {
	c.send("HTTP/1.1 200 OK\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// echo responds to each request with its target.
func (c *pipelinePeerConn) echo() {
	for {
		request := c.request()
		if request == "" {
			return
		}
		c.ok(request)
	}
}

// waitForEnd waits until the client closes the connection.
func (c *pipelinePeerConn) waitForEnd() { _, _ = io.Copy(io.Discard, c.r) }

// pipelineGet sends a request and returns the content of the response.
func pipelineGet(c *PipelineClient, method, path string) (string, error) {
	req, resp := AcquireRequest(), AcquireResponse()
	defer ReleaseRequest(req)
	defer ReleaseResponse(resp)
	req.Header.SetMethod(method)
	req.SetRequestURI("http://host.test" + path)
	if method == MethodPost {
		req.SetBodyString("content")
	}
	err := c.DoTimeout(req, resp, 20*time.Second)
	return string(resp.Body()), err
}

// pipelinedCalls counts the calls of expectPipelined.
var pipelinedCalls atomic.Int64

// expectPipelined checks the response to a request. Every other one has no deadline, and may be
// written by its caller.
func expectPipelined(t *testing.T, c *PipelineClient, method, path string) {
	t.Helper()
	if pipelinedCalls.Add(1)%2 == 0 {
		expectPatient(t, c, method, path)
	} else {
		expectInTime(t, c, method, path)
	}
}

// expectInTime checks the response to a request that has a deadline.
func expectInTime(t *testing.T, c *PipelineClient, method, path string) {
	t.Helper()
	checkPipelined(t, pipelineGet, c, method, path)
}

func checkPipelined(t *testing.T, call func(c *PipelineClient, method, path string) (string, error), c *PipelineClient, method, path string) {
	t.Helper()
	body, err := call(c, method, path)
	if want := method + " " + path; err != nil || body != want {
		t.Errorf("%s %s: %q, %v", method, path, body, err)
	}
}

// pipelineTogether sends requests for /0, /1 and so on, in that order in the queue,
// and returns their results.
func pipelineTogether(t *testing.T, c *PipelineClient, method string, n int) (bodies []string, errs []error) {
	t.Helper()
	bodies, errs = make([]string, n), make([]error, n)
	var calls sync.WaitGroup
	var ended atomic.Int64
	for i := range n {
		calls.Go(func() {
			defer ended.Add(1)
			bodies[i], errs[i] = pipelineGet(c, method, "/"+strconv.Itoa(i))
		})
		// reads Ended first, so that no call counts twice
		for int(ended.Load())+c.PendingRequests() <= i {
			runtime.Gosched()
		}
	}
	calls.Wait()
	return bodies, errs
}

// held is a dial function that waits until the channel is closed, so that all
// earlier calls wait together.
func held(proceed chan struct{}) DialFunc {
	return func(addr string) (net.Conn, error) {
		<-proceed
		return Dial(addr)
	}
}

func TestPipelinedRequestsGoOutTogether(t *testing.T) {
	t.Parallel()
	const n = 20
	peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) {
		// responds after all requests have arrived
		for i := range n {
			c.expect("GET /" + strconv.Itoa(i))
		}
		for i := range n {
			c.ok("answer " + strconv.Itoa(i))
		}
		c.waitForEnd()
	})
	proceed := make(chan struct{})
	c := peer.client()
	c.Dial = held(proceed)
	time.AfterFunc(10*time.Millisecond, func() {
		for c.PendingRequests() < n {
			runtime.Gosched()
		}
		close(proceed)
	})
	bodies, errs := pipelineTogether(t, c, MethodGet, n)
	for i := range n {
		if errs[i] != nil || bodies[i] != "answer "+strconv.Itoa(i) {
			t.Errorf("request %d: %q, %v", i, bodies[i], errs[i])
		}
	}
	if got := peer.conns.Load(); got != 1 {
		t.Errorf("%d connections", got)
	}
}

// Known failures 36 and 39: the client reads no body if the response has none, and
// takes no 1xx for the final response.
func TestPipelinedResponsesStayWithTheirRequests(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) {
		c.expect("HEAD /0")
		c.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		c.expect("GET /1")
		c.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
		c.ok("one")
		c.expect("GET /2")
		c.send("HTTP/1.1 204 No Content\r\n\r\n")
		c.expect("GET /3")
		c.send("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")
		c.expect("GET /4")
		c.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n3\r\nfou\r\n1\r\nr\r\n0\r\nX-End: yes\r\n\r\n")
		c.expect("HEAD /5")
		c.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
		c.expect("GET /6")
		// and byte by byte
		for _, b := range []byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nsix") {
			c.send(string(b))
		}
		c.echo()
	})
	c := peer.client()
	for _, want := range []struct {
		method, path, body string
		status             int
	}{
		{"HEAD", "/0", "", 200}, {"GET", "/1", "one", 200}, {"GET", "/2", "", 204}, {"GET", "/3", "", 304},
		{"GET", "/4", "four", 200}, {"HEAD", "/5", "", 200}, {"GET", "/6", "six", 200}, {"GET", "/7", "GET /7", 200},
	} {
		var req Request
		var resp Response
		req.Header.SetMethod(want.method)
		req.SetRequestURI("http://host.test" + want.path)
		if err := c.Do(&req, &resp); err != nil {
			t.Fatalf("%s: %v", want.path, err)
		}
		if resp.StatusCode() != want.status || string(resp.Body()) != want.body {
			t.Errorf("%s: %d %q, want %d %q", want.path, resp.StatusCode(), resp.Body(), want.status, want.body)
		}
		if want.path == "/4" && string(resp.Header.Peek("X-End")) != "yes" {
			t.Errorf("the trailer is %q", resp.Header.Peek("X-End"))
		}
		if got := resp.RemoteAddr().String(); got != peer.addr {
			t.Errorf("the response is from %s", got)
		}
	}
	if got := peer.conns.Load(); got != 1 {
		t.Errorf("%d connections", got)
	}
}

func TestPipelineGoesOnAfterAClosingResponse(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(c *pipelinePeerConn, request string){
		"Connection: close": func(c *pipelinePeerConn, request string) {
			c.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(request)) + "\r\n\r\n" + request)
		},
		"HTTP/1.0": func(c *pipelinePeerConn, request string) {
			c.send("HTTP/1.0 200 OK\r\nContent-Length: " + strconv.Itoa(len(request)) + "\r\n\r\n" + request)
		},
		"until close": func(c *pipelinePeerConn, request string) { c.send("HTTP/1.1 200 OK\r\n\r\n" + request) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) { answer(c, c.request()) })
			// the server did not process the requests after such a response,
			// whatever their method
			bodies, errs := pipelineTogether(t, peer.client(), MethodPost, 15)
			for i := range errs {
				if errs[i] != nil || bodies[i] != "POST /"+strconv.Itoa(i) {
					t.Errorf("request %d: %q, %v", i, bodies[i], errs[i])
				}
			}
			if got := peer.conns.Load(); got != 15 {
				t.Errorf("%d connections for 15 requests", got)
			}
		})
	}
}

func TestPipelineEndsWhereARequestWantsThat(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, func(n int, c *pipelinePeerConn) {
		c.expect("GET /" + strconv.Itoa(n))
		c.ok("GET /" + strconv.Itoa(n))
		if got := c.request(); got != "" {
			c.t.Errorf("%q arrived after a request with Connection: close", got)
		}
	})
	c := peer.client()
	var calls sync.WaitGroup
	for i := range 3 {
		calls.Go(func() {
			var req Request
			req.SetRequestURI("http://host.test/" + strconv.Itoa(i+1))
			req.SetConnectionClose()
			if err := c.DoTimeout(&req, nil, 10*time.Second); err != nil {
				t.Error(err)
			}
		})
		calls.Wait()
	}
}

func TestPipelineRepeatsWhatIsSafe(t *testing.T) {
	t.Parallel()
	t.Run("idempotent", func(t *testing.T) {
		peer := startPipelinePeer(t, func(n int, c *pipelinePeerConn) {
			switch n {
			case 1:
				c.expect("GET /0")
				c.ok("GET /0")
				c.expect("GET /1")
			default:
				c.echo()
			}
		})
		bodies, errs := pipelineTogether(t, peer.client(), MethodGet, 10)
		for i := range errs {
			if errs[i] != nil || bodies[i] != "GET /"+strconv.Itoa(i) {
				t.Errorf("request %d: %q, %v", i, bodies[i], errs[i])
			}
		}
	})
	t.Run("others", func(t *testing.T) {
		var received atomic.Int64
		peer := startPipelinePeer(t, func(n int, c *pipelinePeerConn) {
			if n > 1 {
				c.echo()
				return
			}
			for c.request() != "POST /2" {
				received.Add(1)
			}
		})
		c := peer.client()
		_, errs := pipelineTogether(t, c, MethodPost, 3)
		for i, err := range errs {
			if !errors.Is(err, ErrConnectionClosed) {
				t.Errorf("request %d: %v", i, err)
			}
		}
		if n := received.Load(); n != 2 {
			t.Errorf("%d requests were received before the last", n)
		}
		expectPipelined(t, c, MethodPost, "/3")
	})
	t.Run("not for ever", func(t *testing.T) {
		peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) { c.expect("GET /") })
		_, err := pipelineGet(peer.client(), MethodGet, "/")
		if !errors.Is(err, ErrConnectionClosed) {
			t.Error(err)
		}
		if n := peer.conns.Load(); n != DefaultMaxIdemponentCallAttempts {
			t.Errorf("the request was sent %d times", n)
		}
	})
}

// Known failure 29: the server closed the connection while it was idle.
func TestPipelineNoticesThatTheServerLeft(t *testing.T) {
	t.Parallel()
	leave, left := make(chan struct{}), make(chan struct{})
	peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) {
		request := c.request()
		c.ok(request)
		<-leave
		_ = c.Close()
		left <- struct{}{}
	})
	c := peer.client()
	c.MaxIdleConnDuration = time.Minute
	for i := range 60 {
		expectPipelined(t, c, MethodPost, "/"+strconv.Itoa(i))
		leave <- struct{}{}
		<-left
	}
}

// Known failure 30: a truncated response is not a closed connection, and the client
// does not repeat its request.
func TestPipelineReportsTruncatedResponses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"H", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 100 Continue\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfour",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
	} {
		peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) {
			c.expect("GET /")
			c.send(text)
		})
		if _, err := pipelineGet(peer.client(), MethodGet, "/"); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", text, err)
		}
		if n := peer.conns.Load(); n != 1 {
			t.Errorf("%q: the request was sent %d times", text, n)
		}
	}
}

func TestPipelineRefusesBadResponses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"no HTTP":    {"garbage\r\n\r\n", nil},
		"status 000": {"HTTP/1.1 000 \r\n\r\n", nil},
		"too large":  {"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", ErrBodyTooLarge},
		"too large in chunks": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n" + strings.Repeat("a", 64) + "\r\n40\r\n",
			ErrBodyTooLarge},
		"endless hints": {strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", maxInformational+1), errTooManyInformational},
		"long head":     {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 70<<10), nil},
	} {
		t.Run(name, func(t *testing.T) {
			peer := startPipelinePeer(t, func(n int, conn *pipelinePeerConn) {
				if n == 1 {
					conn.expect("GET /0")
					conn.send(c.text)
					conn.waitForEnd()
					return
				}
				conn.echo()
			})
			client := peer.client()
			client.MaxResponseBodySize = 100
			if _, err := pipelineGet(client, MethodGet, "/0"); err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("the call ended with %v, want %v", err, c.want)
			}
			expectPipelined(t, client, MethodGet, "/1")
		})
	}
}

func TestPipelineDropsBytesNobodyAskedFor(t *testing.T) {
	t.Parallel()
	lines := make(chan string, 10)
	peer := startPipelinePeer(t, func(n int, c *pipelinePeerConn) {
		if n == 1 {
			request := c.request()
			c.ok(request)
			c.ok("this is no response to the next request")
			c.waitForEnd()
			return
		}
		c.echo()
	})
	c := peer.client()
	c.Logger = servertest.LoggerFunc(func(format string, args ...any) { lines <- fmt.Sprintf(format, args...) })
	expectPipelined(t, c, MethodGet, "/0")
	if line := <-lines; !strings.Contains(line, errUnasked.Error()) {
		t.Errorf("logged %q", line)
	}
	expectPipelined(t, c, MethodGet, "/1")
}

func TestPipelineReportsDialErrors(t *testing.T) {
	t.Parallel()
	c := &PipelineClient{Addr: "127.0.0.1:" + freePort(t)}
	for range 3 {
		if _, err := pipelineGet(c, MethodGet, "/"); err == nil || upstreamOf(t, err) != c.Addr {
			t.Error(err)
		}
	}
	for name, dial := range map[string]DialFunc{
		"panic":   func(string) (net.Conn, error) { panic("dial") },
		"nothing": func(string) (net.Conn, error) { return nil, nil },
	} {
		c := &PipelineClient{Addr: "host.test", Dial: dial}
		if _, err := pipelineGet(c, MethodGet, "/"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestPipelineReconnectsWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) { c.echo() })
	var dials atomic.Int64
	c := peer.client()
	refused := errors.New("refused")
	c.Dial = func(addr string) (net.Conn, error) {
		if dials.Add(1) <= 3 {
			return nil, refused
		}
		return Dial(addr)
	}
	for i := range 3 {
		if _, err := pipelineGet(c, MethodGet, "/"); err != refused {
			t.Errorf("call %d: %v", i, err)
		}
	}
	expectPipelined(t, c, MethodGet, "/back")
	servertest.Eventually(t, "the failures to be forgotten", func() bool { return c.lanes.Status().Failures == 0 })
}

func TestPipelineBadRequestsConcernNobodyElse(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) { c.echo() })
	c := peer.client()
	expectPipelined(t, c, MethodGet, "/0")
	var req Request
	req.SetRequestURI("/no-host")
	if err := c.Do(&req, nil); err == nil {
		t.Error("a request without a host was sent")
	}
	req.Reset()
	req.SetRequestURI("http://host.test/")
	req.SetBodyStream(&failingStream{}, 10)
	if err := c.Do(&req, nil); err == nil {
		t.Error("a request with a broken body was sent")
	}
	expectPipelined(t, c, MethodGet, "/1")
	if got := peer.conns.Load(); got != 1 {
		t.Errorf("%d connections", got)
	}
}

type failingStream struct{}

func (*failingStream) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestPipelineSendsBodies(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789", 50_000)
	peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) {
		for {
			var req Request
			if err := req.Read(c.r); err != nil {
				return
			}
			c.ok(string(req.Header.UserAgent()) + " " + string(req.Body()))
		}
	})
	c := peer.client()
	c.Name = "tester"
	for name, set := range map[string]func(req *Request){
		"bytes":   func(req *Request) { req.SetBodyString(large) },
		"stream":  func(req *Request) { req.SetBodyStream(strings.NewReader(large), len(large)) },
		"chunked": func(req *Request) { req.SetBodyStream(strings.NewReader(large), -1) },
	} {
		var req Request
		var resp Response
		req.Header.SetMethod(MethodPut)
		req.SetRequestURI("http://host.test/")
		set(&req)
		resp.StreamBody = true
		if err := c.Do(&req, &resp); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !resp.IsBodyStream() {
			t.Errorf("%s: the body is no stream", name)
		}
		body, err := io.ReadAll(resp.BodyStream())
		if err != nil || string(body) != "tester "+large {
			t.Errorf("%s: %d bytes, %v", name, len(body), err)
		}
	}
}

func TestPipelineUsesAllConnections(t *testing.T) {
	t.Parallel()
	const n = 4
	var here sync.WaitGroup
	here.Add(n)
	peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) {
		request := c.request()
		here.Done()
		here.Wait()
		c.ok(request)
		c.echo()
	})
	c := peer.client()
	c.MaxConns = n
	var calls sync.WaitGroup
	for i := range n {
		had := c.PendingRequests()
		calls.Go(func() { expectPipelined(t, c, MethodGet, "/"+strconv.Itoa(i)) })
		for c.PendingRequests() == had {
			runtime.Gosched()
		}
	}
	calls.Wait()
	if got := peer.conns.Load(); got != n {
		t.Errorf("%d connections", got)
	}
}

func TestPipelineBatchesForMaxBatchDelay(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) { c.echo() })
	c := peer.client()
	c.MaxBatchDelay = 50 * time.Millisecond
	began := time.Now()
	expectPipelined(t, c, MethodGet, "/0")
	if took := time.Since(began); took < c.MaxBatchDelay {
		t.Errorf("a lonely request was answered after %v", took)
	}
	c = peer.client()
	c.MaxBatchDelay = time.Hour
	c.WriteBufferSize = 1
	expectPipelined(t, c, MethodGet, "/1") // a full batch is sent at once
}

func TestPipelineClosesIdleConnections(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) {
		c.echo()
		ended <- struct{}{}
	})
	c := peer.client()
	c.MaxIdleConnDuration = 20 * time.Millisecond
	for i := range 2 {
		expectPipelined(t, c, MethodGet, "/"+strconv.Itoa(i))
		<-ended
	}
	if got := peer.conns.Load(); got != 2 {
		t.Errorf("%d connections", got)
	}
	servertest.Eventually(t, "the end of the writer", func() bool { return c.lanes.Status().Writers == 0 })
}

func TestPipelineDoContext(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, func(_ int, c *pipelinePeerConn) {
		for request := c.request(); request != ""; request = c.request() {
			if request != "GET /hang" {
				c.ok(request)
			}
		}
	})
	c := peer.client()
	do := func(ctx context.Context, path string) error {
		var req Request
		req.SetRequestURI("http://host.test" + path)
		return c.DoContext(ctx, &req, nil)
	}
	if err := do(t.Context(), "/"); err != nil {
		t.Error(err)
	}
	reason := errors.New("reason")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(reason) })
	if err := do(ctx, "/hang"); !errors.Is(err, context.Canceled) || !errors.Is(err, reason) {
		t.Errorf("a canceled call ended with %v", err)
	}
	if err := do(ctx, "/"); !errors.Is(err, reason) {
		t.Errorf("a call with a canceled context ended with %v", err)
	}
	timed, cancelTimed := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancelTimed()
	if err := do(timed, "/hang"); err != error(ErrTimeout) {
		t.Errorf("a timed-out call ended with %v", err)
	}
	if err := do(t.Context(), "/"); err != nil {
		t.Error(err)
	}
}

// The client sends the path of an absolute target. The request keeps its target, so
// a program sets it before each call.
func TestPipelineLeavesTheTargetAlone(t *testing.T) {
	t.Parallel()
	const target = "http://host.test/some/path?x=1"
	var c PipelineClient
	req := AcquireRequest()
	defer ReleaseRequest(req)
	for range 3 {
		req.SetRequestURI(target)
		call := c.lanes.NewCall()
		if err := c.encode(call, req); err != nil {
			t.Fatal(err)
		}
		if want := "GET /some/path?x=1 HTTP/1.1\r\nHost: host.test\r\n"; !strings.HasPrefix(string(call.Out), want) {
			t.Errorf("sent %q, want %q", call.Out, want)
		}
		if got := string(req.Header.RequestURI()); got != target {
			t.Errorf("the target of the request is %q now", got)
		}
		call.Drop(2)
	}
}

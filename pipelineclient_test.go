package fasthttp

import (
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

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestPipelinedRequestsGoOutTogether(t *testing.T) {
	t.Parallel()
	const n = 20
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		// responds after all requests have arrived
		for i := range n {
			c.Expect("GET /" + strconv.Itoa(i))
		}
		for i := range n {
			c.OK("answer " + strconv.Itoa(i))
		}
		c.UntilClosed()
	})
	proceed := make(chan struct{})
	c := peer.client()
	c.Dial = peer.held(proceed)
	go func() {
		for c.PendingRequests() < n && t.Context().Err() == nil {
			runtime.Gosched()
		}
		close(proceed)
	}()
	bodies, errs := pipelineTogether(t, c, MethodGet, n)
	for i := range n {
		if errs[i] != nil || bodies[i] != "answer "+strconv.Itoa(i) {
			t.Errorf("request %d: %q, %v", i, bodies[i], errs[i])
		}
	}
	peer.HasAccepted(1)
}

// Known failures 36 and 39: the client reads no body if the response has none, and
// takes no 1xx for the final response.
func TestPipelinedResponsesStayWithTheirRequests(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		c.Expect("HEAD /0")
		c.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
		c.Expect("GET /1")
		c.Send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
		c.OK("one")
		c.Expect("GET /2")
		c.Send("HTTP/1.1 204 No Content\r\n\r\n")
		c.Expect("GET /3")
		c.Send("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n")
		c.Expect("GET /4")
		c.Send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n3\r\nfou\r\n1\r\nr\r\n0\r\nX-End: yes\r\n\r\n")
		c.Expect("HEAD /5")
		c.Send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
		c.Expect("GET /6")
		// and byte by byte
		for _, b := range []byte("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nsix") {
			c.Send(string(b))
		}
		c.Echo()
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
		if got := resp.RemoteAddr().String(); got != peer.Addr() {
			t.Errorf("the response is from %s", got)
		}
	}
	peer.HasAccepted(1)
}

func TestPipelineGoesOnAfterAClosingResponse(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(c *servertest.PeerConn, request string){
		"Connection: close": func(c *servertest.PeerConn, request string) {
			c.Send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(request)) + "\r\n\r\n" + request)
		},
		"HTTP/1.0": func(c *servertest.PeerConn, request string) {
			c.Send("HTTP/1.0 200 OK\r\nContent-Length: " + strconv.Itoa(len(request)) + "\r\n\r\n" + request)
		},
		"until close": func(c *servertest.PeerConn, request string) { c.Send("HTTP/1.1 200 OK\r\n\r\n" + request) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			peer := startPipelinePeer(t, func(c *servertest.PeerConn) { answer(c, c.Asked()) })
			// the server did not process the requests after such a response,
			// whatever their method
			bodies, errs := pipelineTogether(t, peer.client(), MethodPost, 15)
			for i := range errs {
				if errs[i] != nil || bodies[i] != "POST /"+strconv.Itoa(i) {
					t.Errorf("request %d: %q, %v", i, bodies[i], errs[i])
				}
			}
			peer.HasAccepted(15)
		})
	}
}

func TestPipelineEndsWhereARequestWantsThat(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		c.Expect("GET /" + strconv.Itoa(c.Number))
		c.OK("GET /" + strconv.Itoa(c.Number))
		if got := c.Asked(); got != "" {
			c.Fail("%q arrived after a request with Connection: close", got)
		}
	})
	c := peer.client()
	var calls sync.WaitGroup
	for i := range 3 {
		calls.Go(func() {
			var req Request
			req.SetRequestURI("http://host.test/" + strconv.Itoa(i+1))
			req.SetConnectionClose()
			if err := c.DoTimeout(&req, nil, servertest.Patience); err != nil {
				t.Error(err)
			}
		})
		calls.Wait()
	}
}

func TestPipelineRepeatsWhatIsSafe(t *testing.T) {
	t.Parallel()
	t.Run("idempotent", func(t *testing.T) {
		peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
			switch c.Number {
			case 1:
				c.Expect("GET /0")
				c.OK("GET /0")
				c.Expect("GET /1")
			default:
				c.Echo()
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
		peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
			if c.Number > 1 {
				c.Echo()
				return
			}
			for asked := c.Asked(); asked != "" && asked != "POST /2"; asked = c.Asked() {
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
		peer := startPipelinePeer(t, func(c *servertest.PeerConn) { c.Expect("GET /") })
		_, err := pipelineGet(peer.client(), MethodGet, "/")
		if !errors.Is(err, ErrConnectionClosed) {
			t.Error(err)
		}
		if n := peer.Conns.Load(); n != DefaultMaxIdemponentCallAttempts {
			t.Errorf("the request was sent %d times", n)
		}
	})
}

// Known failure 29: the server closed the connection while it was idle.
func TestPipelineNoticesThatTheServerLeft(t *testing.T) {
	t.Parallel()
	leave := make(chan struct{})
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		c.OK(c.Asked())
		c.Await(leave)
		_ = c.Close()
	})
	var w connWatch
	c := peer.client()
	c.Dial = w.dial
	for i := range 60 {
		expectPipelined(t, c, MethodPost, "/"+strconv.Itoa(i))
		servertest.Send(t, "the word to leave", leave, struct{}{})
		w.awaitEnd(t)
	}
	peer.HasAccepted(60)
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
		peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
			c.Expect("GET /")
			c.Send(text)
		})
		if _, err := pipelineGet(peer.client(), MethodGet, "/"); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", text, err)
		}
		if n := peer.Conns.Load(); n != 1 {
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
			peer := startPipelinePeer(t, func(conn *servertest.PeerConn) {
				if conn.Number == 1 {
					conn.Expect("GET /0")
					conn.Send(c.text)
					conn.UntilClosed()
					return
				}
				conn.Echo()
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
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		if c.Number == 1 {
			request := c.Asked()
			c.OK(request)
			c.OK("this is no response to the next request")
			c.UntilClosed()
			return
		}
		c.Echo()
	})
	c := peer.client()
	c.Logger = servertest.LoggerFunc(func(format string, args ...any) { lines <- fmt.Sprintf(format, args...) })
	expectPipelined(t, c, MethodGet, "/0")
	if line := servertest.Receive(t, "a line of the log", lines); !strings.Contains(line, errUnsolicited.Error()) {
		t.Errorf("logged %q", line)
	}
	expectPipelined(t, c, MethodGet, "/1")
}

func TestPipelineReportsDialErrors(t *testing.T) {
	t.Parallel()
	c := &PipelineClient{Addr: "127.0.0.1:" + servertest.FreePort(t)}
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
	peer := startPipelinePeer(t, (*servertest.PeerConn).Echo)
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
	servertest.Eventually(t, "the failures to be forgotten", func() bool { return c.pool.Status().Failures == 0 })
}

func TestPipelineBadRequestsConcernNobodyElse(t *testing.T) {
	t.Parallel()
	peer := startPipelinePeer(t, (*servertest.PeerConn).Echo)
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
	peer.HasAccepted(1)
}

type failingStream struct{}

func (*failingStream) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestPipelineSendsBodies(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789", 50_000)
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		for req := c.Request(); req != nil; req = c.Request() {
			c.OK(req.UserAgent() + " " + c.Body)
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
	all := make(chan struct{})
	var here atomic.Int32
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		request := c.Asked()
		if here.Add(1) == n {
			close(all)
		}
		c.Await(all)
		c.OK(request)
		c.Echo()
	})
	c := peer.client()
	c.MaxConns = n
	var calls sync.WaitGroup
	for i := range n {
		servertest.Eventually(t, "the calls before", func() bool { return c.taken() == i })
		calls.Go(func() { expectPipelined(t, c, MethodGet, "/"+strconv.Itoa(i)) })
	}
	calls.Wait()
	peer.HasAccepted(n)
}

func TestPipelineDoContext(t *testing.T) {
	t.Parallel()
	hanging := make(chan struct{}, 10)
	peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
		for request := c.Asked(); request != ""; request = c.Asked() {
			if request != "GET /hang" {
				c.OK(request)
			} else {
				hanging <- struct{}{}
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
	go func() {
		<-hanging
		cancel(reason)
	}()
	if err := do(ctx, "/hang"); !errors.Is(err, context.Canceled) || !errors.Is(err, reason) {
		t.Errorf("a canceled call ended with %v", err)
	}
	if err := do(ctx, "/"); !errors.Is(err, reason) {
		t.Errorf("a call with a canceled context ended with %v", err)
	}
	timed, cancelTimed := context.WithTimeout(t.Context(), servertest.Short)
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
		call := c.pool.NewCall()
		if err := c.encode(call, req); err != nil {
			t.Fatal(err)
		}
		if want := "GET /some/path?x=1 HTTP/1.1\r\nHost: host.test\r\n"; !strings.HasPrefix(string(call.Out), want) {
			t.Errorf("sent %q, want %q", call.Out, want)
		}
		if got := string(req.Header.RequestURI()); got != target {
			t.Errorf("the target of the request is %q now", got)
		}
		call.Release(2)
	}
}

// A pipeline sends a POST once, too, if the server has read it or may have read a
// part of it.
func TestPipelineSendsPostOnceWhateverHappens(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]int{"all": 0, "a part": 1 << 10} {
		t.Run(name, func(t *testing.T) {
			var posts atomic.Int32
			peer := startPipelinePeer(t, func(c *servertest.PeerConn) {
				c.Expect("GET /first")
				c.OK("GET /first")
				if part > 0 {
					_, _ = io.ReadFull(c.R, make([]byte, part))
				} else {
					c.Request()
				}
				posts.Add(1)
				servertest.Reset(c.Conn)
			})
			client := peer.client()
			expectPipelined(t, client, MethodGet, "/first")
			var req Request
			req.Header.SetMethod(MethodPost)
			req.SetRequestURI("http://host.test/")
			req.SetBodyString("pay")
			if part > 0 {
				req.SetBodyRaw(make([]byte, 32<<20))
			}
			if err := client.DoTimeout(&req, nil, servertest.Patience); !errors.Is(err, ErrConnectionClosed) {
				t.Errorf("got %v, want ErrConnectionClosed", err)
			}
			if n := posts.Load(); n != 1 {
				t.Errorf("the server has seen the POST %d times", n)
			}
		})
	}
}

package fasthttptest_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttptest"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// greet is a handler.
func greet(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/stream":
		ctx.SetBodyStream(strings.NewReader("streamed"), -1)
	case "/broken":
		ctx.SetBodyStream(io.MultiReader(strings.NewReader("stre"), brokenReader{}), -1)
	case "/left":
		ctx.TimeoutErrorWithCode("left", 504)
	case "/hijack":
		ctx.Hijack(func(net.Conn) {})
	case "/switch":
		ctx.SwitchProtocols(new(fasthttp.EventConn), nil)
	default:
		fmt.Fprintf(ctx, "%s %s %s %s", ctx.Method(), ctx.Path(), ctx.PostBody(), ctx.RemoteIP())
	}
}

var errBroken = errors.New("broken")

// brokenReader fails.
type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }

func TestServersServe(t *testing.T) {
	for name, start := range map[string]func(testing.TB, fasthttp.RequestHandler) *fasthttptest.Server{"memory": fasthttptest.New, "tcp": fasthttptest.NewTCP} {
		t.Run(name, func(t *testing.T) {
			s := start(t, greet)
			status, body, err := s.Client.Get(nil, s.URL+"/a")
			if status != 200 || !strings.HasPrefix(string(body), "GET /a ") || err != nil {
				t.Errorf("got %d %q, %v", status, body, err)
			}
			if status, _, err = s.Client.Get(nil, "http://elsewhere/"); status != 200 || err != nil {
				t.Errorf("another host: got %d, %v", status, err)
			}
			c, err := s.Dial()
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, "GET /b HTTP/1.0\r\n\r\n"); err != nil {
				t.Error(err)
			}
			if got, err := io.ReadAll(c); !strings.Contains(string(got), "GET /b ") || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	s := fasthttptest.NewServerTCP(t, &fasthttp.Server{Handler: greet, Name: "named"})
	resp, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if got := resp.Header.Get("Server"); got != "named" {
		t.Errorf("the server has the name %q", got)
	}
}

// TestServerThatDoesNotShutDownFailsTheTest has a handler that does not return.
func TestServerThatDoesNotShutDownFailsTheTest(t *testing.T) {
	servertest.Bubble(t, func(t *testing.T) {
		var fake fakeT
		entered, leave := make(chan struct{}), make(chan struct{})
		s := fasthttptest.New(&fake, func(*fasthttp.RequestCtx) {
			close(entered)
			<-leave
		})
		result := make(chan error, 1)
		go func() {
			_, _, err := s.Client.Get(nil, s.URL)
			result <- err
		}()
		<-entered
		began := time.Now()
		fake.end()
		if len(fake.failures) != 1 || !strings.Contains(fake.failures[0], "does not shut down, with 1 open connections") || time.Since(began) != fasthttptest.Patience {
			t.Errorf("the failures are %q after %v", fake.failures, time.Since(began))
		}
		close(leave)
		if err := <-result; err != nil {
			t.Error(err)
		}
		s.Client.CloseIdleConnections()
		// the clock of the process ends
		time.Sleep(time.Minute) // bubble: within servertest.Bubble
	})
}

// TestServerThatFailsFailsTheTest has servers that end before the test: one as it should, and one
// with an error.
func TestServerThatFailsFailsTheTest(t *testing.T) {
	var fake fakeT
	s := fasthttptest.New(&fake, greet)
	// a server that has been shut down is no failure
	servertest.Must(t, s.Server.Shutdown())
	fake.end()
	if len(fake.failures) > 0 {
		t.Errorf("the failures are %q", fake.failures)
	}
	if _, err := s.Dial(); err == nil {
		t.Error("Dial returns no error")
	}
	fasthttptest.NewServer(&fake, &fasthttp.Server{}) // has no handler
	fake.end()
	if len(fake.failures) != 1 || !strings.Contains(fake.failures[0], "Serve has failed") {
		t.Errorf("the failures are %q", fake.failures)
	}
}

func TestDoCallsHandler(t *testing.T) {
	for path, want := range map[string]string{"/a": "200 POST /a body 127.0.0.1", "/stream": "200 streamed", "/left": "504 left"} {
		var req fasthttp.Request
		req.Header.SetMethod("POST")
		req.SetRequestURI(path)
		req.SetBodyString("body")
		resp, err := fasthttptest.Do(greet, &req)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d %s", resp.StatusCode(), resp.Body()); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]error{"/hijack": fasthttptest.ErrHijack, "/switch": fasthttptest.ErrHijack, "/broken": errBroken} {
		var req fasthttp.Request
		req.SetRequestURI(path)
		if resp, err := fasthttptest.Do(greet, &req); !errors.Is(err, want) || resp != nil {
			t.Errorf("%s: got %v, %v", path, resp, err)
		}
	}
}

// closedValue is a value of a request that must be closed.
type closedValue struct{ closed bool }

func (v *closedValue) Close() error {
	v.closed = true
	return nil
}

func TestDoEndsTheRequest(t *testing.T) {
	var v closedValue
	var req fasthttp.Request
	req.SetUserValue("a", "b")
	if _, err := fasthttptest.Do(func(ctx *fasthttp.RequestCtx) { ctx.SetUserValue("v", &v) }, &req); err != nil || !v.closed {
		t.Errorf("the value is closed: %v, %v", v.closed, err)
	}
}

func TestPeerFollowsTheScript(t *testing.T) {
	peer := fasthttptest.NewPeer(t)
	client := peer.Client()
	result := make(chan error, 1)
	go func() {
		_, _, err := client.Post(nil, "http://a/", nil)
		result <- err
	}()
	c := peer.Accept()
	if head := c.ExpectHead(); !strings.HasPrefix(head, "POST / HTTP/1.1\r\n") {
		t.Errorf("got %q", head)
	}
	c.Send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal")
	_ = c.Close()
	if err := servertest.Receive(t, "the result", result); err == nil {
		t.Error("the cut is not noticed")
	}
}

// TestPeerNoticesWhatDiffers has clients that do something else than the peer expects.
func TestPeerNoticesWhatDiffers(t *testing.T) {
	for _, tc := range []struct {
		sent   string
		expect func(c *fasthttptest.PeerConn)
		want   string
	}{
		{"abd", func(c *fasthttptest.PeerConn) { c.Expect("abc") }, `got "abd", <nil>, want "abc"`},
		{"ab", func(c *fasthttptest.PeerConn) { c.Expect("abc") }, `got "ab", unexpected EOF, want "abc"`},
		{"GET / HTTP/1.1\r\n", func(c *fasthttptest.PeerConn) { c.ExpectHead() }, `ends after "GET / HTTP/1.1\r\n": EOF`},
		{"abc", func(c *fasthttptest.PeerConn) { c.ExpectEnd() }, `got "abc", <nil>, want the end`},
		{"", func(c *fasthttptest.PeerConn) { _ = c.Close(); c.Send("abc") }, `cannot send "abc": `},
	} {
		var fake fakeT
		peer := fasthttptest.NewPeer(&fake)
		go func() {
			c, err := peer.Dial()
			if err == nil {
				_, _ = io.WriteString(c, tc.sent)
				_ = c.Close()
			}
		}()
		if got := fake.fails(func() { tc.expect(peer.Accept()) }); !strings.Contains(got, tc.want) {
			t.Errorf("%q: the failure is %q, want %q", tc.sent, got, tc.want)
		}
		fake.end()
		if _, err := peer.Dial(); err == nil {
			t.Error("the peer has not ended")
		}
		if got := fake.fails(func() { peer.Accept() }); !strings.Contains(got, "no connection") {
			t.Errorf("the failure is %q", got)
		}
	}
}

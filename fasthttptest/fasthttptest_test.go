package fasthttptest_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttptest"
)

// greet is a handler.
func greet(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/stream":
		ctx.SetBodyStream(strings.NewReader("streamed"), -1)
	case "/left":
		ctx.TimeoutErrorWithCode("left", 504)
	case "/hijack":
		ctx.Hijack(func(net.Conn) {})
	default:
		fmt.Fprintf(ctx, "%s %s %s", ctx.Method(), ctx.Path(), ctx.PostBody())
	}
}

func TestServersServe(t *testing.T) {
	for name, start := range map[string]func(testing.TB, fasthttp.RequestHandler) *fasthttptest.Server{"memory": fasthttptest.New, "tcp": fasthttptest.NewTCP} {
		t.Run(name, func(t *testing.T) {
			s := start(t, greet)
			status, body, err := s.Client.Get(nil, s.URL+"/a")
			if status != 200 || string(body) != "GET /a " || err != nil {
				t.Errorf("got %d %q, %v", status, body, err)
			}
		})
	}
}

func TestDoCallsHandler(t *testing.T) {
	for path, want := range map[string]string{"/a": "200 POST /a body", "/stream": "200 streamed", "/left": "504 left"} {
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
	var req fasthttp.Request
	req.SetRequestURI("/hijack")
	if _, err := fasthttptest.Do(greet, &req); !errors.Is(err, fasthttptest.ErrHijack) {
		t.Errorf("got %v", err)
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
	if err := <-result; err == nil {
		t.Error("the cut is not noticed")
	}
}

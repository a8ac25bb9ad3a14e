package integrationtests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestHTTP2HeadsOfTheWire has heads that no client of net/http would send.
func TestHTTP2HeadsOfTheWire(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			h := &ctx.Request.Header
			fmt.Fprintf(ctx, "%v %s %s %s %s %q %s %d", ctx.IsHTTP2(), ctx.Method(), ctx.Host(), ctx.RequestURI(), h.Cookie("b"), h.Peek("Cookie"), h.Peek("X-Long"), h.ContentLength())
		}})
		c := s.dialFrames(t)
		for i, tc := range []struct {
			end    bool
			fields []string
			want   string
		}{
			{true, nil, `true GET a /x?y  ""  -2`},
			{true, []string{"cookie", "a=1", "cookie", "b=2", "cookie", "c=3"}, `true GET a /x?y 2 "a=1; b=2; c=3"  -2`},
			{true, []string{"cookie", "a=1; b=2"}, `true GET a /x?y 2 "a=1; b=2"  -2`},
			{true, []string{"host", "a"}, `true GET a /x?y  ""  -2`},
			{true, []string{"te", "trailers"}, `true GET a /x?y  ""  -2`},
			{true, []string{"x-long", strings.Repeat("l", 30_000)}, `true GET a /x?y  "" ` + strings.Repeat("l", 30_000) + ` -2`},
			{false, nil, `true GET a /x?y  ""  -1`},
			{false, []string{"content-length", "3"}, `true GET a /x?y  ""  3`},
		} {
			id := uint32(2*i + 1)
			c.Begin(id, tc.end, "GET", "/x?y", tc.fields...)
			if !tc.end {
				c.Must(c.WriteData(id, true, []byte("abc")))
			}
			c.ExpectResponse(id, "200", tc.want)
		}
		// the authority may be in the Host field only
		c.SendFields(101, true, ":method", "GET", ":scheme", "http", ":path", "/", "host", "b")
		c.ExpectResponse(101, "200", `true GET b /  ""  -2`)
		c.SendFields(103, true, ":method", "OPTIONS", ":scheme", "http", ":authority", "a", ":path", "*")
		c.ExpectResponse(103, "200", `true OPTIONS a *  ""  0`)
	})
}

// TestHTTP2ConnectIsATunnel has a handler that answers CONNECT, and the bytes that go both
// ways afterwards (RFC 9113 section 8.5).
func TestHTTP2ConnectIsATunnel(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		s := start(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
			if !ctx.IsConnect() || string(ctx.RequestURI()) != "b:443" {
				t.Errorf("got %s %s", ctx.Method(), ctx.RequestURI())
			}
			ctx.EnableFullDuplex()
			in := ctx.RequestBodyStream()
			ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
				b := make([]byte, 100)
				for {
					n, err := in.Read(b)
					_, _ = w.WriteString(strings.ToUpper(string(b[:n])))
					if w.Flush() != nil || err != nil {
						return
					}
				}
			})
		}})
		c := s.dialFrames(t)
		c.SendFields(1, false, ":method", "CONNECT", ":authority", "b:443")
		f := c.Stream(1)
		for i, piece := range []string{"first", "second", "third"} {
			c.Must(c.WriteData(1, i == 2, []byte(piece)))
			want := strings.ToUpper(strings.Join([]string{"first", "second", "third"}[:i+1], ""))
			c.Until("the answer to "+piece, func() bool { return string(f.Content) == want })
		}
		if got := c.ExpectResponse(1, "200", "FIRSTSECONDTHIRD").Head(0)["content-length"]; got != "" {
			t.Errorf("a tunnel has the length %q", got)
		}
	})
}

// TestHTTP2DeadlinesOfAHandler has deadlines that concern one request of a connection.
func TestHTTP2DeadlinesOfAHandler(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		ended, cut := make(chan error, 1), make(chan error, 1)
		s := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			switch string(ctx.Path()) {
			case "/read":
				if err := ctx.SetReadDeadline(time.Now().Add(servertest.Short)); err != nil {
					t.Errorf("SetReadDeadline: %v", err)
				}
				_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
				ended <- err
				ctx.SetStatusCode(408)
			case "/write":
				if err := ctx.SetWriteDeadline(time.Now().Add(servertest.Short)); err != nil {
					t.Errorf("SetWriteDeadline: %v", err)
				}
				ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
					for {
						if _, err := w.WriteString("some text that goes on"); err != nil {
							cut <- err
							return
						}
					}
				})
			default:
				echo(ctx)
			}
		}})
		c := s.dialFrames(t, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1000})
		c.Begin(1, false, "POST", "/read")
		c.Begin(3, true, "GET", "/write")
		if err := servertest.Receive(t, "the end of the body", ended); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("reading ends with %v", err)
		}
		if err := servertest.Receive(t, "the end of the response", cut); err == nil {
			t.Error("writing ends well")
		}
		c.Response(3)
		c.Begin(5, true, "GET", "/")
		c.ExpectResponse(5, "200", `GET / ""`)
	})
}

// TestHTTP2LateReader has a handler that reads its body after its timeout.
func TestHTTP2LateReader(t *testing.T) {
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		late, read := make(chan struct{}), make(chan error, 1)
		limited := fasthttp.TimeoutWithCodeHandler(func(ctx *fasthttp.RequestCtx) {
			_, _ = io.ReadFull(ctx.RequestBodyStream(), make([]byte, 3))
			<-late
			_, err := io.Copy(io.Discard, ctx.RequestBodyStream())
			read <- err
		}, 10*servertest.Short, "too late", 504)
		s := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
			if string(ctx.Path()) == "/late" {
				limited(ctx)
			} else {
				echo(ctx)
			}
		}})
		c := s.dialFrames(t)
		c.Begin(1, false, "POST", "/late")
		c.Must(c.WriteData(1, false, []byte("abcdef")))
		f := c.Stream(1)
		c.Until("the response", func() bool { return f.Ended })
		if f.Head(0)[":status"] != "504" || string(f.Content) != "too late" {
			t.Errorf("got %v %q", f.Heads, f.Content)
		}
		close(late)
		if err := servertest.Receive(t, "the end of the body", read); err == nil {
			t.Error("a late handler reads to the end of a body that has none")
		}
		c.Begin(3, true, "GET", "/")
		c.ExpectResponse(3, "200", `GET / ""`)
	})
}

// TestHTTP2LargeBodies has bodies that are larger than all that a connection may hold by
// default.
func TestHTTP2LargeBodies(t *testing.T) {
	if testing.Short() {
		t.Skip("moves some hundred megabytes")
	}
	const size = 40 << 20
	overHTTP2(t, func(t *testing.T, start http2Starter) {
		s := start(&fasthttp.Server{MaxRequestBodySize: size, Handler: func(ctx *fasthttp.RequestCtx) {
			fmt.Fprint(ctx, len(ctx.PostBody()))
		}})
		// the timeout is for each piece, not for all of them
		ctx, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		late := time.AfterFunc(servertest.Patience, giveUp)
		defer late.Stop()
		body := servertest.ReadFunc(func(p []byte) (int, error) {
			late.Reset(servertest.Patience)
			return plenty{}.Read(p)
		})
		resp := s.do(t, s.request(t, "POST", "/", io.LimitReader(body, size)).WithContext(ctx))
		if resp.StatusCode != 200 || resp.Content != fmt.Sprint(size) {
			t.Errorf("got %d %q", resp.StatusCode, resp.Content)
		}
	})
}

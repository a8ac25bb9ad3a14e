package fasthttp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// A body counts as long as a late handler under TimeoutHandler keeps it.
func TestBodiesOfLateHandlersCount(t *testing.T) {
	t.Parallel()
	forEachEngine(t, func(t *testing.T, start starter) {
		late := make(chan struct{})
		t.Cleanup(func() { close(late) })
		wait := func(*RequestCtx) { <-late }
		inner := TimeoutHandler(wait, time.Millisecond, "late")
		quick := TimeoutHandler(func(*RequestCtx) {}, servertest.Never, "never")
		for name, h := range map[string]RequestHandler{
			"one":    inner,
			"nested": TimeoutHandler(inner, servertest.Never, "never"),
			"in a row": func(ctx *RequestCtx) {
				inner(ctx)
				quick(ctx)
			},
		} {
			ts := start(&Server{Handler: h, MaxRequestBodyMemory: 10 << 20})
			c := ts.Dial()
			c.Send(servertest.Part("/", 4<<20, 4<<20))
			if resp := c.Next("POST"); resp.StatusCode != StatusRequestTimeout {
				t.Fatalf("%s: status %d", name, resp.StatusCode)
			}
			if used := ts.S.bodies.Used(); used < 4<<20 {
				t.Errorf("%s: %d bytes are counted", name, used)
			}
		}
	})
}

// An empty line does not give the head of a request more time.
func TestHeadsHaveNoMoreTimeBehindEmptyLines(t *testing.T) {
	const headTime = time.Second
	for _, s := range []*Server{
		{ReadHeaderTimeout: headTime}, {ReadHeaderTimeout: headTime, IdleTimeout: time.Hour}, {ReadTimeout: headTime, IdleTimeout: time.Hour},
	} {
		inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
			c := dial()
			c.Send("\r\n")
			time.Sleep(headTime / 4)
			c.Send("GET / HT")
			timesOutAfter(c, headTime*3/4)

			c = dial()
			c.Get("/")
			c.Next("GET")
			c.Send("\r")
			time.Sleep(headTime / 4)
			c.Send("\n")
			time.Sleep(headTime / 4)
			begin := time.Now()
			c.Send("GET / HT")
			if resp := c.Next("GET"); resp.StatusCode != StatusRequestTimeout || time.Since(begin) > headTime {
				t.Errorf("status %d after %v", resp.StatusCode, time.Since(begin))
			}
		})
	}
}

// The server accepts a form that arrives at a sufficient rate and is parsed
// meanwhile.
func TestFormsThatKeepTheRateAreTaken(t *testing.T) {
	s := &Server{MaxRequestBodySize: 64 << 20, MinRequestBodyRate: 1000, MinRequestBodyRateGrace: time.Second}
	s.Handler = func(ctx *RequestCtx) {
		file, err := ctx.FormFile("f")
		if err != nil {
			ctx.Error(err.Error(), StatusBadRequest)
			return
		}
		fmt.Fprint(ctx, file.Size)
	}
	inBubble(t, s, func(t *testing.T, dial func() *servertest.Conn) {
		c := dial()
		chunk := func(text string) { c.Send(fmt.Sprintf("%x\r\n%s\r\n", len(text), text)) }
		c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Transfer-Encoding: chunked", "Content-Type: multipart/form-data; boundary=b"))
		chunk("--b\r\nContent-Disposition: form-data; name=f; filename=f\r\n\r\n")
		for range 50 {
			chunk(strings.Repeat("x", 100_000))
		}
		for range 10 {
			time.Sleep(s.MinRequestBodyRateGrace / 3)
			chunk(strings.Repeat("x", 100_000))
		}
		chunk("\r\n--b--\r\n")
		c.Send("0\r\n\r\n")
		c.Expect(200, "6000000")
	})
}

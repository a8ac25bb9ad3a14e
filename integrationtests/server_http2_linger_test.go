package integrationtests

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A handler may answer without the content. If the rest of the content is on its way, the stream
// is not reset: a client that has sent everything, and so has finished, may take the reset for
// its next request. Otherwise the server asks the client to stop sending.
func TestHTTP2RequestThatWasAnsweredEarlyMayEnd(t *testing.T) {
	t.Parallel()
	forEachHTTP2(t, testHTTP2RequestThatWasAnsweredEarlyMayEnd)
}

func testHTTP2RequestThatWasAnsweredEarlyMayEnd(t *testing.T, e servertest.Engine) {
	t.Parallel()
	ts := serveHTTP2(t, e, &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetBodyString("ok")
	}})
	c := greetHTTP2(ts)
	defer c.Close()
	// the server waits for the rest for a second at least
	const inTime = 900 * time.Millisecond
	for id := uint32(1); id < 20; id += 4 {
		begun := time.Now()
		c.Post(id, "/").Flush()
		first := c.ExpectResponse(id, "200", "ok")
		c.Data(id, endStream, "the rest").Get(id+2, "/").Flush()
		c.ExpectResponse(id+2, "200", "ok")
		c.Sync()
		if first.Reset != nil && time.Since(begun) < inTime {
			t.Errorf("stream %d: reset with %v although it has come to its end", id, *first.Reset)
		}
	}
	for i, fields := range [][]string{nil, {"content-length: 100000000"}} {
		id := uint32(21 + 2*i)
		c.Post(id, "/", fields...).Data(id, 0, strings.Repeat("a", 1000)).Flush()
		s := c.ExpectResponse(id, "200", "ok")
		c.Until("a reset", func() bool { return s.Reset != nil })
		if *s.Reset != http2.ErrCodeNo {
			t.Errorf("stream %d: reset with %v", id, *s.Reset)
		}
	}
}

package fasthttpadaptor

import (
	"io"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp"
)

// A test of a handler makes its own request, with a body but without a
// Content-Length.
func TestBodyOfARequestThatWasNotReceivedIsThere(t *testing.T) {
	t.Parallel()
	const body = "put together"
	for name, set := range map[string]func(req *fasthttp.Request){
		"writer": func(req *fasthttp.Request) { _, _ = req.BodyWriter().Write([]byte(body)) },
		"string": func(req *fasthttp.Request) { req.SetBodyString(body) },
		"raw":    func(req *fasthttp.Request) { req.SetBodyRaw([]byte(body)) },
		"nothing": func(req *fasthttp.Request) {
			req.SetBodyString("gone")
			req.ResetBody()
		},
	} {
		want := body
		if name == "nothing" {
			want = ""
		}
		var req fasthttp.Request
		req.Header.SetMethod(http.MethodPost)
		req.SetRequestURI("http://example.com/")
		set(&req)
		var ctx fasthttp.RequestCtx
		ctx.Init(&req, nil, nil)
		NewFastHTTPHandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got, err := io.ReadAll(r.Body)
			if err != nil || string(got) != want || r.ContentLength != int64(len(want)) {
				t.Errorf("%s: got %q, length %d, %v", name, got, r.ContentLength, err)
			}
		})(&ctx)
	}
}

package integrationtests

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestLimitRequestBody(t *testing.T) {
	t.Parallel()
	const form = "--b\r\nContent-Disposition: form-data; name=a\r\n\r\nvalue\r\n--b--\r\n"
	const formType = "Content-Type: multipart/form-data; boundary=b"
	body := strings.Repeat("x", 1000)
	inChunks := servertest.Chunked("/read", "1f4\r\n"+body[:500]+"\r\n1f4\r\n"+body[500:]+"\r\n0\r\n\r\n")
	forEachEngine(t, func(t *testing.T, start starter) {
		for _, tc := range []struct {
			request  string
			limit    int64
			at, read bool // the error is returned at once, or by a read
		}{
			{servertest.Post("/read", body), 1000, false, false},
			{servertest.Post("/read", body), 999, true, true},
			{servertest.Post("/read", body), 0, true, true},
			{servertest.Post("/read", body), -1, true, true},
			{servertest.Post("/read", ""), 0, false, false},
			{servertest.Post("/ignored", body), 999, true, true},
			{inChunks, 1000, false, false},
			{inChunks, 999, false, true},
			{inChunks, 500, false, true},
			{inChunks, 499, false, true},
			{inChunks, 0, false, true},
			{servertest.Post("/twice", body), 1000, true, true},
			{strings.Replace(inChunks, "/read", "/twice", 1), 1000, false, true},
			{strings.Replace(inChunks, "/read", "/body", 1), 999, false, true},
			{strings.Replace(inChunks, "/read", "/body", 1), 1000, false, false},
			{servertest.Chunked("/form", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(form), form), formType), int64(len(form)), false, false},
			{servertest.Chunked("/form", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(form), form), formType), int64(len(form)) - 10, false, true},
		} {
			var at, read error
			var got int64
			ts := start(&fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
				at = ctx.LimitRequestBody(tc.limit)
				path := string(ctx.Path())
				if path == "/twice" {
					at = errors.Join(at, ctx.LimitRequestBody(900), ctx.LimitRequestBody(950))
				}
				switch path {
				case "/body":
					read = ctx.Request.BodyWriteTo(io.Discard)
				case "/form":
					_, read = ctx.MultipartForm()
				case "/ignored":
					read = at
				default:
					if stream := ctx.RequestBodyStream(); stream != nil {
						got, read = io.Copy(io.Discard, stream)
					}
				}
			}})
			c := ts.Dial()
			c.Send(tc.request)
			resp := c.Expect(200, "")
			what := fmt.Sprintf("%.20q..., %d", tc.request, tc.limit)
			for _, e := range []struct {
				err  error
				want bool
			}{{at, tc.at}, {read, tc.read}} {
				if errors.Is(e.err, fasthttp.ErrBodyTooLarge) != e.want || !e.want && e.err != nil {
					t.Errorf("%s: at once %v, with reading %v", what, at, read)
				}
			}
			if resp.Close != tc.read {
				t.Errorf("%s: close %v", what, resp.Close)
			}
			if got > max(tc.limit, 0) {
				t.Errorf("%s: %d bytes were read", what, got)
			}
			if tc.read {
				c.ExpectEnd()
				continue
			}
			c.Send(servertest.Post("/ignored", ""))
			c.Expect(200, "")
		}
	})
}

func TestLimitRequestBodyThatIsBuffered(t *testing.T) {
	var ctx fasthttp.RequestCtx
	ctx.Request.SetBodyString("hello")
	if err := ctx.LimitRequestBody(5); err != nil {
		t.Error(err)
	}
	if err := ctx.LimitRequestBody(4); err != fasthttp.ErrBodyTooLarge {
		t.Error(err)
	}
	if got := string(ctx.PostBody()); got != "hello" {
		t.Errorf("the body is %q", got)
	}
}

//go:build fasthttp_poison

package fasthttp

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/servertest"
)

// keptSlices are slices, by name, that a handler keeps after it has returned.
type keptSlices map[string][]byte

func (k keptSlices) checkPoisoned(t *testing.T) {
	t.Helper()
	for what, b := range k {
		if len(b) == 0 {
			t.Errorf("%s is empty", what)
		}
		if bytes.Count(b, []byte{0xDB}) != len(b) {
			t.Errorf("%s is %q after its end", what, b)
		}
	}
}

// TestSlicesOfAHandlerArePoisonedBehindIt checks known failure 27: slices that a
// handler keeps are overwritten after it returns.
func TestSlicesOfAHandlerArePoisonedBehindIt(t *testing.T) {
	for _, size := range []int{10, content.OwnBuffer + 1, 100_000, 2 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			slices, own := keptSlices{}, []byte("own")
			s := &Server{Handler: func(ctx *RequestCtx) {
				h := &ctx.Request.Header
				for what, b := range map[string][]byte{
					"Path": ctx.Path(), "RequestURI": ctx.RequestURI(), "Host": ctx.Host(), "FullURI": ctx.URI().FullURI(),
					"Header": h.Peek("X-Field"), "ContentType": h.ContentType(), "UserAgent": ctx.UserAgent(),
					"Cookie": h.Cookie("c"), "RawHeaders": h.RawHeaders(),
					"QueryArgs": ctx.QueryArgs().Peek("a"), "QueryString": ctx.QueryArgs().QueryString(),
					"PostArgs": ctx.PostArgs().Peek("b"), "PostBody": ctx.PostBody(),
					"Query string as a string": bytesconv.Bytes(bytesconv.String(ctx.URI().QueryString())),
				} {
					slices[what] = b
				}
				ctx.Response.Header.Set("X-Own", "value")
				slices["response header"] = ctx.Response.Header.Peek("X-Own")
				ctx.SetBodyString(strings.Repeat("r", size))
				slices["response body"] = ctx.Response.Body()
				if string(ctx.Path()) == "/raw" {
					ctx.Response.SetBodyRaw(own)
				}
			}}
			for _, path := range []string{"/path", "/raw"} {
				c := &servertest.FakeConn{Pieces: [][]byte{[]byte(servertest.Post(path+"?a=query", "b="+strings.Repeat("x", size),
					"Content-Type: application/x-www-form-urlencoded", "X-Field: value", "User-Agent: agent", "Cookie: c=cookie"))}}
				if err := s.ServeConn(c); err != nil {
					t.Fatal(err)
				}
				if path == "/raw" {
					delete(slices, "response body")
				}
				slices.checkPoisoned(t)
				if string(own) != "own" {
					t.Errorf("a slice of the application was overwritten: %q", own)
				}
				if want := strings.Repeat("r", size); path == "/path" && !strings.HasSuffix(c.Out.String(), "\r\n\r\n"+want) {
					t.Error("the response was destroyed")
				}
			}
		})
	}
}

func TestReleasedValuesArePoisoned(t *testing.T) {
	slices := keptSlices{}
	args := AcquireArgs()
	args.Set("a", "value")
	slices["Args.Peek"], slices["Args.QueryString"] = args.Peek("a"), args.QueryString()
	ReleaseArgs(args)
	uri := AcquireURI()
	uri.Update("http://host/path?a=query#hash")
	slices["URI.Path"], slices["URI.FullURI"], slices["URI.QueryArgs"] = uri.Path(), uri.FullURI(), uri.QueryArgs().Peek("a")
	ReleaseURI(uri)
	cookie := AcquireCookie()
	cookie.SetKey("key")
	cookie.SetValue("value")
	cookie.SetPath("/path")
	slices["Cookie.Key"], slices["Cookie.Value"], slices["Cookie.Path"], slices["Cookie.Cookie"] =
		cookie.Key(), cookie.Value(), cookie.Path(), cookie.Cookie()
	ReleaseCookie(cookie)
	req := AcquireRequest()
	req.SetRequestURI("http://host/path")
	req.Header.Set("X-Field", "value")
	req.Header.SetCookie("c", "cookie")
	req.SetBodyString("body")
	slices["Request.Header"], slices["Request.Cookie"] = req.Header.Peek("X-Field"), req.Header.Cookie("c")
	slices["Request.Body"], slices["Request.URI"] = req.Body(), req.URI().Path()
	ReleaseRequest(req)
	resp := AcquireResponse()
	resp.Header.Set("X-Field", "value")
	resp.SetBodyString("body")
	slices["Response.Header"], slices["Response.Body"] = resp.Header.Peek("X-Field"), resp.Body()
	ReleaseResponse(resp)
	slices.checkPoisoned(t)
}

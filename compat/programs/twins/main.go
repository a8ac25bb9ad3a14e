// Command twins reports on functions that have one form for byte slices and one for strings,
// on pools, and on bodies: the forms of one call must do the same, and the same as in the
// other module.
package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/gen"
	"github.com/valyala/fasthttp/compat/internal/report"
)

func main() {
	defer report.Flush()
	list := texts()
	for _, call := range requestCalls {
		for i, text := range list {
			report.Run(fmt.Sprintf("request/%s/%d-%.30s", call.name, i, text), func(c *report.Case) {
				var req fasthttp.Request
				req.Header.SetHost("h")
				call.do(c, &req, []byte(text))
				c.Str("header", req.Header.String())
				c.Bytes("append", req.Header.AppendBytes([]byte("x")))
				c.Bytes("uri", req.URI().FullURI())
			})
		}
	}
	for _, call := range responseCalls {
		for i, text := range list {
			report.Run(fmt.Sprintf("response/%s/%d-%.30s", call.name, i, text), func(c *report.Case) {
				var resp fasthttp.Response
				call.do(c, &resp, []byte(text))
				c.Str("header", undated(resp.Header.String()))
				c.Str("append", undated(string(resp.Header.AppendBytes([]byte("x")))))
			})
		}
	}
	for _, call := range uriCalls {
		for i, text := range list {
			report.Run(fmt.Sprintf("uri/%s/%d-%.30s", call.name, i, text), func(c *report.Case) {
				var u fasthttp.URI
				if err := u.Parse(nil, []byte("http://u:p@host/path?q=1#f")); err != nil {
					c.Err("err", err)
					return
				}
				call.do(&u, []byte(text))
				c.Bytes("full", u.FullURI())
				c.Str("parts", fmt.Sprintf("%q %q %q %q %q %q %q", u.Scheme(), u.Username(), u.Password(), u.Host(), u.Path(), u.QueryString(), u.Hash()))
			})
		}
	}
	for i, text := range list {
		report.Run(fmt.Sprintf("args/%d-%.30s", i, text), func(c *report.Case) { argTwins(c, []byte(text)) })
		report.Run(fmt.Sprintf("cookie/%d-%.30s", i, text), func(c *report.Case) { cookieTwins(c, []byte(text)) })
	}
	runPools()
	runBodies()
}

// texts returns the arguments of the calls: ordinary, odd and hostile ones.
func texts() []string {
	list := []string{
		"", "a", "value", "a b", " a ", "A-b-C", "a=b", "a=b; c=d", "a&b=c", "gzip", "gzip, br", "foo, bar", "http://example.com/x?y#z", "/a/../b", "/a//b", "/%41%zz", "?q", "example.com:8080", "[::1]:80", "GET", "get", "HTTP/1.0", "text/plain; charset=utf-8",
		"a\r\nX: y", "a\nb", "\x00", "a\x01b", "\x7f", "\xff\xfe", "é", "日本語", "a:b", "a,b;c", "\"quoted\"", "<a>", "a\tb", "Content-Length", "Transfer-Encoding", "%", "+", strings.Repeat("long", 300),
	}
	s := gen.New("twins")
	for range 10 {
		list = append(list, s.Mutate(s.Word()+" "+s.Word(), "\r\n", "\x00", ";", "=", "%", "é"))
	}
	return list
}

var requestCalls = []struct {
	name string
	do   func(c *report.Case, req *fasthttp.Request, b []byte)
}{
	{"AddTrailer", func(c *report.Case, req *fasthttp.Request, b []byte) { c.Err("err", req.Header.AddTrailerBytes(b)) }},
	{"SetTrailer", func(c *report.Case, req *fasthttp.Request, b []byte) { c.Err("err", req.Header.SetTrailerBytes(b)) }},
	{"Cookie", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.Header.SetCookieBytesK(b, "one")
		req.Header.SetCookie("other", "two")
		c.Bytes("cookie", req.Header.CookieBytes(b))
		req.Header.VisitAllCookie(func(k, v []byte) { c.Str("visit", report.Pair(k, v)) })
		c.Str("before", req.Header.String())
		req.Header.DelCookieBytes(b)
	}},
	{"AcceptEncoding", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.Header.Set("Accept-Encoding", "gzip, br;q=0.5")
		c.Val("has", req.Header.HasAcceptEncodingBytes(b))
	}},
	{"ContentEncoding", func(_ *report.Case, req *fasthttp.Request, b []byte) { req.Header.SetContentEncodingBytes(b) }},
	{"Host", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.Header.SetHostBytes(b)
		c.Bytes("host", req.Header.Host())
	}},
	{"request Host", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.SetHostBytes(b)
		c.Bytes("host", req.Host())
	}},
	{"Method", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.Header.SetMethodBytes(b)
		c.Bytes("method", req.Header.Method())
	}},
	{"Protocol", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.Header.SetProtocolBytes(b)
		c.Bytes("protocol", req.Header.Protocol())
	}},
	{"Referer", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.Header.SetRefererBytes(b)
		c.Bytes("referer", req.Header.Referer())
	}},
	{"UserAgent", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.Header.SetUserAgentBytes(b)
		c.Bytes("agent", req.Header.UserAgent())
	}},
	{"Boundary", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.Header.SetMultipartFormBoundaryBytes(b)
		c.Bytes("boundary", req.Header.MultipartFormBoundary())
	}},
	{"RequestURI", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.Header.SetRequestURIBytes(b)
		c.Bytes("target", req.Header.RequestURI())
	}},
	{"request URI", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.SetRequestURIBytes(b)
		c.Bytes("target", req.RequestURI())
	}},
	{"InOrder", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.Header.SetBytesV("X-One", b)
		req.Header.SetBytesK(b, "two")
		req.Header.VisitAllInOrder(func(k, v []byte) { c.Str("visit", report.Pair(k, v)) })
	}},
	{"Write", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.Header.SetBytesV("X-One", b)
		c.Str("wire", written(req.Header.Write))
	}},
	{"AppendBody", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.AppendBody(b)
		req.AppendBodyString("-")
		req.AppendBody(b)
		c.Bytes("body", req.Body())
	}},
	{"UserValue", func(c *report.Case, req *fasthttp.Request, b []byte) {
		req.SetUserValueBytes(b, 1)
		req.SetUserValue("other", 2)
		req.SetUserValue(3, "three")
		c.Val("values", fmt.Sprint(req.UserValueBytes(b), req.UserValue(string(b)), req.UserValue("other"), req.UserValue(3), req.UserValue(4)))
		req.VisitUserValues(func(k []byte, v any) { c.Val("visit", fmt.Sprintf("%q %v", k, v)) })
		req.VisitUserValuesAll(func(k, v any) { c.Val("all", fmt.Sprintf("%q %v", fmt.Sprint(k), v)) })
		req.RemoveUserValue("other")
		c.Val("removed", req.UserValue("other"))
		req.RemoveUserValueBytes(b)
		c.Val("removed", req.UserValueBytes(b))
		req.ResetUserValues()
		c.Val("reset", req.UserValue(3))
	}},
}

var responseCalls = []struct {
	name string
	do   func(c *report.Case, resp *fasthttp.Response, b []byte)
}{
	{"AddTrailer", func(c *report.Case, resp *fasthttp.Response, b []byte) { c.Err("err", resp.Header.AddTrailerBytes(b)) }},
	{"SetTrailer", func(c *report.Case, resp *fasthttp.Response, b []byte) { c.Err("err", resp.Header.SetTrailerBytes(b)) }},
	{"ContentEncoding", func(c *report.Case, resp *fasthttp.Response, b []byte) {
		resp.Header.SetContentEncodingBytes(b)
		c.Bytes("encoding", resp.Header.ContentEncoding())
	}},
	{"Server", func(c *report.Case, resp *fasthttp.Response, b []byte) {
		resp.Header.SetServerBytes(b)
		c.Bytes("server", resp.Header.Server())
	}},
	{"ClientCookie", func(c *report.Case, resp *fasthttp.Response, b []byte) {
		resp.Header.DelClientCookieBytes(b)
		resp.Header.VisitAllCookie(func(k, v []byte) { c.Str("visit", report.Pair(k, v)) })
	}},
	{"Write", func(c *report.Case, resp *fasthttp.Response, b []byte) {
		resp.Header.SetBytesV("X-One", b)
		c.Str("wire", written(resp.Header.Write))
	}},
	{"AppendBody", func(c *report.Case, resp *fasthttp.Response, b []byte) {
		resp.AppendBody(b)
		resp.AppendBodyString("-")
		resp.AppendBody(b)
		c.Bytes("body", resp.Body())
	}},
}

var uriCalls = []struct {
	name string
	do   func(u *fasthttp.URI, b []byte)
}{
	{"Scheme", (*fasthttp.URI).SetSchemeBytes}, {"Username", (*fasthttp.URI).SetUsernameBytes}, {"Password", (*fasthttp.URI).SetPasswordBytes},
	{"Host", (*fasthttp.URI).SetHostBytes}, {"Path", (*fasthttp.URI).SetPathBytes}, {"QueryString", (*fasthttp.URI).SetQueryStringBytes}, {"Hash", (*fasthttp.URI).SetHashBytes}, {"Update", (*fasthttp.URI).UpdateBytes},
}

func argTwins(c *report.Case, b []byte) {
	a := fasthttp.AcquireArgs()
	defer fasthttp.ReleaseArgs(a)
	a.SetBytesK(b, "one")
	a.AddBytesKV(b, b)
	a.Add("other", "x")
	c.Val("has", a.HasBytes(b))
	c.Bytes("peek", a.PeekBytes(b))
	c.List("multi", a.PeekMultiBytes(b))
	c.Str("string", a.String())
	a.DelBytes(b)
	c.Str("deleted", a.String())
}

func cookieTwins(c *report.Case, b []byte) {
	k := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(k)
	k.SetKey("k")
	k.SetDomainBytes(b)
	k.SetPathBytes(b)
	c.Bytes("domain", k.Domain())
	c.Bytes("path", k.Path())
	c.Str("string", k.String())
	c.Err("err", k.ParseBytes(append([]byte("n="), b...)))
	c.Bytes("value", k.Value())
}

func written(write func(w *bufioWriter) error) string {
	var buf bytes.Buffer
	w := newWriter(&buf)
	if err := write(w); err != nil {
		return "error " + report.ErrClass(err)
	}
	if err := w.Flush(); err != nil {
		return "error " + report.ErrClass(err)
	}
	return undated(buf.String())
}

var date = regexp.MustCompile(`\r\nDate: [^\r]*`)

// undated removes the Date field from a head.
func undated(head string) string { return date.ReplaceAllString(head, "") }

var _ io.Writer = (*bufioWriter)(nil)

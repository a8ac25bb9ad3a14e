package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

// script is a connection whose peer has sent everything.
type script struct {
	in  io.Reader
	out bytes.Buffer
}

func (s *script) Read(p []byte) (int, error)       { return s.in.Read(p) }
func (s *script) Write(p []byte) (int, error)      { return s.out.Write(p) }
func (s *script) Close() error                     { return nil }
func (s *script) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (s *script) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (s *script) SetDeadline(time.Time) error      { return nil }
func (s *script) SetReadDeadline(time.Time) error  { return nil }
func (s *script) SetWriteDeadline(time.Time) error { return nil }

type silent struct{}

func (silent) Printf(string, ...any) {}

// serve returns the response to a raw request.
func serve(s *fasthttp.Server, raw string) string {
	s.Logger = silent{}
	c := &script{in: strings.NewReader(raw)}
	_ = s.ServeConn(c)
	return date.ReplaceAllString(c.out.String(), "Date: (now)")
}

var date = regexp.MustCompile(`Date: [^\r]*`)

func post(target, contentType, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", target, contentType, len(body), body)
}

const urlencoded = "application/x-www-form-urlencoded"

var lookups = []struct{ id, raw string }{
	{"query", "GET /?a=query HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"query-empty", "GET /?a= HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"query-other", "GET /?b=query HTTP/1.1\r\nHost: h\r\n\r\n"},
	{"post", post("/", urlencoded, "a=post")},
	{"post-query", post("/?a=query", urlencoded, "a=post")},
	{"post-empty-query", post("/?a=", urlencoded, "a=post")},
	{"empty-post-query", post("/?a=query", urlencoded, "a=")},
	{"form", post("/", formType, usual)},
	{"form-query", post("/?a=query", formType, usual)},
	{"form-empty-query", post("/?a=", formType, usual)},
	{"form-empty-value", post("/", formType, strings.Replace(value, "value", "", 1)+end)},
	{"form-empty-value-query", post("/?a=query", formType, strings.Replace(value, "value", "", 1)+end)},
	{"form-twice", post("/", formType, value+strings.Replace(value, "value", "other", 1)+end)},
	{"form-file-only", post("/", formType, file+end)},
	{"form-two-files", post("/", formType, file+strings.Replace(file, "n.txt", "m.txt", 1)+end)},
	{"no-form", post("/", "text/plain", usual)},
}

func runLookup() {
	for _, streamed := range []bool{false, true} {
		for name, from := range report.Sorted(map[string]fasthttp.FormValueFunc{"default": nil, "net-http": fasthttp.NetHttpFormValueFunc}) {
			for _, l := range lookups {
				report.Run(fmt.Sprintf("lookup/%s/streamed=%t/%s", name, streamed, l.id), func(c *report.Case) {
					s := &fasthttp.Server{StreamRequestBody: streamed, FormValueFunc: from}
					s.Handler = func(ctx *fasthttp.RequestCtx) {
						c.Bytes("a", ctx.FormValue("a"))
						c.Bytes("f", ctx.FormValue("f"))
						for _, key := range []string{"f", "a", "x", ""} {
							fh, err := ctx.FormFile(key)
							c.Str("err "+key, class(err))
							if fh != nil {
								c.Str("file "+key, fh.Filename+" "+content(fh))
							}
						}
					}
					serve(s, l.raw)
				})
			}
		}
	}
}

func runTimeouts() {
	over := make(chan struct{})
	defer close(over)
	waits := func(*fasthttp.RequestCtx) { <-over }
	for _, t := range []struct {
		id string
		h  fasthttp.RequestHandler
	}{
		{"in-time", fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) { ctx.SetBodyString("in time") }, time.Hour, "late")},
		{"late", fasthttp.TimeoutHandler(waits, time.Millisecond, "late")},
		{"late-code", fasthttp.TimeoutWithCodeHandler(waits, time.Millisecond, "late", 503)},
		{"late-no-message", fasthttp.TimeoutHandler(waits, time.Millisecond, "")},
		{"own", fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) { ctx.TimeoutErrorWithCode("own", 504) }, time.Hour, "late")},
	} {
		report.Run("timeout/"+t.id, func(c *report.Case) {
			c.Str("out", serve(&fasthttp.Server{Handler: t.h}, "GET / HTTP/1.1\r\nHost: h\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"))
		})
	}
	report.Run("timeout/too-many", func(c *report.Case) {
		h := fasthttp.TimeoutHandler(waits, time.Millisecond, "late")
		get := "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
		c.Str("out", serve(&fasthttp.Server{Handler: h, Concurrency: 2}, get+get+get))
	})
}

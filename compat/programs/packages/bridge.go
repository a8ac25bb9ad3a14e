package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
	"github.com/valyala/fasthttp/fasthttpadaptor"
)

// runBridgeHabits reports unusual behaviors of the bridge on which programs rely.
func runBridgeHabits() {
	runPresetStatuses()
	runVersions()
	runTrailers()
	runSharedBodies()
	runEnded()
}

func runPresetStatuses() {
	handlers := map[string]http.HandlerFunc{
		"nothing": func(http.ResponseWriter, *http.Request) {},
		"writes":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "text") },
		"sets": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, "text")
		},
	}
	for name, h := range report.Sorted(handlers) {
		for _, status := range []int{200, 403, 404, 500} {
			report.Run(fmt.Sprintf("preset/%s/%d", name, status), func(c *report.Case) {
				var ctx fasthttp.RequestCtx
				ctx.Init(&fasthttp.Request{}, nil, nil)
				ctx.SetStatusCode(status)
				fasthttpadaptor.NewFastHTTPHandler(h)(&ctx)
				c.Val("response", fmt.Sprint(ctx.Response.StatusCode(), " ", string(ctx.Response.Body())))
			})
		}
	}
}

func runVersions() {
	for _, version := range []string{"HTTP/1.1", "HTTP/1.0", "HTTP/2", "HTTP/0.0", "HTTP/1.2", "x"} {
		report.Run("version/"+version, func(c *report.Case) {
			var ctx fasthttp.RequestCtx
			ctx.Init(&fasthttp.Request{}, nil, nil)
			ctx.Request.Header.SetProtocol(version)
			var r http.Request
			c.Err("error", fasthttpadaptor.ConvertRequest(&ctx, &r, true))
			c.Val("proto", r.Proto)
			c.Val("major", r.ProtoMajor)
			c.Val("minor", r.ProtoMinor)
		})
	}
}

func runTrailers() {
	for _, name := range []string{"X-Sum", "Content-Type"} {
		for _, when := range []string{"early", "late", "both", "never"} {
			report.Run("trailer/"+name+"/"+when, func(c *report.Case) {
				var ctx fasthttp.RequestCtx
				ctx.Init(&fasthttp.Request{}, nil, nil)
				fasthttpadaptor.NewFastHTTPHandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Trailer", name)
					if when == "early" || when == "both" {
						w.Header().Set(name, "text/early")
					}
					_, _ = io.WriteString(w, "body")
					if when == "late" || when == "both" {
						w.Header().Set(name, "text/late")
					}
				})(&ctx)
				c.Str("type", string(ctx.Response.Header.ContentType()))
				c.Str("body", string(ctx.Response.Body()))
			})
		}
	}
}

// wire is a connection whose peer has sent everything and continues to read.
type wire struct {
	net.Conn
	in  *bytes.Reader
	out bytes.Buffer
}

func (w *wire) Read(p []byte) (int, error)       { return w.in.Read(p) }
func (w *wire) Write(p []byte) (int, error)      { return w.out.Write(p) }
func (w *wire) Close() error                     { return nil }
func (w *wire) LocalAddr() net.Addr              { return &net.TCPAddr{IP: net.IPv4(1, 1, 1, 1), Port: 1} }
func (w *wire) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(2, 2, 2, 2), Port: 2} }
func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

func answer(c *report.Case, s *fasthttp.Server, request string) {
	w := &wire{in: bytes.NewReader([]byte(request))}
	c.Err("serve", s.ServeConn(w))
	c.Val("status", firstLine(w.out.Bytes()))
	if _, body, ok := bytes.Cut(w.out.Bytes(), []byte("\r\n\r\n")); ok {
		c.Str("body", string(body))
	}
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(b, []byte("\r\n"))
	return string(line)
}

func runSharedBodies() {
	for _, streams := range []bool{false, true} {
		for _, framing := range []string{"Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"} {
			report.Run(fmt.Sprintf("shared/%v/%.20q", streams, framing), func(c *report.Case) {
				answer(c, &fasthttp.Server{
					StreamRequestBody: streams,
					Handler: func(ctx *fasthttp.RequestCtx) {
						var r http.Request
						if err := fasthttpadaptor.ConvertRequest(ctx, &r, true); err != nil {
							ctx.Error("no URL", 400)
							return
						}
						first, err := io.ReadAll(r.Body)
						fmt.Fprintf(ctx, "%q %v, then %q", first, err != nil, ctx.PostBody())
					},
				}, "POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"+framing)
			})
		}
	}
}

// runEnded reports on requests whose client has closed its sending side.
func runEnded() {
	slow := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			w.WriteHeader(http.StatusGone)
		case <-time.After(100 * time.Millisecond):
		}
		_, _ = io.WriteString(w, "answer")
	})
	for name, h := range report.Sorted(map[string]http.Handler{"plain": slow, "timeout": http.TimeoutHandler(slow, time.Minute, "late")}) {
		report.Run("ended/"+name, func(c *report.Case) {
			answer(c, &fasthttp.Server{Handler: fasthttpadaptor.NewFastHTTPHandler(h)}, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
		})
	}
}

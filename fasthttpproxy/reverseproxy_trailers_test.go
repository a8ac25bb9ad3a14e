package fasthttpproxy_test

import (
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A server may begin its response before the end of the request. The trailer fields of the request
// are forwarded all the same, and never change a header that a function of the application reads.
func TestTrailersAfterTheBeginningOfTheResponse(t *testing.T) {
	ended := make(chan struct{}, 1)
	handler := func(ctx *fasthttp.RequestCtx) {
		in, done := ctx.RequestBodyStream(), false
		ctx.Response.ImmediateHeaderFlush = true
		ctx.SetBodyStream(servertest.ReadFunc(func(p []byte) (int, error) {
			if done {
				return 0, io.EOF
			}
			if _, err := io.Copy(io.Discard, in); err != nil {
				return 0, err
			}
			done = true
			ended <- struct{}{}
			return copy(p, trailersOf(&ctx.Request.Header)), nil
		}), -1)
	}
	roottest.Everywhere(t, func(t *testing.T, start func(s *fasthttp.Server) *roottest.Server) {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("upstreamHTTP2=%v", http2), func(t *testing.T) {
				back := start(&fasthttp.Server{Handler: handler, StreamRequestBody: true})
				r, w := io.Pipe()
				begun := make(chan struct{})
				front := start(served(t, &fasthttpproxy.ReverseProxy{
					Target: back.URL(""), Client: clientOf(back, http2),
					Rewrite: func(_ *fasthttp.RequestCtx, req *fasthttp.Request) error {
						return req.Header.AddTrailerField("X-Own", "of the proxy")
					},
					ModifyResponse: func(ctx *fasthttp.RequestCtx) error {
						close(begun)
						for {
							_, _ = ctx.Request.Header.String(), trailersOf(&ctx.Request.Header)
							select {
							case <-ended:
								return nil
							case <-t.Context().Done():
								return t.Context().Err()
							default:
							}
						}
					},
				}))
				req, err := http.NewRequestWithContext(t.Context(), "POST", front.URL("/"), r)
				servertest.Must(t, err)
				req.Trailer = http.Header{"X-Late": nil}
				sent := make(chan error, 1)
				go func() {
					_, err := io.WriteString(w, "content")
					select {
					case <-begun:
					case <-t.Context().Done(): // the test has failed
					}
					req.Trailer.Set("X-Late", "late")
					_ = w.Close()
					sent <- err
				}()
				resp, err := front.Client.Do(req)
				servertest.Must(t, err)
				defer resp.Body.Close()
				servertest.Must(t, servertest.Receive(t, "the end of the request", sent))
				if got, err := io.ReadAll(resp.Body); string(got) != "X-Late=late X-Own=of the proxy" || err != nil {
					t.Errorf("the server got the trailer fields %q, %v", got, err)
				}
			})
		}
	})
}

// trailersOf returns names and values of the trailer fields.
func trailersOf(h *fasthttp.RequestHeader) string {
	var fields []string
	for name, value := range h.TrailerFields() {
		fields = append(fields, string(name)+"="+string(value))
	}
	sort.Strings(fields)
	return strings.Join(fields, " ")
}

// A trailer field that Connection names concerns one connection only, too.
func TestTrailersOfOneConnection(t *testing.T) {
	const section = "X-Hop: 1\r\nX-Own: 1\r\n\r\n"
	forEachEngine(t, func(t *testing.T, start proxyStarter) {
		for _, streams := range []bool{false, true} {
			got := make(chan []string, 1)
			peer := servertest.NewPeer(t, func(c *servertest.PeerConn) {
				if _, ok := headOf(c.R); !ok {
					return
				}
				for {
					line, err := c.R.ReadString('\n')
					if line == "0\r\n" || err != nil {
						break
					}
				}
				trailers, _ := headOf(c.R)
				got <- trailers
				c.Send(servertest.Head("HTTP/1.1 200 OK", "Connection: X-Hop, close", "Transfer-Encoding: chunked", "Trailer: X-Hop") +
					"2\r\nok\r\n0\r\n" + section)
			})
			s := served(t, &fasthttpproxy.ReverseProxy{Target: peer.URL("")})
			s.StreamRequestBody = streams
			c := start(s).Dial()
			c.Send(servertest.Head("POST / HTTP/1.1", "Host: a", "Connection: x-hop", "TE: trailers", "Transfer-Encoding: chunked") +
				"2\r\nok\r\n0\r\n" + section)
			if trailers := servertest.Receive(t, "the trailers", got); len(trailers) != 1 || trailers[0] != "X-Own: 1" {
				t.Errorf("streams=%v: the server got %q", streams, trailers)
			}
			resp, err := http.ReadResponse(c.R, nil)
			servertest.Must(t, err)
			if body, err := io.ReadAll(resp.Body); string(body) != "ok" || err != nil {
				t.Errorf("got %q, %v", body, err)
			}
			for name := range resp.Trailer {
				if name != "X-Own" && name != "X-Hop" || name == "X-Hop" && resp.Trailer.Get(name) != "" {
					t.Errorf("streams=%v: the client got %q", streams, resp.Trailer)
				}
			}
			if resp.Trailer.Get("X-Own") != "1" {
				t.Errorf("streams=%v: the client got %q", streams, resp.Trailer)
			}
		}
	})
}

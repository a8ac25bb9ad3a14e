package fasthttpadaptor

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// A client must not be able to hide a field that a front end has set by announcing it
// as a trailer, nor to send such a field as a trailer.
func TestFieldsOfAFrontEndReachTheHandler(t *testing.T) {
	t.Parallel()
	handler := func(w http.ResponseWriter, r *http.Request) {
		before := fmt.Sprint(r.Trailer)
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %v %q %q %s %v", body, err, r.Header["X-Real-Ip"], r.Header["X-Sum"], before, r.Trailer)
	}
	const start = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nX-Real-IP: right\r\nX-Sum: head\r\n"
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			dial := s.start(t, http.HandlerFunc(handler))
			got := ask(t, dial(), start+"Trailer: X-Real-IP, x_real_ip, X-Sum\r\n\r\n1\r\nx\r\n0\r\nX-Sum: 1\r\n\r\n")
			if want := `x <nil> ["right"] ["head"] map[X-Sum:[]] map[X-Sum:[1]]`; got.body != want {
				t.Errorf("got %s, want %s", got.body, want)
			}
			got = ask(t, dial(), start+"\r\n1\r\nx\r\n0\r\nX-Real-IP: evil\r\n\r\n")
			if s.name == "buffered" {
				if got.status != "400 Bad Request" {
					t.Errorf("got %s %q", got.status, got.body)
				}
			} else if want := `x fasthttp: contain forbidden trailer ["right"] ["head"] map[] map[]`; got.body != want {
				t.Errorf("got %s, want %s", got.body, want)
			}
			// the server has checked the trailers, so they are not checked again
			got = ask(t, dial(), "GET /admin HTTP/1.1\r\nHost: h:99999\r\n\r\n")
			if got.status != "400 Bad Request" {
				t.Errorf("got %s %q", got.status, got.body)
			}
		})
	}
}

// Trailers pass an http.Server with HTTP/2 in both directions, even with fields of the same
// names.
func TestTrailersOverHTTP2(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(NewHTTPHandler(func(ctx *fasthttp.RequestCtx) {
		in, out := &ctx.Request.Header, &ctx.Response.Header
		body := ctx.PostBody()
		out.SetBytesV("X-A", in.Peek("X-A"))
		_ = out.AnnounceTrailer("X-A")
		for name, value := range in.TrailerFields() {
			if err := out.AddTrailerFieldBytes(name, value); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		ctx.SetBody(body)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	r, err := http.NewRequest("POST", s.URL, io.MultiReader(strings.NewReader("hello")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"X-A": {"head"}}
	r.Trailer = http.Header{"X-A": {"1"}, "X-B": {"2", "3"}}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if resp.ProtoMajor != 2 || string(body) != "hello" || err != nil || fmt.Sprint(resp.Header["X-A"], resp.Trailer) != "[head] map[X-A:[1] X-B:[2 3]]" {
		t.Errorf("got %s %q, %v, X-A %q, trailers %v", resp.Proto, body, err, resp.Header["X-A"], resp.Trailer)
	}
}

// A fasthttp handler in net/http has the trailers of the request after it has read the
// body, in whatever way it does that.
func TestTrailersOfWhatNetHTTPHasReceived(t *testing.T) {
	t.Parallel()
	reads := map[string]func(ctx *fasthttp.RequestCtx) string{
		"all": func(ctx *fasthttp.RequestCtx) string { return string(ctx.PostBody()) },
		"stream": func(ctx *fasthttp.RequestCtx) string {
			if h := &ctx.Request.Header; h.PeekTrailer("X-Sum") != nil || h.Peek("X-Sum") != nil {
				t.Error("there are trailers before the body was read")
			}
			body, err := io.ReadAll(ctx.RequestBodyStream())
			if err != nil {
				t.Error(err)
			}
			return string(body)
		},
		"copied": func(ctx *fasthttp.RequestCtx) string {
			var b strings.Builder
			if err := ctx.Request.BodyWriteTo(&b); err != nil {
				t.Error(err)
			}
			return b.String()
		},
		"decoded": func(ctx *fasthttp.RequestCtx) string {
			body, err := ctx.Request.BodyUncompressed()
			if err != nil {
				t.Error(err)
			}
			return string(body)
		},
		"form": func(ctx *fasthttp.RequestCtx) string {
			return "abc=" + string(ctx.FormValue("abc"))
		},
		"multipart": func(ctx *fasthttp.RequestCtx) string {
			form, err := ctx.MultipartForm()
			if err != nil {
				t.Error(err)
				return ""
			}
			return "abc=" + form.Value["abc"][0]
		},
	}
	around := map[string]func(h fasthttp.RequestHandler) fasthttp.RequestHandler{
		"":              func(h fasthttp.RequestHandler) fasthttp.RequestHandler { return h },
		" with a limit": func(h fasthttp.RequestHandler) fasthttp.RequestHandler { return timeouts[0].around(h, time.Hour) },
		" with limits":  func(h fasthttp.RequestHandler) fasthttp.RequestHandler { return timeouts[1].around(h, time.Hour) },
		" with a limit, seen from without": func(h fasthttp.RequestHandler) fasthttp.RequestHandler {
			limited := timeouts[0].around(func(*fasthttp.RequestCtx) {}, time.Hour)
			return func(ctx *fasthttp.RequestCtx) {
				limited(ctx)
				h(ctx)
			}
		},
		" with a limit, read within": func(h fasthttp.RequestHandler) fasthttp.RequestHandler {
			limited := timeouts[0].around(func(ctx *fasthttp.RequestCtx) { ctx.PostBody() }, time.Hour)
			return func(ctx *fasthttp.RequestCtx) {
				if string(ctx.Path()) != "/stream" {
					limited(ctx)
				}
				h(ctx)
			}
		},
	}
	for name, read := range reads {
		for with, handler := range around {
			t.Run(name+with, func(t *testing.T) {
				h := handler(func(ctx *fasthttp.RequestCtx) {
					body := read(ctx)
					h := &ctx.Request.Header
					fmt.Fprintf(ctx, "%s %q %q", body, h.PeekTrailer("X-Sum"), h.PeekTrailerAll("X-Real-Ip"))
					for _, name := range []string{"X-Sum", "X-Head", "X-Real-Ip", "X-Other"} {
						fmt.Fprintf(ctx, " %q", h.PeekAll(name))
					}
					fields := 0
					for range h.TrailerFields() {
						fields++
					}
					fmt.Fprintf(ctx, " %d", fields)
				})
				addr, _ := serveNet(t, h)
				c := dialer(t, func() (net.Conn, error) { return net.Dial("tcp", addr) })()
				br := bufio.NewReader(c)
				contentType, content := "application/x-www-form-urlencoded", "abc=def"
				if name == "multipart" {
					contentType = "multipart/form-data; boundary=b"
					content = "--b\r\nContent-Disposition: form-data; name=abc\r\n\r\ndef\r\n--b--\r\n"
				}
				for range 2 {
					send(t, c, fmt.Sprintf("POST /%s HTTP/1.1\r\nHost: h\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-Head\r\n"+
						"X-Head: right\r\nX-Real-IP: right\r\n\r\n%x\r\n%s\r\n0\r\n"+
						"X-Sum: 1\r\nX-Sum: 2\r\nX-Head: evil\r\nX-Real-IP: evil\r\nX-Other: 3\r\n\r\n", name, contentType, len(content), content))
					got := readReply(t, br, "POST")
					if want := `abc=def "1" [] ["1" "2"] ["right"] ["right"] [] 4`; got.body != want {
						t.Errorf("got %s %s, want %s", got.status, got.body, want)
					}
				}
			})
		}
	}
}

// Only the late handler itself gets the trailers of its request.
func TestRequestTrailersOfALateHandlerBehindNetHTTP(t *testing.T) {
	t.Parallel()
	goOn, ended := make(chan struct{}), make(chan string, 1)
	late := fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
		<-goOn
		body, _ := io.ReadAll(ctx.RequestBodyStream())
		ended <- fmt.Sprintf("%s %s", body, ctx.Request.Header.PeekTrailer("X-Sum"))
	}, time.Millisecond, "late")
	var around string
	h := NewHTTPHandler(func(ctx *fasthttp.RequestCtx) {
		late(ctx)
		goOn <- struct{}{}
		around = string(ctx.Request.Header.PeekTrailer("X-Sum"))
	})
	r := httptest.NewRequest("POST", "/", nil)
	r.Trailer = http.Header{"X-Sum": nil}
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("hello"), trailerSetter{r}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 408 || w.Body.String() != "late" || around != "" {
		t.Errorf("got %d %q, trailer %q", w.Code, w.Body, around)
	}
	if got := servertest.Receive(t, "the end of the handler", ended); got != "hello 5" {
		t.Errorf("the late handler has %q", got)
	}
}

package fasthttpadaptor

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// A client must not be able to hide a field that a front end has set by announcing
// it as a trailer, nor to bring it in as one.
func TestFieldsOfAFrontEndReachTheHandler(t *testing.T) {
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
			// what the server has checked is not checked again
			got = ask(t, dial(), "GET /admin HTTP/1.1\r\nHost: h:99999\r\n\r\n")
			if got.status != "400 Bad Request" {
				t.Errorf("got %s %q", got.status, got.body)
			}
		})
	}
}

// Trailers of both directions pass an http.Server that speaks HTTP/2, beside fields
// of the same names.
func TestTrailersOverHTTP2(t *testing.T) {
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

package fasthttp

import (
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestHTTPDateRoundTrip(t *testing.T) {
	tm := time.Date(1994, time.November, 6, 10, 49, 37, 5, time.FixedZone("east", 2*3600))
	text := AppendHTTPDate([]byte("Date: "), tm)
	if got, want := string(text), "Date: Sun, 06 Nov 1994 08:49:37 GMT"; got != want {
		t.Fatalf("AppendHTTPDate gave %q, want %q", got, want)
	}
	got, err := ParseHTTPDate(text[len("Date: "):])
	if err != nil {
		t.Fatal(err)
	}
	if want := tm.Truncate(time.Second); !got.Equal(want) || got.Location().String() != "GMT" {
		t.Errorf("ParseHTTPDate gave %v, want %v in GMT", got, want)
	}
}

func TestParseHTTPDateRefusesOtherFormats(t *testing.T) {
	for _, text := range []string{"", "0", "1994-11-06T08:49:37Z", "Sun, 06 Nov 1994 08:49:37 EST"} {
		if got, err := ParseHTTPDate([]byte(text)); err == nil || !got.IsZero() {
			t.Errorf("ParseHTTPDate(%q) = %v, %v; want an error", text, got, err)
		}
	}
}

// A handler can omit Date from one response, even under a TimeoutHandler.
func TestResponseWithoutDate(t *testing.T) {
	undated := func(ctx *RequestCtx) {
		ctx.Response.Header.SetNoDefaultDate(string(ctx.Path()) == "/undated")
	}
	gaveUp := func(ctx *RequestCtx) {
		resp := AcquireResponse()
		defer ReleaseResponse(resp)
		resp.Header.SetNoDefaultDate(string(ctx.Path()) == "/undated")
		ctx.TimeoutErrorWithResponse(resp)
	}
	for name, h := range map[string]RequestHandler{
		"plain":                undated,
		"timeout":              TimeoutHandler(undated, time.Minute, "late"),
		"timeout error":        gaveUp,
		"timeout error within": TimeoutHandler(gaveUp, time.Minute, "late"),
	} {
		t.Run(name, func(t *testing.T) {
			forEachEngine(t, func(t *testing.T, start starter) {
				r := start(withHTTP2(&Server{Handler: h}))
				c := r.Dial()
				client, base := h2Client(t, r)
				for _, path := range []string{"/undated", "/", "/undated", "/"} {
					want := path == "/"
					c.Get(path)
					if got := c.Next("GET").Header.Get("Date") != ""; got != want {
						t.Errorf("HTTP/1: %s: Date: %v", path, got)
					}
					resp, err := client.Get(base + path)
					servertest.Must(t, err)
					_ = resp.Body.Close()
					if got := resp.Header.Get("Date") != ""; got != want {
						t.Errorf("HTTP/2: %s: Date: %v", path, got)
					}
				}
			})
		})
	}
}

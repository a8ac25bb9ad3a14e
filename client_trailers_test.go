package fasthttp

import (
	"bufio"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// responseWithTrailers has forbidden fields in its trailer section.
const responseWithTrailers = "HTTP/1.1 200 OK\r\nDate: head\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n" +
	"X-Sum: 1\r\nDate: trailer\r\nVary: *\r\nSet-Cookie: a=b\r\nAge: 5\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n" +
	"Trailer: X\r\nConnection: close\r\nHost: evil\r\nX-Forwarded-For: evil\r\nX_Auth_User: evil\r\nX-Other: 2\r\n\r\n"

func checkTrailersOf(t *testing.T, resp *Response) {
	t.Helper()
	h := &resp.Header
	if string(resp.Body()) != "hello" || string(h.PeekTrailer("X-Sum")) != "1" || string(h.PeekTrailer("X-Other")) != "2" || h.Peek("X-Sum") != nil {
		t.Errorf("got %q with %q", resp.Body(), h.String())
	}
	if got := h.PeekAll("Date"); len(got) != 1 || string(got[0]) != "head" {
		t.Errorf("Date is %q", got)
	}
	for _, name := range []string{"Vary", "Set-Cookie", "Age", "Host", "Connection", "X-Forwarded-For", "X_Auth_User"} {
		if got := h.Peek(name); got != nil {
			t.Errorf("%s is %q", name, got)
		}
	}
	if got := trailerNames(h); got != "X-Sum|X-Other" {
		t.Errorf("the trailers are %s", got)
	}
}

// The client drops fields that must not be in a trailer section, and the call
// succeeds (RFC 9110 section 6.5.1).
func TestForbiddenTrailersOfResponsesAreDropped(t *testing.T) {
	p := servertest.Answering(t, responseWithTrailers)
	for _, streamed := range []bool{false, true} {
		hc := hostFor(p)
		hc.StreamResponseBody = streamed
		for range 2 {
			resp := responseFor(t)
			servertest.Must(t, hc.Do(requestTo(t, MethodGet, p.URL("/")), resp))
			_ = resp.Body()
			checkTrailersOf(t, resp)
		}
	}
	p.Counts(2, 4)

	pc := &PipelineClient{Addr: p.Addr()}
	resp := responseFor(t)
	servertest.Must(t, pc.Do(requestTo(t, MethodGet, p.URL("/")), resp))
	checkTrailersOf(t, resp)

	resp = responseFor(t)
	servertest.Must(t, resp.Read(bufio.NewReaderSize(strings.NewReader(responseWithTrailers), 16)))
	checkTrailersOf(t, resp)
}

package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// withoutDate returns a written response without its Date field.
func withoutDate(text string) string {
	before, rest, ok := strings.Cut(text, "Date: ")
	if !ok {
		return text
	}
	_, rest, _ = strings.Cut(rest, "\r\n")
	return before + rest
}

func TestResponseIsWritten(t *testing.T) {
	const plain = "Content-Type: text/plain; charset=utf-8\r\n"
	for _, tc := range []struct {
		name string
		fill func(resp *Response)
		want string
	}{
		{"nothing", func(*Response) {}, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"},
		{"body", func(resp *Response) { resp.SetBodyString("hello") }, "HTTP/1.1 200 OK\r\n" + plain + "Content-Length: 5\r\n\r\nhello"},
		{"status", func(resp *Response) { resp.SetStatusCode(404); resp.SetBodyString("x") }, "HTTP/1.1 404 Not Found\r\n" + plain + "Content-Length: 1\r\n\r\nx"},
		{"length that was set", func(resp *Response) { resp.Header.SetContentLength(99); resp.SetBodyString("x") }, "HTTP/1.1 200 OK\r\n" + plain + "Content-Length: 1\r\n\r\nx"},
		{"coding that was set", func(resp *Response) { resp.Header.Set("Transfer-Encoding", "chunked"); resp.SetBodyString("x") }, "HTTP/1.1 200 OK\r\n" + plain + "Content-Length: 1\r\n\r\nx"},
		{"204", func(resp *Response) { resp.SetStatusCode(204); resp.SetBodyString("x") }, "HTTP/1.1 204 No Content\r\n\r\n"},
		{"304", func(resp *Response) { resp.SetStatusCode(304); resp.SetBodyString("x"); resp.Header.Set("Etag", "e") }, "HTTP/1.1 304 Not Modified\r\nEtag: e\r\n\r\n"},
		{"100", func(resp *Response) { resp.SetStatusCode(100); resp.SetBodyString("x") }, "HTTP/1.1 100 Continue\r\n\r\n"},
		{"204 with a stream", func(resp *Response) { resp.SetStatusCode(204); resp.SetBodyStream(strings.NewReader("x"), -1) }, "HTTP/1.1 204 No Content\r\n\r\n"},
		{"205", func(resp *Response) { resp.SetStatusCode(205) }, "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n"},
		{"HEAD", func(resp *Response) { resp.SetBodyString("hello"); resp.SkipBody = true }, "HTTP/1.1 200 OK\r\n" + plain + "Content-Length: 5\r\n\r\n"},
		{"HEAD of a stream", func(resp *Response) { resp.SetBodyStream(strings.NewReader("hello"), 5); resp.SkipBody = true }, "HTTP/1.1 200 OK\r\n" + plain + "Content-Length: 5\r\n\r\n"},
		{"HEAD of chunks", func(resp *Response) { resp.SetBodyStream(strings.NewReader("hello"), -1); resp.SkipBody = true }, "HTTP/1.1 200 OK\r\n" + plain + "Transfer-Encoding: chunked\r\n\r\n"},
		{"HEAD with a length", func(resp *Response) { resp.Header.SetContentLength(77); resp.SkipBody = true }, "HTTP/1.1 200 OK\r\n" + plain + "Content-Length: 77\r\n\r\n"},
		{"close", func(resp *Response) { resp.SetConnectionClose() }, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
		{"chunks", func(resp *Response) { resp.SetBodyStream(strings.NewReader("hello"), -1) }, "HTTP/1.1 200 OK\r\n" + plain + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
		{"trailers of a buffered body", func(resp *Response) {
			_ = resp.Header.SetTrailer("Sum")
			resp.Header.Set("Sum", "1")
			resp.SetBodyString("hello")
		}, "HTTP/1.1 200 OK\r\n" + plain + "Transfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n5\r\nhello\r\n0\r\nSum: 1\r\n\r\n"},
		{"trailers in HTTP/1.0", func(resp *Response) {
			resp.Header.SetProtocol([]byte("HTTP/1.0"))
			_ = resp.Header.SetTrailer("Sum")
			resp.Header.Set("Sum", "1")
			resp.SetBodyString("x")
		}, "HTTP/1.0 200 OK\r\n" + plain + "Content-Length: 1\r\nSum: 1\r\n\r\nx"},
		{"trailers of an empty body", func(resp *Response) { _ = resp.Header.SetTrailer("Sum"); resp.Header.Set("Sum", "1") },
			"HTTP/1.1 200 OK\r\n" + plain + "Transfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n0\r\nSum: 1\r\n\r\n"},
		{"trailers of a stream", func(resp *Response) {
			_ = resp.Header.SetTrailer("Sum, Missing")
			resp.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("hello") })
			resp.Header.Add("Sum", "1")
			resp.Header.Add("Sum", "2")
		}, "HTTP/1.1 200 OK\r\n" + plain + "Transfer-Encoding: chunked\r\nTrailer: Sum, Missing\r\n\r\n5\r\nhello\r\n0\r\nSum: 1\r\nSum: 2\r\n\r\n"},
	} {
		var resp Response
		tc.fill(&resp)
		if got := withoutDate(resp.String()); got != tc.want {
			t.Errorf("%s:\n%q, want\n%q", tc.name, got, tc.want)
		}
		if resp.IsBodyStream() {
			t.Errorf("%s: the stream is still there", tc.name)
		}
	}
}

// A stream may set trailers during its reads.
func TestResponseTrailersMayBeKnownLate(t *testing.T) {
	var resp Response
	if err := resp.Header.SetTrailer("Sum"); err != nil {
		t.Fatal(err)
	}
	n := 0
	resp.SetBodyStream(servertest.ReadFunc(func(p []byte) (int, error) {
		if n++; n == 4 {
			resp.Header.Set("Sum", fmt.Sprint(n-1))
			return 0, io.EOF
		}
		return copy(p, "ab"), nil
	}), -1)
	if got := resp.String(); !strings.HasSuffix(got, "\r\n\r\n2\r\nab\r\n2\r\nab\r\n2\r\nab\r\n0\r\nSum: 3\r\n\r\n") {
		t.Errorf("%q", got)
	}
}

func TestResponseIsWrittenTheSameEveryWay(t *testing.T) {
	var resp Response
	resp.SetBodyString("hello")
	want := resp.String()
	var out bytes.Buffer
	w := bufio.NewWriterSize(&out, 1<<16)
	if err := resp.Write(w); err != nil || out.Len() > 0 {
		t.Errorf("Write: %v, %d bytes flushed", err, out.Len())
	}
	_ = w.Flush()
	if withoutDate(out.String()) != withoutDate(want) {
		t.Errorf("Write: %q", out.String())
	}
	out.Reset()
	if n, err := resp.WriteTo(&out); err != nil || n != int64(len(want)) || withoutDate(out.String()) != withoutDate(want) {
		t.Errorf("WriteTo: %d, %v, %q", n, err, out.String())
	}
	boom := errors.New("boom")
	if _, err := resp.WriteTo(failingWriter{boom}); !errors.Is(err, boom) {
		t.Errorf("WriteTo: %v", err)
	}
	resp.SetBodyStream(strings.NewReader("x"), 5)
	if got := resp.String(); strings.Contains(got, "HTTP/1.1") || got == "" {
		t.Errorf("String of an invalid response: %q", got)
	}
}

func fullResponse() *Response {
	resp := new(Response)
	resp.SetStatusCode(404)
	resp.Header.Set("Foo", "bar")
	resp.Header.Set("Set-Cookie", "a=b")
	resp.Header.SetContentType("a/b")
	resp.SetBodyString("body")
	return resp
}

func TestResponseCopyIsDeep(t *testing.T) {
	resp := fullResponse()
	want := withoutDate(resp.String())
	var dst Response
	dst.KeepBodyBuffer = true
	dst.SetBodyString("old")
	dst.Header.Set("Old", "1")
	resp.CopyTo(&dst)
	if got := withoutDate(dst.String()); got != want || !dst.KeepBodyBuffer {
		t.Errorf("%q, want %q", got, want)
	}
	dst.Header.Set("Foo", "changed")
	dst.SetBodyString("changed")
	if got := withoutDate(resp.String()); got != want {
		t.Errorf("after changes of the copy %q, want %q", got, want)
	}
	resp.SetBodyRaw([]byte("raw"))
	resp.CopyTo(&dst)
	resp.Reset()
	if got := string(dst.Body()); got != "raw" {
		t.Errorf("the raw body is copied as %q", got)
	}
	resp.SetBodyStream(strings.NewReader("stream"), -1)
	resp.CopyTo(&dst)
	if dst.IsBodyStream() || len(dst.Body()) > 0 || !resp.IsBodyStream() {
		t.Errorf("a stream was copied: %q", dst.Body())
	}
	resp.SkipBody = true
	resp.CopyTo(&dst)
	if !dst.SkipBody {
		t.Error("SkipBody is not copied")
	}
}

func TestResponseResetEmpties(t *testing.T) {
	resp := fullResponse()
	stream := &closeCounter{Reader: strings.NewReader("x")}
	resp.SetBodyStream(stream, 1)
	resp.SkipBody, resp.StreamBody, resp.ImmediateHeaderFlush = true, true, true
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	resp.ParseNetConn(client)
	if resp.RemoteAddr() == nil || resp.LocalAddr() == nil || resp.RemoteAddr().Network() != "pipe" {
		t.Errorf("addresses %v, %v", resp.RemoteAddr(), resp.LocalAddr())
	}
	resp.Reset()
	if stream.n != 1 || resp.SkipBody || resp.StreamBody || resp.ImmediateHeaderFlush || resp.RemoteAddr() != nil || resp.LocalAddr() != nil || len(resp.Body()) > 0 {
		t.Errorf("something is left, the stream was closed %d times", stream.n)
	}
	if got, want := withoutDate(resp.String()), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestResponseShortcuts(t *testing.T) {
	var resp Response
	resp.SetStatusCode(500)
	resp.SetConnectionClose()
	if resp.StatusCode() != 500 || resp.Header.StatusCode() != 500 || !resp.ConnectionClose() || !resp.Header.ConnectionClose() {
		t.Errorf("%d, %v", resp.StatusCode(), resp.ConnectionClose())
	}
}

func TestAcquiredResponsesAreEmpty(t *testing.T) {
	for range 20 {
		resp := AcquireResponse()
		if got, want := withoutDate(resp.String()), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"; got != want || resp.KeepBodyBuffer || resp.SkipBody || resp.StreamBody || resp.Header.DisableNormalizing() {
			t.Fatalf("%q", got)
		}
		resp.KeepBodyBuffer, resp.SkipBody, resp.StreamBody = true, true, true
		resp.SetStatusCode(404)
		resp.Header.SetNoDefaultContentType(true)
		resp.SetBodyString("body")
		ReleaseResponse(resp)
	}
}

// A response to HEAD has the fields of the response to GET, even in HTTP/1.0, and if the size
// is not known.
func TestHeadHasTheContentTypeOfGet(t *testing.T) {
	for _, version := range []string{"1.0", "1.1"} {
		for name, size := range map[string]int{"unknown": -1, "known": 5, "empty": 0} {
			kinds := map[string]string{}
			for _, method := range []string{"GET", "HEAD"} {
				out := serveOne(t, method+" / HTTP/"+version+"\r\nHost: a\r\n\r\n", func(ctx *RequestCtx) {
					ctx.SetBodyStream(strings.NewReader("piece"[:max(size, 0)]), size)
				})
				_, kind, _ := strings.Cut(out, "Content-Type: ")
				kinds[method], _, _ = strings.Cut(kind, "\r\n")
			}
			if kinds["GET"] != kinds["HEAD"] || (kinds["GET"] == "") != (size == 0) {
				t.Errorf("HTTP/%s, %s size: the types are %q", version, name, kinds)
			}
		}
	}
}

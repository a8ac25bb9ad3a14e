package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// writtenRequest is a request and its bytes on the wire.
type writtenRequest struct {
	name string
	fill func(req *Request)
	want string
}

func checkWritten(t *testing.T, cases []writtenRequest) {
	t.Helper()
	for _, tc := range cases {
		var req Request
		tc.fill(&req)
		if got := req.String(); got != tc.want {
			t.Errorf("%s:\n%q, want\n%q", tc.name, got, tc.want)
		}
	}
}

func TestRequestIsWrittenToItsTargetAndHost(t *testing.T) {
	checkWritten(t, []writtenRequest{
		{"get", func(req *Request) { req.SetRequestURI("http://host/p?q=1#f") }, "GET /p?q=1 HTTP/1.1\r\nHost: host\r\n\r\n"},
		{"without a path", func(req *Request) { req.SetRequestURI("http://host") }, "GET / HTTP/1.1\r\nHost: host\r\n\r\n"},
		{"path and Host field", func(req *Request) { req.SetRequestURI("/p"); req.Header.SetHost("host") }, "GET /p HTTP/1.1\r\nHost: host\r\n\r\n"},
		{"path and SetHost", func(req *Request) { req.SetRequestURI("/p"); req.SetHost("host") }, "GET /p HTTP/1.1\r\nHost: host\r\n\r\n"},
		{"target to the letter", func(req *Request) { req.SetRequestURI("/a//b/../%7e?x=%zz&y"); req.Header.SetHost("h") }, "GET /a//b/../%7e?x=%zz&y HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"SetHost over the URI", func(req *Request) { req.SetRequestURI("http://a/p"); req.SetHost("b") }, "GET /p HTTP/1.1\r\nHost: b\r\n\r\n"},
		{"URI over the Host field", func(req *Request) { req.Header.SetHost("field"); req.SetRequestURI("http://a/p"); _ = req.URI() }, "GET /p HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"UseHostHeader", func(req *Request) {
			req.SetRequestURI("http://a/p")
			req.Header.SetHost("field")
			req.UseHostHeader = true
			_ = req.URI()
		}, "GET /p HTTP/1.1\r\nHost: field\r\n\r\n"},
		{"UseHostHeader without one", func(req *Request) { req.SetRequestURI("http://a/p"); req.UseHostHeader = true }, "GET /p HTTP/1.1\r\nHost: a\r\n\r\n"},
		{"SetURI", func(req *Request) { req.SetRequestURI("http://old/old"); req.SetURI(mustURI("https://u/x?y#z")) }, "GET /x?y HTTP/1.1\r\nHost: u\r\n\r\n"},
		{"SetURI then SetHost", func(req *Request) { req.SetURI(mustURI("https://u/x")); req.SetHostBytes([]byte("v:1")) }, "GET /x HTTP/1.1\r\nHost: v:1\r\n\r\n"},
		{"SetRequestURI after SetURI", func(req *Request) { req.SetURI(mustURI("https://u/x")); req.SetRequestURIBytes([]byte("http://v/y")) }, "GET /y HTTP/1.1\r\nHost: v\r\n\r\n"},
		{"SetURI nil", func(req *Request) { req.SetURI(mustURI("http://u/x")); req.SetURI(nil); req.SetRequestURI("http://w/") }, "GET / HTTP/1.1\r\nHost: w\r\n\r\n"},
		{"changed query", func(req *Request) { req.SetRequestURI("http://h/p?a=1"); req.URI().QueryArgs().Add("b", "2 3") }, "GET /p?a=1&b=2+3 HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"user and password", func(req *Request) { req.SetRequestURI("http://user:pass@h/") }, "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic dXNlcjpwYXNz\r\n\r\n"},
		{"user and Authorization", func(req *Request) { req.SetRequestURI("http://user:pass@h/"); req.Header.Set("Authorization", "mine") }, "GET / HTTP/1.1\r\nHost: h\r\nAuthorization: mine\r\n\r\n"},
		{"connect", func(req *Request) {
			req.SetRequestURI("h:443")
			req.Header.SetHost("h:443")
			req.Header.SetMethod("CONNECT")
			_ = req.URI()
		}, "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\nContent-Length: 0\r\n\r\n"},
		{"connect by URI", func(req *Request) { req.SetRequestURI("http://h:443"); req.Header.SetMethod("CONNECT") }, "CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\nContent-Length: 0\r\n\r\n"},
		{"options of the server", func(req *Request) { req.SetRequestURI("*"); req.Header.SetHost("h"); req.Header.SetMethod("OPTIONS") }, "OPTIONS * HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
		{"options of the server after a look at its URI", func(req *Request) {
			req.SetRequestURI("*")
			req.Header.SetHost("h")
			req.Header.SetMethod("OPTIONS")
			_ = req.URI()
		}, "OPTIONS * HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
		{"options of a path", func(req *Request) {
			req.SetRequestURI("*")
			req.Header.SetMethod("OPTIONS")
			req.SetURI(mustURI("http://h/x"))
		}, "OPTIONS /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
		{"options of a path itself", func(req *Request) {
			req.SetRequestURI("http://h/x%20y")
			req.Header.SetMethod("OPTIONS")
			_ = req.URI()
		}, "OPTIONS /x%20y HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
		{"options with a changed query", func(req *Request) {
			req.SetRequestURI("http://h/x")
			req.Header.SetMethod("OPTIONS")
			req.URI().QueryArgs().Set("a", "b")
		}, "OPTIONS /x?a=b HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
		{"connect to elsewhere", func(req *Request) {
			req.SetRequestURI("a:1")
			req.Header.SetMethod("CONNECT")
			req.SetURI(mustURI("http://h:2"))
		}, "CONNECT h:2 HTTP/1.1\r\nHost: h:2\r\nContent-Length: 0\r\n\r\n"},
	})
}

func TestRequestIsWrittenWithItsBody(t *testing.T) {
	checkWritten(t, []writtenRequest{
		{"post", func(req *Request) {
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("POST")
			req.SetBodyString("hello")
		},
			"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/octet-stream\r\nContent-Length: 5\r\n\r\nhello"},
		{"post of nothing", func(req *Request) { req.SetRequestURI("http://h/"); req.Header.SetMethod("POST") }, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
		{"get with a body", func(req *Request) {
			req.SetRequestURI("http://h/")
			req.Header.SetContentType("a/b")
			req.SetBody([]byte("x"))
		},
			"GET / HTTP/1.1\r\nHost: h\r\nContent-Type: a/b\r\nContent-Length: 1\r\n\r\nx"},
		{"length that was set", func(req *Request) {
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("PUT")
			req.Header.SetContentLength(99)
			req.SetBodyString("x")
		},
			"PUT / HTTP/1.1\r\nHost: h\r\nContent-Type: application/octet-stream\r\nContent-Length: 1\r\n\r\nx"},
		{"coding that was set", func(req *Request) {
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("PUT")
			req.Header.Set("Transfer-Encoding", "chunked")
			req.SetBodyString("x")
		},
			"PUT / HTTP/1.1\r\nHost: h\r\nContent-Type: application/octet-stream\r\nContent-Length: 1\r\n\r\nx"},
		{"post args", func(req *Request) {
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("POST")
			req.PostArgs().Add("a", "b c")
		},
			"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/octet-stream\r\nContent-Length: 5\r\n\r\na=b+c"},
		{"body over post args", func(req *Request) {
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("POST")
			req.PostArgs().Add("a", "b")
			req.SetBodyString("x")
		},
			"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/octet-stream\r\nContent-Length: 1\r\n\r\nx"},
		{"close", func(req *Request) { req.SetRequestURI("http://h/"); req.SetConnectionClose() }, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
		{"trailers of a buffered body", func(req *Request) {
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("POST")
			req.Header.SetContentType("a/b")
			_ = req.Header.SetTrailer("Sum")
			req.Header.Set("Sum", "1")
			req.SetBodyString("hello")
		}, "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: a/b\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n5\r\nhello\r\n0\r\nSum: 1\r\n\r\n"},
		{"trailers of a stream", func(req *Request) {
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("POST")
			_ = req.Header.SetTrailer("Sum")
			req.Header.Set("Sum", "1")
			req.SetBodyStream(strings.NewReader("hello"), -1)
		}, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n5\r\nhello\r\n0\r\nSum: 1\r\n\r\n"},
		{"trailers in HTTP/1.0", func(req *Request) {
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("POST")
			req.Header.SetProtocol("HTTP/1.0")
			_ = req.Header.SetTrailer("Sum")
			req.Header.Set("Sum", "1")
			req.SetBodyString("x")
		}, "POST / HTTP/1.0\r\nHost: h\r\nContent-Type: application/octet-stream\r\nContent-Length: 1\r\nSum: 1\r\n\r\nx"},
		{"trailers without a body", func(req *Request) { req.SetRequestURI("http://h/"); _ = req.Header.SetTrailer("Sum") }, "GET / HTTP/1.1\r\nHost: h\r\nTrailer: Sum\r\n\r\n"},
		{"stream of a known size", func(req *Request) {
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("PUT")
			req.SetBodyStream(strings.NewReader("hello"), 5)
		},
			"PUT / HTTP/1.1\r\nHost: h\r\nContent-Type: application/octet-stream\r\nContent-Length: 5\r\n\r\nhello"},
		{"stream writer", func(req *Request) {
			req.SetRequestURI("http://h/")
			req.Header.SetMethod("PUT")
			req.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("hello") })
		}, "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
	})
}

func mustURI(text string) *URI {
	u := new(URI)
	if err := u.Parse(nil, []byte(text)); err != nil {
		panic(err)
	}
	return u
}

func TestRequestIsWrittenTheSameEveryWay(t *testing.T) {
	var req Request
	req.SetRequestURI("http://h/p")
	req.Header.SetMethod("POST")
	req.SetBodyString("hello")
	want := req.String()
	var out bytes.Buffer
	w := bufio.NewWriterSize(&out, 1<<16)
	if err := req.Write(w); err != nil || out.Len() > 0 {
		t.Errorf("Write: %v, %d bytes flushed", err, out.Len())
	}
	_ = w.Flush()
	if out.String() != want {
		t.Errorf("Write: %q", out.String())
	}
	for range 2 {
		out.Reset()
		if n, err := req.WriteTo(&out); err != nil || n != int64(len(want)) || out.String() != want {
			t.Errorf("WriteTo: %d, %v, %q", n, err, out.String())
		}
	}
	boom := errors.New("boom")
	if _, err := req.WriteTo(failingWriter{boom}); !errors.Is(err, boom) {
		t.Errorf("WriteTo: %v", err)
	}
	if err := req.Write(bufio.NewWriterSize(failingWriter{boom}, 16)); !errors.Is(err, boom) {
		t.Errorf("Write: %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestRequestWithoutAHostIsNotWritten(t *testing.T) {
	for _, fill := range []func(req *Request){
		func(*Request) {}, func(req *Request) { req.SetRequestURI("/p") }, func(req *Request) { req.SetURI(mustURI("/p")) },
	} {
		var req Request
		fill(&req)
		var out bytes.Buffer
		if n, err := req.WriteTo(&out); err == nil || n > 0 {
			t.Errorf("%q was written", out.String())
		}
		if got := req.String(); got == "" || strings.Contains(got, "HTTP/1.1") {
			t.Errorf("String gives %q", got)
		}
		closed := &closeCounter{Reader: strings.NewReader("body")}
		req.SetBodyStream(closed, 4)
		_, _ = req.WriteTo(io.Discard)
		if closed.n != 1 {
			t.Errorf("the stream was closed %d times", closed.n)
		}
	}
}

// closeCounter is a stream that counts the calls of Close.
type closeCounter struct {
	io.Reader
	n   int
	err error
}

func (c *closeCounter) Close() error {
	c.n++
	return c.err
}

// If a program changes the arguments between two writes, the second write sends the
// changed ones.
func TestRequestPostArgsAreSentAsTheyAreNow(t *testing.T) {
	var req Request
	req.SetRequestURI("http://h/")
	req.Header.SetMethod("POST")
	req.PostArgs().Set("a", "1")
	if got := req.String(); !strings.HasSuffix(got, "\r\n\r\na=1") {
		t.Errorf("%q", got)
	}
	req.PostArgs().Set("a", "2")
	req.PostArgs().Set("b", "3")
	if got := req.String(); !strings.HasSuffix(got, "Content-Length: 7\r\n\r\na=2&b=3") {
		t.Errorf("%q", got)
	}
	if len(req.Body()) > 0 {
		t.Errorf("the body is %q", req.Body())
	}
}

func TestRequestPostArgsAreParsedFromForms(t *testing.T) {
	for contentType, want := range map[string]string{
		"application/x-www-form-urlencoded":                "a: 1|b: x y",
		"application/x-www-form-urlencoded; charset=utf-8": "a: 1|b: x y",
		"Application/X-WWW-Form-URLEncoded":                "a: 1|b: x y",
		"text/plain":                                       "",
		"":                                                 "",
	} {
		var req Request
		req.Header.SetMethod("POST")
		req.Header.SetContentType(contentType)
		req.SetBodyString("a=1&b=x+y")
		if got := listed(req.PostArgs().All()); got != want {
			t.Errorf("%q: %s", contentType, got)
		}
		req.SetBodyString("c=2")
		if want != "" {
			want = "c: 2"
		}
		if got := listed(req.PostArgs().All()); got != want {
			t.Errorf("%q: with another body %s", contentType, got)
		}
	}
}

func TestRequestURIIsMadeOfTargetAndHost(t *testing.T) {
	for message, want := range map[string]string{
		"GET /p?q HTTP/1.1\r\nHost: h:80\r\n\r\n":       "h:80 /p?q http://h:80/p?q",
		"GET http://a/p HTTP/1.1\r\nHost: b\r\n\r\n":    "a http://a/p http://a/p",
		"GET //x/y HTTP/1.1\r\nHost: h\r\n\r\n":         "h //x/y http://h/x/y",
		"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n":         "h * ",
		"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n": "a:443 a:443 ",
		"GET /p HTTP/1.0\r\n\r\n":                       " /p ",
	} {
		var req Request
		if err := req.Read(readerOf(message)); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %s ", req.Host(), req.Header.RequestURI()); !strings.HasPrefix(want, got) {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
		if full := strings.SplitN(want, " ", 3)[2]; full != "" && req.URI().String() != full {
			t.Errorf("%q: URI %s, want %s", message, req.URI(), full)
		}
		// reading changes nothing
		want := req.Header.String()
		_, _ = req.RequestURI(), req.Host()
		_ = req.RequestURI()
		if got := req.Header.String(); got != want && !strings.HasPrefix(message, "GET http") && !strings.HasPrefix(message, "GET //") {
			t.Errorf("%q became %q", want, got)
		}
	}
}

func TestRequestRequestURIKeepsTheHost(t *testing.T) {
	var req Request
	req.SetRequestURI("http://h/p?a=1")
	req.URI().QueryArgs().Set("a", "2")
	if got := string(req.RequestURI()); got != "/p?a=2" {
		t.Errorf("%q", got)
	}
	if got, want := req.String(), "GET /p?a=2 HTTP/1.1\r\nHost: h\r\n\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := string(req.Host()); got != "h" {
		t.Errorf("host %q", got)
	}
}

func fullRequest() *Request {
	req := new(Request)
	req.SetRequestURI("http://h/p?q")
	req.Header.SetMethod("POST")
	req.Header.Set("Foo", "bar")
	req.Header.SetCookie("a", "b")
	_ = req.URI()
	req.PostArgs().Set("arg", "value")
	req.SetBodyString("body")
	req.SetTimeout(time.Second)
	req.UseHostHeader = true
	req.DisableRedirectPathNormalizing = true
	req.SetUserValue("key", "value")
	return req
}

func TestRequestCopyIsDeep(t *testing.T) {
	req := fullRequest()
	want := req.String()
	var dst Request
	dst.KeepBodyBuffer = true
	dst.SetBodyString("old")
	dst.Header.Set("Old", "1")
	dst.SetUserValue("old", 1)
	req.CopyTo(&dst)
	if got := dst.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !dst.UseHostHeader || !dst.DisableRedirectPathNormalizing || dst.GetTimeOut() != time.Second || dst.UserValue("key") != "value" || dst.UserValue("old") != nil || !dst.KeepBodyBuffer {
		t.Errorf("%+v", dst.GetTimeOut())
	}
	dst.Header.Set("Foo", "changed")
	dst.SetBodyString("changed")
	dst.SetHost("changed")
	dst.SetUserValue("key", "changed")
	dst.AppendBodyString("more")
	if got := req.String(); got != want || req.UserValue("key") != "value" {
		t.Errorf("after changes of the copy %q, want %q", got, want)
	}
	req.SetBodyRaw([]byte("raw"))
	req.CopyTo(&dst)
	if got := string(dst.Body()); got != "raw" {
		t.Errorf("the raw body is copied as %q", got)
	}
	req.Reset()
	if got := string(dst.Body()); got != "raw" {
		t.Errorf("after Reset of the source the body is %q", got)
	}
	req.SetBodyStream(strings.NewReader("stream"), -1)
	req.CopyTo(&dst)
	if dst.IsBodyStream() || len(dst.Body()) > 0 || !req.IsBodyStream() {
		t.Errorf("a stream was copied: %q", dst.Body())
	}
}

func TestRequestResetEmpties(t *testing.T) {
	req := fullRequest()
	stream := &closeCounter{Reader: strings.NewReader("x")}
	value := &closeCounter{}
	req.SetUserValue("closer", value)
	req.SetBodyStream(stream, 1)
	req.Reset()
	if stream.n != 1 || value.n != 1 {
		t.Errorf("the stream was closed %d times, the value %d times", stream.n, value.n)
	}
	if got := req.Header.String(); got != "GET / HTTP/1.1\r\n\r\n" {
		t.Errorf("%q", got)
	}
	if len(req.Body()) > 0 || req.IsBodyStream() || req.UseHostHeader || req.DisableRedirectPathNormalizing || req.GetTimeOut() != 0 || req.UserValue("key") != nil || req.PostArgs().Len() != 0 || len(req.Host()) > 0 {
		t.Errorf("something is left: %q", req.String())
	}
}

func TestRequestTimeout(t *testing.T) {
	var req Request
	if req.GetTimeOut() != 0 {
		t.Errorf("%v at first", req.GetTimeOut())
	}
	req.SetTimeout(3 * time.Second)
	if req.GetTimeOut() != 3*time.Second {
		t.Errorf("%v", req.GetTimeOut())
	}
}

func TestAcquiredRequestsAreEmpty(t *testing.T) {
	for range 20 {
		req := AcquireRequest()
		if got := req.Header.String(); got != "GET / HTTP/1.1\r\n\r\n" || len(req.Body()) > 0 || req.KeepBodyBuffer || req.UserValue("key") != nil || req.Header.DisableNormalizing() || req.Header.DisableSpecialHeader() {
			t.Fatalf("%q, body %q", got, req.Body())
		}
		req.KeepBodyBuffer = true
		req.SetUserValue("key", 1)
		req.SetBodyString("body")
		ReleaseRequest(req)
	}
}

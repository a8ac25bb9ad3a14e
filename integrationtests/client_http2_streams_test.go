package integrationtests

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// fillWindow sends content on a stream until its window, or the connection's, is closed. It
// returns the number of bytes.
func fillWindow(c *h2Side, r *h2Request) (n int) {
	c.T.Helper()
	c.Sync()
	may := min(65535+c.Granted[0], int(c.SettingsReceived[http2.SettingInitialWindowSize])+c.Granted[r.ID])
	c.SendContent(r, numbered(may), false)
	c.Sync()
	return may
}

// TestHTTP2ClientSlowReaderHoldsItsStream has responses that are not read: their windows
// close, and all other calls continue.
func TestHTTP2ClientSlowReaderHoldsItsStream(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	var calls []*h2Call
	var requests []*h2Request
	sizes := make([]int, 3)
	for i := range sizes {
		calls = append(calls, p.stream(hc, "/slow"))
		r := c.Whole()
		requests = append(requests, r)
		c.Head(r, endHeaders, "200")
		sizes[i] = fillWindow(c, r)
		calls[i].is(200, "")
		if got := c.Granted[r.ID]; got > 0 {
			t.Errorf("the window of a stream that nobody reads grows by %d", got)
		}
	}
	for range 3 {
		large := numbered(4 << 20)
		call := p.get(hc, "/other")
		r := c.Whole()
		c.Head(r, endHeaders, "200")
		c.SendContent(r, large, true)
		call.is(200, large)
	}
	for i, call := range calls {
		read := make(chan string, 1)
		go func() {
			b, err := io.ReadAll(call.resp.BodyStream())
			read <- fmt.Sprint(len(b), " ", err)
		}()
		c.SendContent(requests[i], numbered(1<<20), true)
		if got, want := servertest.Receive(t, "the stream", read), fmt.Sprint(sizes[i]+1<<20, " <nil>"); got != want {
			t.Errorf("read %s, want %s", got, want)
		}
		servertest.Must(t, call.resp.CloseBodyStream())
	}
	p.HasAccepted(1)
}

// TestHTTP2ClientStreamClosedEarly closes streams with unread content: the window of the
// connection is restored.
func TestHTTP2ClientStreamClosedEarly(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	hc.HTTP2.MaxReceiveBufferPerConnection = 300_000
	hc.HTTP2.MaxReceiveBufferPerStream = 100_000
	c := p.greeted(hc)
	for i := range 20 {
		call := p.stream(hc, "/")
		r := c.Whole()
		c.Head(r, endHeaders, "200")
		if i%3 == 0 {
			c.SendContent(r, numbered(50_000), false)
		} else if n := fillWindow(c, r); n != 100_000 {
			t.Fatalf("the window of stream %d is %d, want 100000", r.ID, n)
		}
		call.is(200, "")
		body := call.resp.BodyStream()
		if i%2 == 0 {
			b := make([]byte, 1000)
			if _, err := io.ReadFull(body, b); err != nil || string(b) != numbered(1000) {
				t.Fatalf("read %.20q, %v", b, err)
			}
		}
		servertest.Soon(t, "closing", func() { servertest.Must(t, call.resp.CloseBodyStream()) })
		c.ExpectReset(r, http2.ErrCodeCancel)
		if i%3 == 0 {
			// content that was on its way
			c.SendContent(r, numbered(49_000), false)
		}
	}
	large := numbered(1 << 20)
	call := p.get(hc, "/large")
	r := c.Whole()
	c.Head(r, endHeaders, "200")
	c.SendContent(r, large, true)
	call.is(200, large)
	p.HasAccepted(1)
}

// TestHTTP2ClientFullDuplex reads the response while the request is sent.
func TestHTTP2ClientFullDuplex(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	in, out := io.Pipe()
	call := startCall(t, hc.Do, "POST", p.URL("/"), asStream, func(req *fasthttp.Request, _ *fasthttp.Response) {
		req.SetBodyStream(in, -1)
	})
	r := c.Request()
	c.Head(r, endHeaders, "200").Flush()
	resp := call.is(200, "")
	for i := range 20 {
		text := fmt.Sprint("message ", i)
		if _, err := io.WriteString(out, text); err != nil {
			t.Fatal(err)
		}
		c.Until("the message", func() bool { return len(r.Content) >= len(text) })
		c.Data(r.ID, 0, string(r.Content)).Flush()
		r.Content = nil
		b := make([]byte, len(text))
		if _, err := io.ReadFull(resp.BodyStream(), b); err != nil || string(b) != text {
			t.Fatalf("got %q, %v, want %q", b, err, text)
		}
	}
	servertest.Must(t, out.Close())
	c.EndOf(r)
	c.Data(r.ID, endStream, "").Flush()
	if b, err := io.ReadAll(resp.BodyStream()); len(b) > 0 || err != nil {
		t.Errorf("at the end: %q, %v", b, err)
	}
	servertest.Must(t, resp.CloseBodyStream())
	next := p.get(hc, "/next")
	c.Serve()
	next.is(200, "/next")
	p.HasAccepted(1)
}

// TestHTTP2ClientStreamOfRequestBreaks has a request whose stream fails while the response is
// read: then it is no response to the whole request.
func TestHTTP2ClientStreamOfRequestBreaks(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	broken := errors.New("the stream broke")
	in, out := io.Pipe()
	call := startCall(t, hc.Do, "POST", p.URL("/"), asStream, func(req *fasthttp.Request, _ *fasthttp.Response) {
		req.SetBodyStream(in, -1)
	})
	r := c.Request()
	c.Head(r, endHeaders, "200").Data(r.ID, 0, "some").Flush()
	resp := call.is(200, "")
	_ = out.CloseWithError(broken)
	servertest.Soon(t, "the stream", func() {
		if b, err := io.ReadAll(resp.BodyStream()); string(b) != "some" || !errors.Is(err, broken) {
			t.Errorf("read %q, %v", b, err)
		}
	})
	_ = resp.CloseBodyStream()
	c.ExpectReset(r, http2.ErrCodeCancel)
	next := p.get(hc, "/next")
	c.Serve()
	next.is(200, "/next")
	p.HasAccepted(1)
}

// TestHTTP2ClientTakesSmallFrames has responses that arrive in small pieces, as events do.
func TestHTTP2ClientTakesSmallFrames(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	for _, stream := range []bool{false, true} {
		call := startCall(t, hc.Do, "GET", p.URL("/"), func(_ *fasthttp.Request, resp *fasthttp.Response) { resp.StreamBody = stream })
		r := c.Whole()
		text := numbered(5000)
		c.Head(r, endHeaders, "200")
		for i := range text {
			c.Data(r.ID, 0, text[i:i+1])
		}
		c.Data(r.ID, endStream, "").Flush()
		if err := call.wait(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(streamOf(call.resp)); string(got) != text || err != nil {
			t.Errorf("stream %v: %d bytes, %v", stream, len(got), err)
		}
		_ = call.resp.CloseBodyStream()
	}
	p.HasAccepted(1)
}

// closingStream is a request stream that counts its calls of Close.
type closingStream struct {
	io.Reader
	closed chan struct{}
}

func (s closingStream) Close() error {
	s.closed <- struct{}{}
	return nil
}

// TestHTTP2ClientClosesStreamsOfRequests closes the stream of a request once, however the call
// ends.
func TestHTTP2ClientClosesStreamsOfRequests(t *testing.T) {
	t.Parallel()
	broken := errors.New("the stream broke")
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	for name, tt := range map[string]struct {
		body io.Reader
		size int
		act  func(r *h2Request, call *h2Call)
	}{
		"sent": {strings.NewReader("some"), -1, func(r *h2Request, call *h2Call) {
			c.EndOf(r)
			c.Respond(r, "200", "well")
			call.is(200, "well")
		}},
		"broken": {io.MultiReader(strings.NewReader("some"), servertest.ReadFunc(func([]byte) (int, error) { return 0, broken })), -1, func(r *h2Request, call *h2Call) {
			call.fails(broken)
			c.Until("a reset", func() bool { return r.Reset != nil })
		}},
		"too short": {strings.NewReader("some"), 5, func(r *h2Request, call *h2Call) {
			if err := call.wait(); err == nil {
				t.Error("a stream that is too short is sent")
			}
			c.Until("a reset", func() bool { return r.Reset != nil })
		}},
		"reset": {io.MultiReader(strings.NewReader(numbered(100_000))), -1, func(r *h2Request, call *h2Call) {
			c.Reset(r.ID, http2.ErrCodeInternal).Flush()
			call.failsWith("INTERNAL_ERROR")
		}},
	} {
		closed := make(chan struct{}, 10)
		call := startCall(t, hc.Do, "POST", p.URL("/"), func(req *fasthttp.Request, _ *fasthttp.Response) {
			req.SetBodyStream(closingStream{tt.body, closed}, tt.size)
		})
		r := c.Request()
		tt.act(r, call)
		servertest.Receive(t, "the end of the stream: "+name, closed)
		c.Sync()
		if len(closed) > 0 {
			t.Errorf("%s: the stream was closed twice", name)
		}
		c.Window(0, uint32(len(r.Content)+1)).Flush()
		next := p.get(hc, "/next")
		c.Serve()
		next.is(200, "/next")
	}
	p.HasAccepted(1)
}

// TestHTTP2ClientRequestFields has requests of all kinds, which must be well-formed.
func TestHTTP2ClientRequestFields(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	hc.Name = "me"
	c := p.greeted(hc)
	for _, tt := range []struct {
		method, url string
		set         func(req *fasthttp.Request)
		want        string // all fields
	}{
		{"GET", "http://a.test/x?y=z#f", func(*fasthttp.Request) {}, ":authority a.test|:method GET|:path /x?y=z|:scheme http|user-agent me"},
		{"GET", "http://a.test:8080", func(*fasthttp.Request) {}, ":authority a.test:8080|:method GET|:path /|:scheme http|user-agent me"},
		{"OPTIONS", "http://a.test/x", func(*fasthttp.Request) {}, ":authority a.test|:method OPTIONS|:path /x|:scheme http|content-length 0|user-agent me"},
		{"POST", "http://a.test/", func(req *fasthttp.Request) {
			req.SetBodyString("pay")
			req.Header.SetContentType("text/x")
		}, ":authority a.test|:method POST|:path /|:scheme http|content-length 3|content-type text/x|user-agent me"},
		{"GET", "http://a.test/", func(req *fasthttp.Request) {
			req.Header.Set("X-Upper", "Y")
			req.Header.Set("Connection", "keep-alive, X-Hop")
			req.Header.Set("Keep-Alive", "timeout=5")
			req.Header.Set("Proxy-Connection", "keep-alive")
			req.Header.Set("Upgrade", "h2c")
			req.Header.Set("Transfer-Encoding", "chunked")
			req.Header.Set("X-Hop", "1")
		}, ":authority a.test|:method GET|:path /|:scheme http|user-agent me|x-upper Y"},
		{"GET", "http://a.test/", func(req *fasthttp.Request) {
			req.Header.SetHost("b.test")
			req.UseHostHeader = true
		}, ":authority b.test|:method GET|:path /|:scheme http|user-agent me"},
		{"GET", "http://a.test/", func(req *fasthttp.Request) { req.Header.Set("TE", "trailers") }, ":authority a.test|:method GET|:path /|:scheme http|te trailers|user-agent me"},
		{"GET", "http://a.test/", func(req *fasthttp.Request) { req.Header.Set("TE", "gzip") }, ":authority a.test|:method GET|:path /|:scheme http|user-agent me"},
	} {
		call := startCall(t, hc.Do, tt.method, tt.url, func(req *fasthttp.Request, _ *fasthttp.Response) { tt.set(req) })
		r := c.Serve()
		call.is(200, r.Field(":path"))
		if err := checkRequestFields(r); err != nil {
			t.Error(err)
		}
		var got []string
		for _, f := range r.Fields() {
			got = append(got, f.Name+" "+f.Value)
		}
		if text := strings.Join(slices.Sorted(slices.Values(got)), "|"); text != tt.want {
			t.Errorf("got  %s\nwant %s", text, tt.want)
		}
	}
	call := startCall(t, hc.Do, "GET", "http://a.test/", func(req *fasthttp.Request, _ *fasthttp.Response) {
		req.Header.SetCookie("a", "1")
		req.Header.SetCookie("b", "2")
	})
	r := c.Serve()
	call.is(200, "/")
	var crumbs []string
	for _, f := range r.Fields() {
		if f.Name == "cookie" {
			crumbs = append(crumbs, f.Value)
		}
	}
	if got := strings.Join(crumbs, "; "); got != "a=1; b=2" {
		t.Errorf("the cookies are %q", crumbs)
	}
}

// checkRequestFields checks the requirements of RFC 9113 section 8.3.
func checkRequestFields(r *h2Request) error {
	regular := false
	for _, f := range r.Fields() {
		if f.Name != strings.ToLower(f.Name) || strings.ContainsAny(f.Name+f.Value, "\r\n\x00") || strings.Contains(f.Name, " ") {
			return fmt.Errorf("a field %q with %q", f.Name, f.Value)
		}
		pseudo := strings.HasPrefix(f.Name, ":")
		if pseudo && regular {
			return fmt.Errorf("%s comes after other fields", f.Name)
		}
		regular = regular || !pseudo
		switch f.Name {
		case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "host":
			return fmt.Errorf("there is %s: %q", f.Name, f.Value)
		}
	}
	return nil
}

// TestHTTP2ClientInjectsNothing has requests whose values try to inject fields.
func TestHTTP2ClientInjectsNothing(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	for _, set := range []func(req *fasthttp.Request){
		func(req *fasthttp.Request) { req.Header.Set("X", "a\r\ny: b\x00c") },
		func(req *fasthttp.Request) { req.Header.Set("X\r\nY", "a") },
		func(req *fasthttp.Request) { req.Header.Set(":path", "/other") },
		func(req *fasthttp.Request) { req.Header.Set("", "a") },
		func(req *fasthttp.Request) { req.Header.Add("Content-Length", "7") },
		func(req *fasthttp.Request) { req.Header.SetMethod("GET / HTTP/1.1\r\nX: y") },
		func(req *fasthttp.Request) { req.URI().SetPath("/a\r\nx: y") },
		func(req *fasthttp.Request) { req.Header.SetCookie("a", "b\r\nx: y") },
		func(req *fasthttp.Request) { req.Header.SetUserAgent("a\nb") },
	} {
		call := startCall(t, hc.Do, "GET", "http://a.test/", func(req *fasthttp.Request, _ *fasthttp.Response) { set(req) })
		r := c.RequestUnless(call)
		if r == nil {
			if err := call.wait(); err == nil {
				t.Error("the call succeeds without a request")
			}
			continue
		}
		c.EndOf(r)
		c.Respond(r, "200", r.Field(":path"))
		call.is(200, r.Field(":path"))
		if err := checkRequestFields(r); err != nil {
			t.Error(err)
		}
		for _, f := range r.Fields() {
			if f.Name == "y" || f.Name == "" || f.Name == "x" && !strings.HasPrefix(f.Value, "a") {
				t.Errorf("there is a field %q with %q", f.Name, f.Value)
			}
		}
	}
	p.HasAccepted(1)
}

package fasthttp

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestZeroValuesWork uses the zero value of every type that programs declare.
func TestZeroValuesWork(t *testing.T) {
	var (
		args   Args
		cookie Cookie
		uri    URI
		req    Request
		resp   Response
		ctx    RequestCtx
	)
	args.Del("x")
	args.Reset()
	if args.Len() != 0 || args.Peek("x") != nil || args.String() != "" || args.Has("") {
		t.Errorf("Args: %d, %q", args.Len(), args.String())
	}
	if cookie.String() != "" || len(cookie.Key()) > 0 {
		t.Errorf("Cookie: %q", cookie.String())
	}
	if got := uri.String(); got != "http:///" {
		t.Errorf("URI: %q", got)
	}
	if len(req.Body()) > 0 || len(req.URI().Path()) == 0 || req.IsBodyStream() || req.CloseBodyStream() != nil {
		t.Error("Request: it is not empty")
	}
	if resp.StatusCode() != StatusOK || len(resp.Body()) > 0 || resp.IsBodyStream() || resp.CloseBodyStream() != nil {
		t.Error("Response: it is not empty")
	}
	if ctx.RemoteAddr() == nil || ctx.RemoteIP() == nil || ctx.LocalAddr() == nil || ctx.UserValue("x") != nil || ctx.Conn() != nil {
		t.Error("RequestCtx: it is not empty")
	}
}

// TestNilBuffersAreEmptyOnes passes nil as empty input, and as a buffer to append
// to.
func TestNilBuffersAreEmptyOnes(t *testing.T) {
	var req Request
	var resp Response
	req.SetBody(nil)
	req.SetBodyRaw(nil)
	req.AppendBody(nil)
	req.SetHostBytes(nil)
	req.Header.SetBytesKV(nil, nil)
	req.Header.SetMethodBytes(nil)
	req.Header.SetCookieBytesKV(nil, nil)
	resp.SetBodyRaw(nil)
	resp.SetBodyStream(nil, -1)
	resp.Header.SetBytesKV(nil, nil)
	resp.Header.SetStatusMessage(nil)
	for name, got := range map[string][]byte{
		"request body": req.Body(), "response body": resp.Body(), "swapped": req.SwapBody(nil), "peeked": req.Header.PeekBytes(nil),
	} {
		if len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
	var u URI
	if err := u.Parse(nil, nil); err != nil {
		t.Errorf("Parse: %v", err)
	}
	u.UpdateBytes(nil)
	var a Args
	a.ParseBytes(nil)
	a.SetBytesKV(nil, nil)
	if got := string(a.AppendBytes(nil)); got != "=" {
		t.Errorf("Args: %q", got)
	}
	if _, err := ParseUint(nil); err == nil {
		t.Error("ParseUint: nil is a number")
	}
	if _, _, err := ParseByteRange(nil, 0); err == nil {
		t.Error("ParseByteRange: nil is a range")
	}
	if got := AppendQuotedArg(AppendHTMLEscapeBytes(nil, nil), nil); len(got) > 0 {
		t.Errorf("nothing escaped: %q", got)
	}
}

// TestNothingIsLeftAfterReset fills, resets and reuses values.
func TestNothingIsLeftAfterReset(t *testing.T) {
	var req, emptyReq Request
	var resp, emptyResp Response
	for i := range 3 {
		req.SetRequestURI("http://user:pass@host/path?q#f")
		req.Header.SetMethod(MethodPut)
		req.Header.SetCookie("a", "b")
		req.Header.SetContentType("text/x")
		req.Header.DisableNormalizing()
		req.Header.Set("x-own", "1")
		req.SetBodyStream(strings.NewReader("stream"), -1)
		req.SetUserValue("k", "v")
		req.SetConnectionClose()
		req.Reset()
		if got, want := req.String(), emptyReq.String(); got != want || req.UserValue("k") != nil || req.ConnectionClose() || req.IsBodyStream() {
			t.Errorf("request, round %d: %q, want %q", i, got, want)
		}
		req.Header.Set("x-own", "1")
		if req.Header.Peek("X-Own") == nil {
			t.Error("names are not normalised after Reset")
		}
		req.Reset()

		resp.SetStatusCode(404)
		resp.Header.SetStatusMessage([]byte("Own"))
		resp.Header.Set("X-Own", "1")
		resp.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString("written") })
		resp.SkipBody = true
		resp.Reset()
		if resp.StatusCode() != StatusOK || resp.SkipBody || resp.IsBodyStream() || resp.Header.Len() != emptyResp.Header.Len() || len(resp.Header.StatusMessage()) > 0 {
			t.Errorf("response, round %d: %q", i, resp.Header.String())
		}
	}
}

// TestCopiesShareNothing changes the source of a copy, and checks the copy.
func TestCopiesShareNothing(t *testing.T) {
	check := func(name, before, after string) {
		t.Helper()
		if before != after {
			t.Errorf("%s: %q became %q", name, before, after)
		}
	}
	var a, b Args
	a.Parse("k=value&l=other")
	a.CopyTo(&b)
	was := b.String()
	a.Set("k", "CHANGED")
	a.Reset()
	a.Parse("zzzzzzzzzzzzzzzzzzzz=zzzz")
	check("Args", was, b.String())
	b.CopyTo(&b)
	check("Args copied to themselves", was, b.String())

	var req, copied Request
	req.SetRequestURI("http://host/path?q=1")
	req.Header.Set("X-Own", "value")
	req.Header.SetCookie("k", "v")
	req.SetBodyString("the body")
	req.CopyTo(&copied)
	was = copied.String()
	copy(req.Body(), "SCRIBBLE")
	copy(req.Header.Peek("X-Own"), "SCRIB")
	req.Header.SetCookie("k", "CHANGED")
	req.URI().SetPath("/changed")
	req.Reset()
	check("Request", was, copied.String())
	copied.Header.CopyTo(&copied.Header)
	check("a header copied to itself", was, copied.String())

	var resp, other Response
	resp.Header.Set("X-Own", "value")
	resp.SetBodyString("the body")
	resp.CopyTo(&other)
	was = string(other.Body()) + string(other.Header.Peek("X-Own"))
	copy(resp.Body(), "SCRIBBLE")
	copy(resp.Header.Peek("X-Own"), "SCRIB")
	resp.Reset()
	check("Response", was, string(other.Body())+string(other.Header.Peek("X-Own")))
}

// TestPeekingTogetherIsSafe has goroutines read one request at the same time. The
// race detector reports a change. The test first calls the methods that parse on
// first use.
func TestPeekingTogetherIsSafe(t *testing.T) {
	var ctx RequestCtx
	raw := "POST /path?q=1 HTTP/1.1\r\nHost: h\r\nX-Own: value\r\nCookie: k=v\r\nContent-Length: 4\r\n\r\nbody"
	if err := ctx.Request.Read(bufio.NewReader(strings.NewReader(raw))); err != nil {
		t.Fatal(err)
	}
	look := func() string {
		return fmt.Sprintf("%s %s %s %s %s %s %s", ctx.Method(), ctx.Path(), ctx.Host(), ctx.Request.Header.Peek("X-Own"), ctx.Request.Header.Cookie("k"), ctx.QueryArgs().Peek("q"), ctx.PostBody())
	}
	want := look()
	if want != "POST /path h value v 1 body" {
		t.Fatalf("got %q", want)
	}
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 100 {
				if got := look(); got != want {
					t.Errorf("got %q", got)
					return
				}
			}
		})
	}
	running.Wait()
}

// TestHugeAndInvalidKeysAreKeys sets names and values of any bytes and any length.
func TestHugeAndInvalidKeysAreKeys(t *testing.T) {
	huge := strings.Repeat("k", 1<<20)
	for _, key := range []string{huge, "\xff\xfe", "\xc3(", "é", "\x00", strings.Repeat("é", 1000), "a\u2028b"} {
		var a, again Args
		a.Set(key, key)
		a.Set("other", "x")
		again.Parse(a.String())
		if string(again.Peek(key)) != key || again.Len() != 2 {
			t.Errorf("Args: %.20q has changed", key)
		}
		var ctx RequestCtx
		ctx.SetUserValue(key, 1)
		if ctx.UserValueBytes([]byte(key)) != 1 {
			t.Errorf("user value %.20q is missing", key)
		}
		var u URI
		u.SetPath("/" + key)
		if got := string(u.Path()); got != "/"+key {
			t.Errorf("URI: %.20q is %.20q", key, got)
		}
		var h RequestHeader
		h.Set("X-Own", key)
		if got := string(h.Peek("X-Own")); key != "\x00" && got != key {
			t.Errorf("header: %.20q is %.20q", key, got)
		}
	}
	var h RequestHeader
	h.Set(huge, "v")
	if got := string(h.Peek(huge)); got != "v" {
		t.Errorf("a field with a huge name is %q", got)
	}
	var buf bytes.Buffer
	if _, err := h.WriteTo(&buf); err != nil || buf.Len() < len(huge) {
		t.Errorf("%d bytes, %v", buf.Len(), err)
	}
}

package integrationtests

import (
	"errors"
	"fmt"
	"io"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// h2Contents are the forms that the content of a request has, of any size.
var h2Contents = map[string]func(req *fasthttp.Request, text string){
	"bytes":      func(req *fasthttp.Request, text string) { req.SetBodyString(text) },
	"lent bytes": func(req *fasthttp.Request, text string) { req.SetBodyRaw([]byte(text)) },
	"stream":     func(req *fasthttp.Request, text string) { req.SetBodyStream(strings.NewReader(text), len(text)) },
	"unknown length": func(req *fasthttp.Request, text string) {
		req.SetBodyStream(io.MultiReader(strings.NewReader(text)), -1)
	},
	"byte by byte": func(req *fasthttp.Request, text string) { req.SetBodyStream(oneByte{strings.NewReader(text)}, -1) },
}

// oneByte returns one byte at a time.
type oneByte struct{ io.Reader }

func (r oneByte) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 1)]) }

// TestHTTP2ClientSendsContent sends content of any form and size. The window grows in small
// steps, shrinks below zero while content is on its way, and frames get larger.
func TestHTTP2ClientSendsContent(t *testing.T) {
	t.Parallel()
	for name, set := range h2Contents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t)
			hc := p.client()
			c := p.greeted(hc, initialWindow, 1000)
			for _, size := range []int{0, 1, 1000, 1001, 70_000} {
				if name == "byte by byte" && size > 2000 {
					continue
				}
				text := numbered(size)
				call := startCall(t, hc.Do, "POST", p.URL("/"), func(req *fasthttp.Request, _ *fasthttp.Response) { set(req, text) })
				r := c.Request()
				allowed := 1000
				for allowed < size {
					c.Until("a full window", func() bool { return len(r.Content) >= allowed })
					c.Sync()
					if len(r.Content) > allowed {
						t.Fatalf("%d bytes came, and %d were permitted", len(r.Content), allowed)
					}
					changeSettings(c, initialWindow, 500)  // 500 too many were sent
					changeSettings(c, initialWindow, 1700) // now 700 are permitted
					allowed += 700
					c.Until("more", func() bool { return len(r.Content) >= min(allowed, size) })
					changeSettings(c, initialWindow, 1000) // 700 too many
					c.Window(0, 10_000).Window(r.ID, 700+9000)
					c.Flush()
					allowed += 9000
				}
				c.EndOf(r)
				length := r.Field("content-length")
				if string(r.Content) != text {
					t.Errorf("%d bytes: got %d", size, len(r.Content))
				}
				if known := name != "unknown length" && name != "byte by byte"; known && length != fmt.Sprint(size) || !known && length != "" {
					t.Errorf("%d bytes: content-length is %q", size, length)
				}
				c.Window(0, uint32(size+1))
				c.Respond(r, "200", "well")
				call.is(200, "well")
			}
			p.HasAccepted(1)
		})
	}
}

// TestHTTP2ClientRespectsFrameSizes receives frames up to the size that the server allows.
func TestHTTP2ClientRespectsFrameSizes(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc, initialWindow, 1<<20)
	c.Window(0, 8<<20).Flush()
	for _, size := range []uint32{1 << 14, 1 << 16} {
		c.Framer.SetMaxReadFrameSize(size) // a larger one is an error
		changeSettings(c, maxFrame, size)
		call := startCall(t, hc.Do, "POST", p.URL("/"), withBody(numbered(300_000)), func(req *fasthttp.Request, _ *fasthttp.Response) {
			req.Header.Set("X-Large", strings.Repeat("x", 40_000))
		})
		if r := c.Serve(); len(r.Content) != 300_000 || len(r.Field("x-large")) != 40_000 {
			t.Errorf("got %d bytes, and a field of %d", len(r.Content), len(r.Field("x-large")))
		}
		call.is(200, "/")
	}
}

// TestHTTP2ClientFollowsTheTableSize changes the size of the compression table, even between
// the frames of a call.
func TestHTTP2ClientFollowsTheTableSize(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	dec := hpack.NewDecoder(4096, nil)
	c.Framer.ReadMetaHeaders = dec
	// the earlier table belonged to another decoder
	changeSettings(c, tableSize, 0)
	for i, size := range []uint32{0, 4096, 100, 0, 1 << 20, 4096, 64} {
		dec.SetAllowedMaxDynamicTableSize(size)
		changeSettings(c, tableSize, size)
		for j := range 5 {
			call := startCall(t, hc.Do, "GET", p.URL("/"), func(req *fasthttp.Request, _ *fasthttp.Response) {
				req.Header.Set("X-Indexed", fmt.Sprint("a value ", i))
				req.Header.Set("X-Other", fmt.Sprint("a value ", j))
			})
			r := c.Serve()
			if got := r.Field("x-indexed") + r.Field("x-other"); got != fmt.Sprint("a value ", i, "a value ", j) {
				t.Errorf("table of %d: got %q", size, got)
			}
			call.is(200, "/")
		}
	}
}

// TestHTTP2ClientSendsTrailers has fields after content of both kinds.
func TestHTTP2ClientSendsTrailers(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	for _, size := range []int{0, 10, 100_000} {
		for _, stream := range []bool{false, true} {
			text := numbered(size)
			call := startCall(t, hc.Do, "POST", p.URL("/"), func(req *fasthttp.Request, _ *fasthttp.Response) {
				if stream {
					req.SetBodyStream(strings.NewReader(text), -1)
				} else {
					req.SetBodyString(text)
				}
				servertest.Must(t, req.Header.AddTrailerField("X-Sum", "7"))
				servertest.Must(t, req.Header.AddTrailerField("X-Sum", "8"))
			})
			r := c.Request()
			c.Window(0, 100_000).Window(r.ID, 100_000)
			c.Flush()
			c.EndOf(r)
			if string(r.Content) != text || len(r.Trailers()) != 2 || fieldOf(r.Trailers(), "x-sum") != "7" || r.Field("x-sum") != "" {
				t.Errorf("%d bytes, stream %v: got %d bytes and %v", size, stream, len(r.Content), r.Trailers())
			}
			c.Respond(r, "200", "")
			call.is(200, "")
		}
	}
}

// TestHTTP2ClientReceives has responses of all kinds, buffered and as streams.
func TestHTTP2ClientReceives(t *testing.T) {
	t.Parallel()
	large := numbered(3 << 20)
	for _, tt := range []struct {
		name, method string
		send         func(c *h2Side, r *h2Request)
		status       int
		content      string
		length       int    // Content-Length, if the response is buffered
		trailer      string // X-End
	}{
		{name: "no content", send: func(c *h2Side, r *h2Request) { c.Head(r, whole, "200") }, status: 200},
		{name: "the end alone", send: func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "200").Data(r.ID, endStream, "") }, status: 200},
		{name: "content", send: func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "201", "content-length: 4").Data(r.ID, endStream, "some")
		}, status: 201, content: "some", length: 4},
		{name: "unknown length", send: func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "404").Data(r.ID, 0, "so").Data(r.ID, 0, "me").Data(r.ID, endStream, "")
		}, status: 404, content: "some", length: 4},
		{name: "padding", send: func(c *h2Side, r *h2Request) {
			c.Frame(http2.FrameHeaders, endHeaders|http2.FlagHeadersPadded, r.ID, "\x03"+c.Block(":status: 200")+"\x00\x00\x00")
			c.Data(r.ID, http2.FlagDataPadded, "\xff"+"some"+strings.Repeat("\x00", 255)).Data(r.ID, endStream|http2.FlagDataPadded, "\x00")
		}, status: 200, content: "some", length: 4},
		{name: "large", send: func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "200"); c.SendContent(r, large, true) }, status: 200, content: large, length: len(large)},
		{name: "large with a length", send: func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200", fmt.Sprint("content-length: ", len(large)))
			c.SendContent(r, large, true)
		}, status: 200, content: large, length: len(large)},
		{name: "trailers", send: func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200").Data(r.ID, 0, "some").Headers(r.ID, whole, "x-end: yes")
		}, status: 200, content: "some", length: 4, trailer: "yes"},
		{name: "trailers that must not be there", send: func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200").Data(r.ID, 0, "some").Headers(r.ID, whole, "date: today", "x-end: yes", "set-cookie: a=b")
		}, status: 200, content: "some", length: 4, trailer: "yes"},
		{name: "trailers alone", send: func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "200").Headers(r.ID, whole, "x-end: yes") }, status: 200, trailer: "yes"},
		{name: "continuation", send: func(c *h2Side, r *h2Request) {
			block := c.Block(":status: 200", "x-large: "+strings.Repeat("x", 20_000))
			c.Frame(http2.FrameHeaders, 0, r.ID, block[:1]).Frame(http2.FrameContinuation, 0, r.ID, block[1:10_000])
			c.Frame(http2.FrameContinuation, endHeaders, r.ID, block[10_000:]).Data(r.ID, endStream, "some")
		}, status: 200, content: "some", length: 4},
		{name: "HEAD", method: "HEAD", send: func(c *h2Side, r *h2Request) { c.Head(r, whole, "200", "content-length: 1000") }, status: 200, length: 1000},
		{name: "HEAD with an empty frame", method: "HEAD", send: func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200", "content-length: 1000").Data(r.ID, endStream, "")
		}, status: 200, length: 1000},
		{name: "204", send: func(c *h2Side, r *h2Request) { c.Head(r, whole, "204") }, status: 204},
		{name: "304", send: func(c *h2Side, r *h2Request) { c.Head(r, whole, "304", "content-length: 1000", "etag: \"a\"") }, status: 304, length: 1000},
		{name: "unknown frames", send: func(c *h2Side, r *h2Request) {
			c.Frame(0x0a, 0, 0, "\x00\x01ah2=").Frame(0xbb, 0xff, r.ID, "what").Frame(http2.FramePriority, 0, r.ID, "\x00\x00\x00\x00\x07")
			c.Head(r, endHeaders, "200").Frame(0xbb, 0, r.ID, "").Data(r.ID, endStream, "some")
		}, status: 200, content: "some", length: 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			method := tt.method
			if method == "" {
				method = "GET"
			}
			p := newH2Peer(t)
			hc := p.client()
			c := p.greeted(hc)
			call := startCall(t, hc.Do, method, p.URL("/"))
			r := c.Whole()
			tt.send(c, r)
			c.Flush()
			resp := call.is(tt.status, tt.content)
			if got := resp.Header.ContentLength(); got != tt.length && tt.status != 204 && !(got <= 0 && tt.length == 0) {
				t.Errorf("the Content-Length is %d, want %d", got, tt.length)
			}
			if got := string(resp.Header.PeekTrailer("X-End")); got != tt.trailer || resp.Header.Peek("X-End") != nil {
				t.Errorf("X-End is %q, want %q", got, tt.trailer)
			}
			call = startCall(t, hc.Do, method, p.URL("/"), asStream)
			r = c.Whole()
			finished := make(chan error, 1)
			go func() { finished <- readStream(call, tt.content, tt.trailer) }()
			tt.send(c, r) // the windows may wait for the reader
			c.Flush()
			if err := servertest.Receive(t, "the end of the stream", finished); err != nil || call.resp.StatusCode() != tt.status {
				t.Errorf("stream: %d, %v", call.resp.StatusCode(), err)
			}
			next := p.get(hc, "/next")
			c.Serve()
			next.is(200, "/next")
			p.HasAccepted(1)
		})
	}
}

// readStream reads the response of a call to its end, and checks it.
func readStream(call *h2Call, want, trailer string) error {
	if err := call.wait(); err != nil {
		return err
	}
	content, err := io.ReadAll(streamOf(call.resp))
	if string(content) != want || err != nil {
		return fmt.Errorf("the stream has %d bytes, %w, want %d", len(content), err, len(want))
	}
	if got := string(call.resp.Header.PeekTrailer("X-End")); got != trailer {
		return fmt.Errorf("X-End behind the stream is %q, want %q", got, trailer)
	}
	return call.resp.CloseBodyStream()
}

// streamOf returns the stream of a response, or a reader of the body if all content has
// arrived.
func streamOf(resp *fasthttp.Response) io.Reader {
	if resp.IsBodyStream() {
		return resp.BodyStream()
	}
	return strings.NewReader(string(resp.Body()))
}

// TestHTTP2ClientRejectsResponses has malformed responses: the call fails, its stream is
// reset, and the connection stays open.
func TestHTTP2ClientRejectsResponses(t *testing.T) {
	t.Parallel()
	head := func(fields ...string) func(c *h2Side, r *h2Request) {
		return func(c *h2Side, r *h2Request) { c.Headers(r.ID, whole, fields...) }
	}
	for name, send := range map[string]func(c *h2Side, r *h2Request){
		"less than the length": func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200", "content-length: 5").Data(r.ID, endStream, "some")
		},
		"more than the length": func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200", "content-length: 3").Data(r.ID, endStream, "some")
		},
		"a length and no content": func(c *h2Side, r *h2Request) { c.Head(r, whole, "200", "content-length: 5") },
		"a length and trailers": func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200", "content-length: 5").Headers(r.ID, whole, "x-end: yes")
		},
		"two lengths": func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200", "content-length: 4", "content-length: 5").Data(r.ID, endStream, "some")
		},
		"a bad length": func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "200", "content-length: 4x").Data(r.ID, endStream, "some")
		},
		"content of 204":             func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "204").Data(r.ID, endStream, "some") },
		"content of 304":             func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "304").Data(r.ID, endStream, "some") },
		"content before the head":    func(c *h2Side, r *h2Request) { c.Data(r.ID, endStream, "some") },
		"an interim end":             func(c *h2Side, r *h2Request) { c.Head(r, whole, "103") },
		"content after 103":          func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "103").Data(r.ID, 0, "some") },
		"101":                        func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "101") },
		"trailers with no end":       func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "200").Headers(r.ID, endHeaders, "x-end: yes") },
		"trailers with a status":     func(c *h2Side, r *h2Request) { c.Head(r, endHeaders, "200").Headers(r.ID, whole, ":status: 200") },
		"no status":                  head("x: y"),
		"a bad status":               head(":status: 2000"),
		"a status that is none":      head(":status: ok"),
		"a status below 100":         head(":status: 099"),
		"two statuses":               head(":status: 200", ":status: 200"),
		"a late status":              head("x: y", ":status: 200"),
		"a pseudo-field of requests": head(":status: 200", ":path: /"),
		"an upper-case name":         head(":status: 200", "X: y"),
		"a name with a space":        head(":status: 200", "x y: z"),
		"a line in a value":          head(":status: 200", "x: y\r\nz: a"),
		"a NUL in a value":           head(":status: 200", "x: y\x00"),
		"Connection":                 head(":status: 200", "connection: close"),
		"Transfer-Encoding":          head(":status: 200", "transfer-encoding: chunked"),
		"Upgrade":                    head(":status: 200", "upgrade: h2c"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t)
			hc := p.client()
			c := p.greeted(hc)
			for _, stream := range []bool{false, true} {
				call := startCall(t, hc.Do, "GET", p.URL("/"), func(_ *fasthttp.Request, resp *fasthttp.Response) { resp.StreamBody = stream })
				r := c.Whole()
				send(c, r)
				c.Flush()
				err := call.wait()
				if err == nil && stream {
					_, err = io.ReadAll(streamOf(call.resp))
					_ = call.resp.CloseBodyStream()
				}
				// a known empty stream ends with the head
				if err == nil && stream && strings.HasPrefix(name, "content of") && call.resp.StatusCode() >= 204 && len(call.resp.Body()) == 0 {
					err = io.ErrUnexpectedEOF
				}
				if err == nil {
					t.Errorf("stream %v: the call succeeds with %d %q", stream, call.resp.StatusCode(), call.resp.Body())
				} else if !strings.HasPrefix(err.Error(), "fasthttp: ") && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("stream %v: got %v", stream, err)
				}
				next := p.get(hc, "/next")
				c.Serve()
				next.is(200, "/next")
				if len(c.Order) > c.Taken {
					t.Error("the request was sent again")
				}
			}
			p.HasAccepted(1)
		})
	}
}

// TestHTTP2ClientLimitsBodies has responses of more than MaxResponseBodySize.
func TestHTTP2ClientLimitsBodies(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	hc.MaxResponseBodySize = 1000
	c := p.greeted(hc)
	for _, fields := range [][]string{nil, {"content-length: 1001"}} {
		call := p.get(hc, "/")
		r := c.Whole()
		c.Head(r, endHeaders, "200", fields...).Data(r.ID, 0, numbered(1001)).Flush()
		call.fails(fasthttp.ErrBodyTooLarge)
		c.ExpectReset(r, http2.ErrCodeCancel)
	}
	call := p.get(hc, "/")
	c.Respond(c.Whole(), "200", numbered(1000))
	call.is(200, numbered(1000))
	// a stream is not limited
	call = p.stream(hc, "/")
	c.Respond(c.Whole(), "200", numbered(5000))
	call.is(200, "")
	if got, err := io.ReadAll(call.resp.BodyStream()); len(got) != 5000 || err != nil {
		t.Errorf("the stream has %d bytes, %v", len(got), err)
	}
	servertest.Must(t, call.resp.CloseBodyStream())
}

// TestHTTP2ClientEarlyAnswers has servers that answer before they have the content.
func TestHTTP2ClientEarlyAnswers(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer func(c *h2Side, r *h2Request)
		resets bool // the server resets the stream
	}{
		"alone": {func(c *h2Side, r *h2Request) { c.Respond(r, "413", "too large") }, false},
		"and a reset": {func(c *h2Side, r *h2Request) {
			c.Respond(r, "413", "too large")
			c.Reset(r.ID, http2.ErrCodeNo).Flush()
		}, true},
		"and a reset at once": {func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "413").Data(r.ID, endStream, "too large").Reset(r.ID, http2.ErrCodeNo).Flush()
		}, true},
		"trailers and a reset": {func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "413").Data(r.ID, 0, "too large").Headers(r.ID, whole, "x-end: y").Reset(r.ID, http2.ErrCodeNo).Flush()
		}, true},
		"a hint before": {func(c *h2Side, r *h2Request) {
			c.Head(r, endHeaders, "103")
			c.Respond(r, "413", "too large")
			c.Reset(r.ID, http2.ErrCodeNo).Flush()
		}, true},
	} {
		for form, set := range h2Contents {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				p := newH2Peer(t)
				hc := p.client()
				c := p.greeted(hc, initialWindow, 10)
				for _, stream := range []bool{false, true} {
					call := startCall(t, hc.Do, "POST", p.URL("/"), func(req *fasthttp.Request, resp *fasthttp.Response) {
						set(req, numbered(100_000))
						resp.StreamBody = stream
					})
					r := c.Request()
					c.Until("a part of the content", func() bool { return len(r.Content) == 10 })
					tt.answer(c, r)
					resp := call.is(413, "too large")
					if content, err := io.ReadAll(streamOf(resp)); string(content) != "too large" || err != nil {
						t.Errorf("got %q, %v", content, err)
					}
					servertest.Must(t, resp.CloseBodyStream())
					if !tt.resets {
						c.Until("a reset", func() bool { return r.Reset != nil })
					}
					// no more content is sent
					c.Window(r.ID, 1000).Flush()
					c.Sync()
					if len(r.Content) > 10 {
						t.Errorf("%d bytes came after the response", len(r.Content)-10)
					}
					next := p.get(hc, "/next")
					c.Serve()
					next.is(200, "/next")
				}
				p.HasAccepted(1)
			})
		}
	}
}

// TestHTTP2ClientDoesNotTakeAResetForAnEnd resets a stream before the response is whole.
func TestHTTP2ClientDoesNotTakeAResetForAnEnd(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	for _, code := range []http2.ErrCode{http2.ErrCodeNo, http2.ErrCodeInternal, http2.ErrCodeCancel, 77} {
		for _, stream := range []bool{false, true} {
			call := startCall(t, hc.Do, "POST", p.URL("/"), func(req *fasthttp.Request, resp *fasthttp.Response) { resp.StreamBody = stream })
			r := c.Whole()
			c.Head(r, endHeaders, "200").Data(r.ID, 0, "some").Reset(r.ID, code).Flush()
			err := call.wait()
			if err == nil && stream {
				_, err = io.ReadAll(call.resp.BodyStream())
				_ = call.resp.CloseBodyStream()
			}
			if err == nil || code != 77 && !strings.Contains(err.Error(), code.String()) {
				t.Errorf("%v, stream %v: got %v", code, stream, err)
			}
		}
	}
	expectNoRequest(c)
	p.HasAccepted(1)
}

// TestHTTP2ClientExpects asks the server before it sends content.
func TestHTTP2ClientExpects(t *testing.T) {
	t.Parallel()
	for form, set := range h2Contents {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			p := newH2Peer(t)
			hc := p.client()
			hc.ExpectContinueTimeout = servertest.Never
			c := p.greeted(hc)
			expecting := func() (*h2Call, *h2Request) { return startExpecting(t, p, hc, c, set) }
			call, r := expecting()
			c.Head(r, endHeaders, "103").Flush()
			c.Sync()
			if len(r.Content) > 0 {
				t.Errorf("%d bytes came after 103", len(r.Content))
			}
			c.Head(r, endHeaders, "100").Flush()
			c.EndOf(r)
			c.Respond(r, "200", string(r.Content))
			call.is(200, "some")

			// a server that asks for the content and begins to answer
			call, r = expecting()
			c.Head(r, endHeaders, "100").Head(r, endHeaders, "200").Flush()
			c.EndOf(r)
			c.Data(r.ID, endStream, string(r.Content)).Flush()
			call.is(200, "some")

			// a server that begins to answer without asking, and reads
			call, r = expecting()
			c.Head(r, endHeaders, "200").Flush()
			c.EndOf(r)
			c.Data(r.ID, endStream, string(r.Content)).Flush()
			call.is(200, "some")

			for _, stream := range []bool{false, true} {
				hc.StreamResponseBody = stream
				call, r = expecting()
				c.Head(r, endHeaders, "417").Flush()
				c.Sync()
				c.Data(r.ID, endStream, "no").Flush()
				resp := call.is(417, "no")
				if content, err := io.ReadAll(streamOf(resp)); string(content) != "no" || err != nil {
					t.Errorf("got %q, %v", content, err)
				}
				servertest.Must(t, resp.CloseBodyStream())
				c.Until("the end", func() bool { return r.Reset != nil || r.Ended })
				if len(r.Content) > 0 {
					t.Errorf("stream %v: %d bytes came after the response", stream, len(r.Content))
				}
			}
			p.HasAccepted(1)
		})
		withH2Peer(t, form+" unasked", func(t testing.TB, p *h2Peer) {
			hc := p.client()
			hc.ExpectContinueTimeout = h2Limit
			c := p.greeted(hc)
			call, r := startExpecting(t, p, hc, c, set)
			c.EndOf(r)
			c.Head(r, endHeaders, "100")
			c.Respond(r, "200", string(r.Content))
			call.is(200, "some")
		})
	}
}

// startExpecting begins a call that asks the server before it sends content, and checks that no
// content has arrived with its head.
func startExpecting(t testing.TB, p *h2Peer, hc *fasthttp.HostClient, c *h2Side, set func(req *fasthttp.Request, text string)) (*h2Call, *h2Request) {
	t.Helper()
	call := startCall(t, hc.Do, "POST", p.URL("/"), func(req *fasthttp.Request, _ *fasthttp.Response) {
		req.Header.Set("Expect", "100-continue")
		set(req, "some")
	})
	r := c.Request()
	if r.Field("expect") != "100-continue" {
		t.Errorf("the fields are %v", r.Fields())
	}
	c.Sync()
	if len(r.Content) > 0 || r.Ended {
		t.Errorf("%d bytes came unasked", len(r.Content))
	}
	return call, r
}

// TestHTTP2ClientTellsOfHints has informational responses, for which the hooks of the trace
// are called.
func TestHTTP2ClientTellsOfHints(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	var got []string
	hc.Trace = &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		got = append(got, fmt.Sprint(code, " ", h.Get("Link")))
		return nil
	}}
	c := p.greeted(hc)
	call := p.get(hc, "/")
	r := c.Whole()
	c.Head(r, endHeaders, "103", "link: </a>").Head(r, endHeaders, "102").Head(r, endHeaders, "103", "link: </b>")
	c.Respond(r, "200", "well")
	call.is(200, "well")
	if text := strings.Join(got, ", "); text != "103 </a>, 102 , 103 </b>" {
		t.Errorf("the trace was told of %s", text)
	}
	if call.resp.Header.Peek("Link") != nil {
		t.Error("a field of a hint is in the response")
	}
}

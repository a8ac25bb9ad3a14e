package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestBodyUncompressedUndoesCodingsInTurn(t *testing.T) {
	content := servertest.SampleText(3_000)
	gz, br := AppendGzipBytes(nil, content), AppendBrotliBytes(nil, content)
	for _, c := range []struct {
		encoding string
		body     []byte
		want     error
	}{
		{"", content, nil},
		{"identity", content, nil},
		{"gzip", gz, nil},
		{"GZIP", gz, nil},
		{" x-gzip ", gz, nil},
		{"br", br, nil},
		{"zstd", AppendZstdBytes(nil, content), nil},
		{"deflate", AppendDeflateBytes(nil, content), nil},
		{"identity, gzip,", gz, nil},
		{"gzip, br", AppendBrotliBytes(nil, gz), nil},
		{"br,gzip", AppendGzipBytes(nil, br), nil},
		{"gzip, gzip, gzip, gzip", AppendGzipBytes(nil, AppendGzipBytes(nil, AppendGzipBytes(nil, gz))), nil},
		{"gzip, gzip, gzip, gzip, gzip", gz, ErrContentEncodingUnsupported},
		{"compress", gz, ErrContentEncodingUnsupported},
		{"gzip, foo", gz, ErrContentEncodingUnsupported},
		{"gzip;q=1", gz, ErrContentEncodingUnsupported},
		// as in the response to a HEAD request
		{"gzip", nil, nil},
	} {
		want := content
		if len(c.body) == 0 {
			want = nil
		}
		if c.want != nil {
			want = nil
		}
		for name, decode := range map[string]func() ([]byte, error){
			"response":       responseWith(c.encoding, c.body).BodyUncompressed,
			"request":        requestWith(c.encoding, c.body).BodyUncompressed,
			"limited":        func() ([]byte, error) { return responseWith(c.encoding, c.body).BodyUncompressedWithLimit(3_000) },
			"with no limit":  func() ([]byte, error) { return requestWith(c.encoding, c.body).BodyUncompressedWithLimit(0) },
			"negative limit": func() ([]byte, error) { return requestWith(c.encoding, c.body).BodyUncompressedWithLimit(-1) },
		} {
			if got, err := decode(); !errors.Is(err, c.want) || !bytes.Equal(got, want) {
				t.Errorf("%s, %q: %d bytes, %v", name, c.encoding, len(got), err)
			}
		}
		if c.want != nil || len(c.body) == 0 {
			continue
		}
		if got, err := responseWith(c.encoding, c.body).BodyUncompressedWithLimit(2_999); err != ErrBodyTooLarge || got != nil {
			t.Errorf("%q over the limit: %d bytes, %v", c.encoding, len(got), err)
		}
	}
}

func TestBodyUncompressedReadsAllFieldsOfARequest(t *testing.T) {
	content := servertest.SampleText(3_000)
	req := requestWith("", AppendBrotliBytes(nil, AppendGzipBytes(nil, content)))
	req.Header.Add(HeaderContentEncoding, "gzip")
	req.Header.Add(HeaderContentEncoding, "br")
	if got, err := req.BodyUncompressed(); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// RFC 9110 section 5.3: several lines of a field that is a list are one list.
func TestContentEncodingLinesOfAResponseAreOneList(t *testing.T) {
	content := servertest.SampleText(3_000)
	encoded := string(AppendBrotliBytes(nil, AppendGzipBytes(nil, content)))
	for _, c := range []struct{ lines, want string }{
		{"Content-Encoding: gzip\r\nContent-Encoding: br\r\n", "gzip, br"},
		{"Content-Encoding: gzip\r\nServer: a\r\nX: 1\r\ncontent-encoding:br\r\nEtag: 1\r\n", "gzip, br"},
		{"content-encoding: identity \r\nX-Long: " + strings.Repeat("a", 100) + "\r\nCONTENT-ENCODING: gzip\r\nContent-Encoding: br\r\n", "identity, gzip, br"},
		{"Content-Encoding:\r\nContent-Encoding: gzip, br\r\n", "gzip, br"},
		{"Content-Encoding: gzip, br\r\nContent-Encoding:\r\n", "gzip, br"},
	} {
		wire := "HTTP/1.1 200 OK\r\n" + c.lines + "Content-Length: " + string(AppendUint(nil, len(encoded))) + "\r\n\r\n" + encoded
		for name, r := range map[string]io.Reader{
			"at once":      strings.NewReader(wire),
			"byte by byte": iotest.OneByteReader(strings.NewReader(wire)),
		} {
			var resp Response
			if err := resp.Read(bufio.NewReader(r)); err != nil {
				t.Fatalf("%q %s: %v", c.lines, name, err)
			}
			h := &resp.Header
			if got := string(h.ContentEncoding()); got != c.want {
				t.Errorf("%q %s: Content-Encoding is %q", c.lines, name, got)
			}
			if all := h.PeekAll(HeaderContentEncoding); len(all) != 1 || string(all[0]) != c.want {
				t.Errorf("%q %s: all are %q", c.lines, name, all)
			}
			if got := h.String(); !strings.Contains(got, "\r\nContent-Encoding: "+c.want+"\r\n") || strings.Count(strings.ToLower(got), "content-encoding") != 1 {
				t.Errorf("%q %s: the head is written as %q", c.lines, name, got)
			}
			if got, err := resp.BodyUncompressed(); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%q %s: %d bytes, %v", c.lines, name, len(got), err)
			}
			if h.SetContentEncoding("zstd"); strings.Count(strings.ToLower(h.String()), "content-encoding") != 1 {
				t.Errorf("%q %s: set, it is written as %q", c.lines, name, h.String())
			}
			if h.Del(HeaderContentEncoding); strings.Contains(strings.ToLower(h.String()), "content-encoding") {
				t.Errorf("%q %s: deleted, it is written as %q", c.lines, name, h.String())
			}
		}
	}
}

func TestClientsKeepAllContentEncodings(t *testing.T) {
	content := servertest.SampleText(3_000)
	encoded := AppendBrotliBytes(nil, AppendGzipBytes(nil, content))
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Encoding"] = []string{"gzip", "br"}
		_, _ = w.Write(encoded)
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	defer s.Close()
	for _, http2 := range []bool{false, true} {
		c := &Client{}
		defer c.CloseIdleConnections()
		c.Protocols.SetHTTP1(!http2)
		c.Protocols.SetUnencryptedHTTP2(http2)
		var req Request
		var resp Response
		req.SetRequestURI(s.URL)
		if err := c.Do(&req, &resp); err != nil {
			t.Fatalf("HTTP/2 %v: %v", http2, err)
		}
		if got := string(resp.Header.ContentEncoding()); got != "gzip, br" {
			t.Errorf("HTTP/2 %v: Content-Encoding is %q", http2, got)
		}
		if got, err := resp.BodyUncompressed(); err != nil || !bytes.Equal(got, content) {
			t.Errorf("HTTP/2 %v: %d bytes, %v", http2, len(got), err)
		}
	}
}

func TestDecodingLeavesTheBodyAsItIs(t *testing.T) {
	content := servertest.SampleText(3_000)
	for _, h := range allHelpers {
		encoded := h.append(nil, content)
		resp, req := &Response{}, &Request{}
		resp.SetBodyStream(bytes.NewReader(encoded), len(encoded))
		req.SetBodyStream(iotest.OneByteReader(bytes.NewReader(encoded)), -1)
		for range 2 {
			got, err := h.body(resp)
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s: %d bytes, %v", h.coding, len(got), err)
			}
			clear(got)
			got, err = h.requestLimit(req, len(content))
			if err != nil || !bytes.Equal(got, content) {
				t.Errorf("%s of a request: %d bytes, %v", h.coding, len(got), err)
			}
		}
		if !bytes.Equal(resp.Body(), encoded) || !bytes.Equal(req.Body(), encoded) {
			t.Errorf("%s: the body has changed", h.coding)
		}
	}
}

func TestDecodingABrokenStreamTellsItsError(t *testing.T) {
	broken := errors.New("broken")
	for _, h := range allHelpers {
		resp, req := &Response{}, &Request{}
		resp.SetBodyStream(iotest.ErrReader(broken), -1)
		req.SetBodyStream(iotest.ErrReader(broken), -1)
		if _, err := h.body(resp); err != broken {
			t.Errorf("%s: %v", h.coding, err)
		}
		if _, err := h.requestBody(req); err != broken {
			t.Errorf("%s of a request: %v", h.coding, err)
		}
		resp.SetBodyStream(iotest.ErrReader(broken), -1)
		if _, err := resp.BodyUncompressed(); err != broken {
			t.Errorf("by header: %v", err)
		}
	}
}

// TestBodiesDecodeToNoMoreThanTheyMayHave checks known failure 41: the limit with which a body
// was read also applies to its decoded content.
func TestBodiesDecodeToNoMoreThanTheyMayHave(t *testing.T) {
	for _, h := range allHelpers {
		encoded := h.append(nil, make([]byte, 10_001))
		wire := "Content-Encoding: " + h.coding.String() + "\r\nContent-Length: " + string(AppendUint(nil, len(encoded))) + "\r\n\r\n" + string(encoded)
		for limit, want := range map[int]error{10_000: ErrBodyTooLarge, 10_001: nil, 0: nil} {
			var resp Response
			if err := resp.ReadLimitBody(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n"+wire)), limit); err != nil {
				t.Fatal(err)
			}
			var req Request
			if err := req.ReadLimitBody(bufio.NewReader(strings.NewReader("POST / HTTP/1.1\r\nHost: a\r\n"+wire)), limit); err != nil {
				t.Fatal(err)
			}
			streamed := Response{StreamBody: true}
			if err := streamed.ReadLimitBody(bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\n"+wire)), limit); err != nil {
				t.Fatal(err)
			}
			var copied Response
			resp.CopyTo(&copied)
			var copiedReq Request
			req.CopyTo(&copiedReq)
			for name, decode := range map[string]func() ([]byte, error){
				"response": func() ([]byte, error) { return h.body(&resp) },
				"request":  func() ([]byte, error) { return h.requestBody(&req) },
				"header":   req.BodyUncompressed,
				"stream":   streamed.BodyUncompressed,
				"copy":     copied.BodyUncompressed,
				"copied":   copiedReq.BodyUncompressed,
			} {
				if got, err := decode(); err != want || err == nil && len(got) != 10_001 {
					t.Errorf("%s, %s, limit %d: %d bytes, %v", h.coding, name, limit, len(got), err)
				}
			}
			resp.Reset()
			resp.SetBody(encoded)
			if got, err := h.body(&resp); err != nil || len(got) != 10_001 {
				t.Errorf("%s: the application's own body is limited like a received one: %d bytes, %v", h.coding, len(got), err)
			}
			if got, err := h.bodyLimit(&copied, 20_000); err != nil || len(got) != 10_001 {
				t.Errorf("%s: an explicit limit does not count: %d bytes, %v", h.coding, len(got), err)
			}
		}
	}
}

func TestEncodedStreamsEncodeWhatTheyRead(t *testing.T) {
	text := servertest.SampleText(200_000)
	for _, h := range allHelpers {
		for name, r := range map[string]io.Reader{
			"whole":     bytes.NewReader(text),
			"one byte":  iotest.OneByteReader(bytes.NewReader(text[:1000])),
			"early end": iotest.DataErrReader(bytes.NewReader(text)),
			"nothing":   bytes.NewReader(nil),
		} {
			src := &servertest.CloseRecorder{Reader: r}
			b := content.Body{Stream: src, Size: -1}
			b.EncodeStream(h.coding, h.levels[0])
			want := text
			switch name {
			case "one byte":
				want = text[:1000]
			case "nothing":
				want = nil
			}
			s := b.Stream.(*bodyio.Encoded)
			encoded, err := io.ReadAll(iotest.HalfReader(s))
			if err != nil {
				t.Fatalf("%s, %s: %v", h.coding, name, err)
			}
			if s.Holds() {
				t.Errorf("%s, %s: the encoder is held after the end", h.coding, name)
			}
			if got, err := h.appendPlain(nil, encoded); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, %s: %d bytes, %v", h.coding, name, len(got), err)
			}
			if err := b.CloseStream(); err != nil || src.Closed != 1 {
				t.Errorf("%s, %s: closed %d times, %v", h.coding, name, src.Closed, err)
			}
		}
	}
}

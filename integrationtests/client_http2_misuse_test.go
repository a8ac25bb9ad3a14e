package integrationtests

import (
	"io"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
)

// TestHTTP2ClientAnsweredForms has a server answer a form before it has taken all of it. The
// form is read from memory of the request, so that the call cannot return before the sending
// has ended; it must not wait for a window that nobody reads.
func TestHTTP2ClientAnsweredForms(t *testing.T) {
	t.Parallel()
	p := newH2Peer(t)
	hc := p.client()
	c := p.greeted(hc)
	call := startCall(t, hc.Do, "POST", p.url("/"), asStream, func(req *fasthttp.Request, _ *fasthttp.Response) {
		text := "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n" + numbered(200_000) + "\r\n--b--\r\n"
		req.Header.SetContentType("multipart/form-data; boundary=b")
		req.SetBodyStream(strings.NewReader(text), -1)
		if _, err := req.MultipartForm(); err != nil {
			t.Error(err)
		}
	})
	r := c.request()
	c.head(r, endHeaders, "200").flush()
	resp := call.is(200, "")
	c.data(r.id, endStream, "well").flush()
	if b, err := io.ReadAll(resp.BodyStream()); string(b) != "well" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	c.expectReset(r, http2.ErrCodeCancel)
	if text := string(r.content); strings.Trim(text, "\x00") != text || strings.Contains(text, "\xdb") {
		t.Error("the server got other bytes than those of the form")
	}
}

package fasthttpadaptor

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// ConvertNetHTTPRequestToFastHTTPRequest copies the request r to req, for a client or a
// handler of fasthttp. It does not reset req first.
//
// The body is not copied: r.Body becomes the body stream of req, so the caller must not use it
// until req is done with it. The trailers are taken from r after the end of the body. The
// fields of the struct r determine the framing of the body, as in http.Request.Write, and
// r.Header never does. The size is r.ContentLength; the body is sent in chunks if that is 0 or
// less, if r.TransferEncoding names chunked, or if r has trailers. If the body is longer than
// its size, writing fails, and the excess is not sent. Only these bodies are empty: nil,
// http.NoBody, and the body of a request that a server has received over HTTP/2 with
// r.ContentLength 0.
//
// The target is r.RequestURI or, if that is empty, the target of r.URL. For CONNECT
// without a path it is the authority. The host is r.Host or, if that is empty, the host
// of r.URL. An absolute target stays absolute until req.URI is called; that happens
// here for schemes other than http. The user of r.URL becomes an Authorization field if
// r.Header has none, and is never part of the target.
//
// No Content-Type is added. Versions above HTTP/1.1, and older ones if chunks are
// needed, become HTTP/1.1. Fields that must not be trailers are left out of the
// trailers; without a body there are none. r.RemoteAddr has no counterpart. Of r.TLS
// only the scheme is kept.
func ConvertNetHTTPRequestToFastHTTPRequest(r *http.Request, req *fasthttp.Request) {
	u := r.URL
	if u == nil {
		u = new(url.URL)
	}
	h := &req.Header
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	h.SetMethod(method)
	host := r.Host
	if host == "" {
		host = u.Host
	}
	target, changed := targetOf(r, u, method, host)
	req.SetRequestURI(target)
	h.SetHost(host)
	for name, values := range r.Header {
		switch name {
		case "Host", "Content-Length", "Transfer-Encoding", "Trailer":
			continue
		}
		for _, value := range values {
			h.Add(name, value)
		}
	}
	if _, ok := r.Header["Content-Type"]; !ok {
		h.SetNoDefaultContentType(true)
	}
	if _, ok := r.Header["Authorization"]; !ok && u.User != nil {
		password, _ := u.User.Password()
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	chunked := attachBody(r, req)
	old := r.ProtoMajor == 1 && r.ProtoMinor == 0 || r.Proto == noVersion
	if old && !chunked {
		h.SetProtocol("HTTP/1.0")
	} else {
		h.SetProtocol("HTTP/1.1")
	}
	if r.Close {
		req.SetConnectionClose()
	}
	scheme := u.Scheme
	if scheme == "" && r.TLS != nil {
		scheme = "https"
	}
	if method != http.MethodConnect && (changed || scheme != "" && scheme != "http") {
		if scheme != "" {
			req.URI().SetScheme(scheme)
		}
	}
}

// targetOf returns the target of the request without credentials, and reports whether
// it had credentials.
func targetOf(r *http.Request, u *url.URL, method, host string) (target string, changed bool) {
	target = r.RequestURI
	if method == http.MethodConnect {
		switch {
		case target == "" && u.Path != "":
			target = u.RequestURI()
		case target == "" && u.Opaque != "":
			target = u.Opaque
		case target == "":
			target = host
		}
		if at := strings.LastIndexByte(target, '@'); at >= 0 && !strings.HasPrefix(target, "/") {
			return target[at+1:], true
		}
		return target, false
	}
	if target == "" {
		return u.RequestURI(), false
	}
	if strings.HasPrefix(target, "/") || !strings.Contains(target, "@") {
		return target, false
	}
	absolute, err := url.Parse(target)
	if err != nil || absolute.User == nil {
		return target, false
	}
	return absolute.RequestURI(), true
}

// attachBody gives req the body and the trailers of r, and reports whether they need chunks.
func attachBody(r *http.Request, req *fasthttp.Request) (chunked bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return false
	}
	size := -1
	coded := len(r.TransferEncoding) > 0 && strings.EqualFold(r.TransferEncoding[len(r.TransferEncoding)-1], "chunked")
	if r.ProtoMajor > 1 && r.RequestURI != "" && r.ContentLength == 0 && !coded && len(r.Trailer) == 0 {
		// a server of HTTP/2 gives each request a body, and knows its size
		return false
	}
	if r.ContentLength > 0 && !coded && len(r.Trailer) == 0 {
		size = int(r.ContentLength)
	}
	for name := range r.Trailer {
		// fields that must not be trailers are left out
		_ = req.Header.AnnounceTrailer(name)
	}
	req.SetBodyStream(&netBody{r: r, add: req.Header.AddTrailerField}, size)
	return size < 0
}

// netBody is the body of a net/http request that was converted to a fasthttp request.
type netBody struct {
	r     *http.Request
	add   func(name, value string) error // adds a trailer of the request that has the body
	begun atomic.Bool                    // Read was called
	ended bool
}

// TrailersTo adds the trailers to another request: a TimeoutHandler passes a separate request
// to its handler.
func (b *netBody) TrailersTo(add func(name, value string) error) { b.add = add }

// Read implements io.Reader.
func (b *netBody) Read(p []byte) (int, error) {
	b.begun.Store(true)
	n, err := b.r.Body.Read(p)
	if err == io.EOF {
		// a received request has its trailers only after the body
		b.addTrailers()
	}
	return n, err
}

// Close implements io.Closer.
func (b *netBody) Close() error { return b.r.Body.Close() }

// closeAnswered closes the body of a request whose response was sent, except for its end. If
// net/http looks for the end of a body after the handler of a full duplex response, it panics when
// it reads the next request of the connection.
//
// Two bodies are left to net/http, because a client may send their rest only after the end of the
// response: one of unknown size that is being read, and one for which 100 (Continue) is expected.
func (b *netBody) closeAnswered() {
	if b.r.ProtoMajor == 1 && b.r.Header.Get("Expect") == "" && (b.r.ContentLength >= 0 || !b.begun.Load()) {
		_ = b.r.Body.Close()
	}
}

// addTrailers adds the trailers of the request, once. It does not change fields of the header
// section, even those with the same names.
func (b *netBody) addTrailers() {
	if b.ended {
		return
	}
	b.ended = true
	for name, values := range b.r.Trailer {
		for _, value := range values {
			// fields that must not be trailers are left out
			_ = b.add(name, value)
		}
	}
}

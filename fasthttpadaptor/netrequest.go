package fasthttpadaptor

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"
)

// ConvertNetHTTPRequestToFastHTTPRequest makes req the request r, for a client
// or a handler of fasthttp. req is not reset first.
//
// The body is not copied: req gets r.Body as its body stream, so r.Body is not
// the caller's until req is done with it, and trailers are those that r has when
// the body has ended. What frames the body comes from the fields of r, as in
// http.Request.Write, and never from r.Header: its size is r.ContentLength, and
// it is sent in chunks where that is 0 or less, where r.TransferEncoding says
// so, and where r has trailers. A body longer than its size makes writing fail;
// what is beyond is not sent. Only a nil body and http.NoBody are empty.
//
// The target is r.RequestURI, else what r.URL says; for CONNECT without a path
// it is the authority. The host is r.Host, else that of r.URL. An absolute
// target stays one until req.URI is called, which happens here for other schemes
// than http. The user of r.URL becomes an Authorization field where r.Header has
// none, and is never part of the target.
//
// No Content-Type is made up. Versions over HTTP/1.1, and older ones where chunks
// are needed, become HTTP/1.1. Trailers that must not be ones are left out, as
// are all without a body. r.RemoteAddr has no counterpart; of r.TLS, only the
// scheme.
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

// targetOf returns the target of the request, without credentials, and whether
// it had some.
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

// attachBody gives the body and the trailers of r to req, and reports whether they
// need chunks.
func attachBody(r *http.Request, req *fasthttp.Request) (chunked bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return false
	}
	size := -1
	coded := len(r.TransferEncoding) > 0 && strings.EqualFold(r.TransferEncoding[len(r.TransferEncoding)-1], "chunked")
	if r.ContentLength > 0 && !coded && len(r.Trailer) == 0 {
		size = int(r.ContentLength)
	}
	for name := range r.Trailer {
		// what must not be a trailer is none
		_ = req.Header.AnnounceTrailer(name)
	}
	req.SetBodyStream(&netBody{r: r, add: req.Header.AddTrailerField}, size)
	return size < 0
}

// netBody is the body of a request on its way from net/http to fasthttp.
type netBody struct {
	r     *http.Request
	add   func(name, value string) error // adds a trailer of the request that has the body
	ended bool
}

// TrailersTo has the trailers become those of another request: a TimeoutHandler gives
// its handler one of its own.
func (b *netBody) TrailersTo(add func(name, value string) error) { b.add = add }

// Read implements io.Reader.
func (b *netBody) Read(p []byte) (int, error) {
	n, err := b.r.Body.Read(p)
	if err == io.EOF {
		// the trailers of a request that is being received are there only now
		b.addTrailers()
	}
	return n, err
}

// Close implements io.Closer.
func (b *netBody) Close() error { return b.r.Body.Close() }

// addTrailers adds the trailers of the request, once. Fields of the header section
// are not touched, whatever they are called.
func (b *netBody) addTrailers() {
	if b.ended {
		return
	}
	b.ended = true
	for name, values := range b.r.Trailer {
		for _, value := range values {
			// what must not be a trailer is none
			_ = b.add(name, value)
		}
	}
}

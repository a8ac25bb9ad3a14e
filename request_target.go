package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/http1"
)

// URI returns the URI of the request: its target, made complete by the Host
// field. Changing it changes the request that is sent.
func (req *Request) URI() *URI {
	_ = req.parseURI()
	return &req.uri
}

func (req *Request) parseURI() error {
	if req.uriParsed {
		return req.uri.invalid()
	}
	req.uriParsed = true
	h := &req.Header
	if target := h.target(); h.IsConnect() && http1.IsAuthority(target) {
		// the target is the authority, and nothing else (RFC 9112 section 3.2.3)
		return req.uri.parse(target, strSlash, req.isTLS)
	}
	return req.uri.parse(h.Host(), h.target(), req.isTLS)
}

// SetURI makes the URI of the request a copy of newURI.
func (req *Request) SetURI(newURI *URI) {
	if newURI == nil {
		req.uri.Reset()
		req.uriParsed = false
		return
	}
	newURI.CopyTo(&req.uri)
	req.uriParsed = true
}

// RequestURI returns the target of the request line, "/" by default. Where
// the URI was asked for or changed, it is that of the URI.
func (req *Request) RequestURI() []byte {
	if req.uriParsed {
		req.prepareTarget()
	}
	return req.Header.RequestURI()
}

// prepareTarget takes the target over from the URI, unless it is an authority or
// an asterisk, which are no paths (RFC 9112 sections 3.2.3 and 3.2.4).
func (req *Request) prepareTarget() {
	h := &req.Header
	switch {
	case req.keepsTarget():
	case req.sendsAuthority():
		// what is no host is refused where it is to be the Host
		host, _ := hostField(req.uri.Host())
		h.SetRequestURIBytes(host)
	default:
		if target := req.uri.encodedTarget(); !bytes.Equal(target, h.target()) {
			h.SetRequestURIBytes(target)
		}
	}
}

// sendsAuthority reports whether the request is CONNECT to a host. One that was
// received with a path keeps it.
func (req *Request) sendsAuthority() bool {
	h := &req.Header
	return h.IsConnect() && (h.receivedStart() == nil || h.target()[0] != '/')
}

// keepsTarget reports whether the target is no path, and what the URI was parsed
// from, which was not changed since.
func (req *Request) keepsTarget() bool {
	h := &req.Header
	if h.hasDefaultLine() {
		return false
	}
	noPath := h.IsConnect() && http1.IsAuthority(h.target()) || h.IsOptions() && string(h.target()) == "*"
	return noPath && bytes.Equal(req.uri.PathOriginal(), h.target())
}

// appendHead appends the head as it goes on the wire. The target in the header
// stays what it is: who sends a request again and again sets it each time, and
// it may be longer than what is sent.
func (req *Request) appendHead(dst []byte) []byte {
	if !req.uriParsed {
		return req.Header.AppendBytes(dst)
	}
	if req.again && req.call.proxy == nil && req.Header.hasPathMethod() && !req.uri.text.HasUser() {
		// what nearly all requests are that are sent again and again
		return req.Header.appendBehindTarget(append(req.Header.appendMethod(dst), req.uri.encodedTarget()...))
	}
	kept := req.keepsTarget()
	prepares := req.sendsAuthority() || kept && req.call.proxy == nil
	if prepares {
		req.prepareTarget()
	}
	h := req.sentHeader()
	if prepares {
		dst = h.AppendBytes(dst)
	} else {
		dst = h.appendBehindTarget(req.appendTarget(h.appendMethod(dst), kept))
	}
	req.sent(h)
	return dst
}

// appendTarget appends the target that is sent. With kept it is no path.
func (req *Request) appendTarget(dst []byte, kept bool) []byte {
	if req.call.proxy != nil {
		host, _ := hostField(req.uri.Host())
		dst = append(append(dst, "http://"...), host...)
		if kept {
			// RFC 9112 section 3.2.4: there is no path where the server itself is meant
			return dst
		}
	}
	if req.again {
		return append(dst, req.uri.encodedTarget()...)
	}
	return req.uri.appendRequestURI(dst)
}

// SetRequestURI sets the target of the request: a path with a query, or an
// absolute URI. A URI that was set before, host included, is dropped.
func (req *Request) SetRequestURI(requestURI string) {
	req.Header.SetRequestURI(requestURI)
	req.uriParsed = false
}

// SetRequestURIBytes is SetRequestURI for a byte slice.
func (req *Request) SetRequestURIBytes(requestURI []byte) {
	req.Header.SetRequestURIBytes(requestURI)
	req.uriParsed = false
}

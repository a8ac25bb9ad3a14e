package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/http1"
)

// URI returns the URI of the request: its target, completed by the Host field. A change
// of the URI also changes the sent request.
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
	if target := h.head.Target(); h.IsConnect() && http1.IsAuthority(target) {
		// the target is the authority, and nothing else (RFC 9112 section 3.2.3)
		return req.uri.parse(target, strSlash, req.isTLS)
	}
	err := req.uri.parse(h.Host(), h.head.Target(), req.isTLS)
	if h.head.HasReceivedTarget() {
		req.uri.text.KeepBadEscapes()
	}
	return err
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

// RequestURI returns the target of the request line, "/" by default. If the URI was
// used or set, it is the target of the URI.
func (req *Request) RequestURI() []byte {
	if req.uriParsed {
		req.prepareTarget()
	}
	return req.Header.RequestURI()
}

// prepareTarget sets the target in the header from the URI, unless it is an authority or an
// asterisk, which are not paths (RFC 9112 sections 3.2.3 and 3.2.4).
func (req *Request) prepareTarget() {
	h := &req.Header
	switch {
	case req.keepsTarget():
	case req.sendsAuthority():
		// prepareHost returns the error of an invalid host
		host, _ := hostField(req.uri.Host())
		h.SetRequestURIBytes(host)
	default:
		if target := req.uri.encodedTarget(); !bytes.Equal(target, h.head.Target()) {
			h.SetRequestURIBytes(target)
		}
	}
}

// sendsAuthority reports whether the request is CONNECT to a host. A request that was
// received with a path keeps the path.
func (req *Request) sendsAuthority() bool {
	h := &req.Header
	return h.IsConnect() && (h.head.ReceivedStart() == nil || h.head.Target()[0] != '/') && !h.head.IsExtended()
}

// keepsTarget reports whether the target is not a path, and the URI was parsed from it
// and has not changed.
func (req *Request) keepsTarget() bool {
	h := &req.Header
	if h.head.HasDefaultLine() {
		return false
	}
	noPath := h.IsConnect() && http1.IsAuthority(h.head.Target()) || h.IsOptions() && string(h.head.Target()) == "*"
	return noPath && bytes.Equal(req.uri.PathOriginal(), h.head.Target())
}

// appendHead appends the head as e specifies it. It does not change the target in the header,
// which the application sets for each request, and which may be longer than the sent target.
func (req *Request) appendHead(dst []byte, e http1.Encoding) []byte {
	if !req.uriParsed {
		return req.Header.head.AppendRequest(dst, e)
	}
	if req.call.proxy == nil && req.Header.head.HasPathMethod() && !req.uri.text.HasUser() {
		return req.Header.head.AppendAfterTarget(req.appendPath(req.Header.head.AppendMethod(dst)), e)
	}
	kept := req.keepsTarget()
	prepares := req.sendsAuthority() || kept && req.call.proxy == nil
	if prepares {
		req.prepareTarget()
	}
	h := req.sentHeader()
	if prepares {
		dst = h.head.AppendRequest(dst, e)
	} else {
		dst = h.head.AppendAfterTarget(req.appendTarget(h.head.AppendMethod(dst), kept), e)
	}
	req.sent(h)
	return dst
}

// appendTarget appends the target to send. If kept is set, it is not a path.
func (req *Request) appendTarget(dst []byte, kept bool) []byte {
	if req.call.proxy != nil {
		host, _ := hostField(req.uri.Host())
		dst = append(append(dst, "http://"...), host...)
		if kept {
			// RFC 9112 section 3.2.4: a request to the server itself has no path
			return dst
		}
	}
	return req.appendPath(dst)
}

// appendPath appends the target as it is sent to its host.
func (req *Request) appendPath(dst []byte) []byte {
	if req.sameTarget {
		return append(dst, req.uri.encodedTarget()...)
	}
	return req.uri.appendRequestURI(dst)
}

// SetRequestURI sets the target of the request: a path with a query, or an absolute
// URI. It drops a URI that was set before, including its host.
func (req *Request) SetRequestURI(requestURI string) {
	req.Header.SetRequestURI(requestURI)
	req.uriParsed = false
}

// SetRequestURIBytes is SetRequestURI for a byte slice.
func (req *Request) SetRequestURIBytes(requestURI []byte) {
	req.Header.SetRequestURIBytes(requestURI)
	req.uriParsed = false
}

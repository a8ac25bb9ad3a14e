package fasthttpadaptor

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"
)

// ConvertRequest copies the request of ctx to r. It overwrites all fields of r except
// those without a counterpart: the context and the form fields.
//
// If forServer is set, r is a request for an http.Handler, with RequestURI set. Otherwise r is
// a request for an http.Client.
//
// r shares the body of ctx, which still has it afterwards. If it is a stream (see
// Server.StreamRequestBody), the first Read of r.Body reads all of it into memory, as
// ctx.PostBody does. r.Body must not be read after the handler of ctx has returned. Everything
// else is a copy.
//
// ConvertRequest returns an error if the target of the request is not a URL.
func ConvertRequest(ctx *fasthttp.RequestCtx, r *http.Request, forServer bool) error {
	if err := convertRequest(ctx, r, forServer); err != nil {
		return err
	}
	if body, ok := r.Body.(*requestBody); ok && body.streamed {
		body.src, body.stream, body.shared = nil, nil, true
	}
	return nil
}

// convertRequest is like ConvertRequest, for a caller that is the only reader of the
// body: a stream is read while r.Body is read.
func convertRequest(ctx *fasthttp.RequestCtx, r *http.Request, forServer bool) error {
	h := &ctx.Request.Header
	target := string(h.RequestURI())
	method := string(h.Method())
	u, err := parseTarget(method, target)
	if err != nil {
		return fmt.Errorf("fasthttpadaptor: %w", err)
	}
	r.Method, r.URL = method, u
	r.RequestURI = ""
	if forServer {
		r.RequestURI = target
	}
	r.Proto, r.ProtoMajor, r.ProtoMinor = versionOf(string(h.Protocol()))
	r.RemoteAddr = ctx.RemoteAddr().String()
	r.TLS = ctx.TLSConnectionState()
	r.Close = ctx.Request.ConnectionClose()
	convertFields(h, r)
	// the authority of an absolute target takes precedence over the field (RFC 9112
	// section 3.2.2)
	if u.Host != "" {
		r.Host = u.Host
	}
	convertBody(ctx, r)
	return nil
}

// versionOf returns a protocol as net/http writes it, and its version, which is 1.1 if
// the protocol is invalid. In net/http HTTP/2 and HTTP/3 have the minor version 0. A
// dump of an http.Request without a version has HTTP/0.0, which counts as 1.0.
func versionOf(protocol string) (proto string, major, minor int) {
	switch protocol {
	case "HTTP/2", "HTTP/3":
		protocol += ".0"
	case noVersion:
		return protocol, 1, 0
	}
	major, minor, ok := http.ParseHTTPVersion(protocol)
	if !ok {
		return protocol, 1, 1
	}
	return protocol, major, minor
}

const noVersion = "HTTP/0.0"

// parseTarget parses the target of a request. The target of CONNECT is an authority.
func parseTarget(method, target string) (*url.URL, error) {
	authority := method == http.MethodConnect && !strings.HasPrefix(target, "/")
	if authority {
		target = "http://" + target
	}
	u, err := url.ParseRequestURI(target)
	if err == nil && authority {
		u.Scheme = ""
	}
	return u, err
}

// convertFields sets r.Header and the other parts of r that depend on the fields of h. Fields
// that net/http keeps elsewhere are not in r.Header.
func convertFields(h *fasthttp.RequestHeader, r *http.Request) {
	count, size := 0, 0
	for name, value := range h.All() {
		count++
		size += len(name) + len(value)
	}
	// all names and values are parts of one text, and all lists of one array
	var text strings.Builder
	text.Grow(size)
	values := make([]string, 0, count)
	header := make(http.Header, count)
	r.Host, r.TransferEncoding, r.Trailer = "", nil, nil
	streams := r.ProtoMajor >= 2 // HTTP/2 and HTTP/3
	chunked := h.ContentLength() == -1 && !streams
	for name, value := range h.All() {
		start := text.Len()
		text.Write(name)
		text.Write(value)
		key := http.CanonicalHeaderKey(text.String()[start : start+len(name)])
		if streams && key == "Expect" {
			// net/http keeps it for HTTP/1 only
			continue
		}
		v := text.String()[start+len(name):]
		switch key {
		case "Host":
			r.Host = v
		case "Transfer-Encoding", "Trailer":
		case "Content-Length":
			// a received header without the field has a length of 0
			switch {
			case v != "0" || hasLine(h.RawHeaders(), "Content-Length:"):
				header[key] = []string{v}
			case hasLine(h.RawHeaders(), "Transfer-Encoding:"):
				chunked = true
			}
		case "Connection":
			// nor does HTTP/1.0 need a field to close the connection
			if v != "close" || hasLine(h.RawHeaders(), "Connection:") {
				header[key] = append(header[key], v)
			}
		default:
			if had := header[key]; had != nil {
				header[key] = append(had, v)
				continue
			}
			values = append(values, v)
			header[key] = values[len(values)-1 : len(values) : len(values)]
		}
	}
	// the values are set at the end of the body, even if they were received before;
	// fields with these names in the header section are separate
	for name := range strings.SplitSeq(string(h.Peek("Trailer")), ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if r.Trailer == nil {
			r.Trailer = make(http.Header)
		}
		r.Trailer[http.CanonicalHeaderKey(name)] = nil
	}
	if chunked {
		r.TransferEncoding = []string{"chunked"}
	}
	r.Header = header
}

// hasLine reports whether a line of the header begins with name.
func hasLine(lines []byte, name string) bool {
	for line := range bytes.Lines(lines) {
		if len(line) >= len(name) && strings.EqualFold(string(line[:len(name)]), name) {
			return true
		}
	}
	return false
}

// convertBody sets the body of r and its length.
func convertBody(ctx *fasthttp.RequestCtx, r *http.Request) {
	stream := ctx.Request.BodyStream()
	if stream == http.NoBody {
		// the body was a stream until it was read as a form
		stream = nil
	}
	length := ctx.Request.Header.ContentLength()
	switch {
	case r.TransferEncoding != nil || length == -1:
		r.ContentLength = -1
	case length > 0:
		r.ContentLength = int64(length)
	case stream == nil:
		// a request made by the program, not received, has no length yet
		r.ContentLength = int64(len(ctx.PostBody()))
	default:
		r.ContentLength = 0
	}
	if r.ContentLength == 0 {
		r.Body = http.NoBody
		return
	}
	b := &requestBody{ctx: ctx, r: r, size: r.ContentLength}
	if stream != nil {
		b.src, b.stream, b.streamed = stream, stream, true
	} else {
		b.rest = ctx.PostBody()
	}
	r.Body = b
}

var _ io.ReadCloser = (*requestBody)(nil)

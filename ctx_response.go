package fasthttp

import (
	"bytes"
	"io"
	"time"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/uri"
)

// SetStatusCode sets the status code of the response. See ResponseHeader.SetStatusCode.
func (ctx *RequestCtx) SetStatusCode(statusCode int) { ctx.Response.SetStatusCode(statusCode) }

// SetContentType sets the Content-Type of the response.
func (ctx *RequestCtx) SetContentType(contentType string) {
	ctx.Response.Header.SetContentType(contentType)
}

// SetContentTypeBytes sets the Content-Type of the response.
func (ctx *RequestCtx) SetContentTypeBytes(contentType []byte) {
	ctx.Response.Header.SetContentTypeBytes(contentType)
}

// SetConnectionClose makes the server close the connection after the response, which has
// "Connection: close". With HTTP/2 the server tells the client to send no more requests
// on the connection (GOAWAY), answers the requests that are on their way, and then closes
// it.
func (ctx *RequestCtx) SetConnectionClose() { ctx.Response.SetConnectionClose() }

// SetBody sets the body of the response to a copy of body.
func (ctx *RequestCtx) SetBody(body []byte) { ctx.Response.SetBody(body) }

// SetBodyString sets the body of the response.
func (ctx *RequestCtx) SetBodyString(body string) { ctx.Response.SetBodyString(body) }

// ResetBody empties the body of the response.
func (ctx *RequestCtx) ResetBody() { ctx.Response.ResetBody() }

// SetBodyStream sets a stream as the body of the response; see
// Response.SetBodyStream.
func (ctx *RequestCtx) SetBodyStream(bodyStream io.Reader, bodySize int) {
	ctx.Response.SetBodyStream(bodyStream, bodySize)
}

// SetBodyStreamWriter sets a producer of the body of the response; see
// Response.SetBodyStreamWriter. sw runs after the handler has returned, so it
// must not use ctx.
func (ctx *RequestCtx) SetBodyStreamWriter(sw StreamWriter) {
	ctx.Response.SetBodyStreamWriter(sw)
}

// IsBodyStream reports whether the body of the response is a stream.
func (ctx *RequestCtx) IsBodyStream() bool { return ctx.Response.IsBodyStream() }

// Write appends p to the body of the response. It never fails.
func (ctx *RequestCtx) Write(p []byte) (int, error) {
	ctx.Response.AppendBody(p)
	return len(p), nil
}

// WriteString appends s to the body of the response. It never fails.
func (ctx *RequestCtx) WriteString(s string) (int, error) {
	ctx.Response.body.Append(bytesconv.Bytes(s))
	return len(s), nil
}

// Success sets the Content-Type and the body of the response.
func (ctx *RequestCtx) Success(contentType string, body []byte) {
	ctx.SetContentType(contentType)
	ctx.SetBody(body)
}

// SuccessString sets the Content-Type and the body of the response.
func (ctx *RequestCtx) SuccessString(contentType, body string) {
	ctx.SetContentType(contentType)
	ctx.SetBodyString(body)
}

// Error resets the response, fields included, and sets the status code, and msg as
// plain text.
func (ctx *RequestCtx) Error(msg string, statusCode int) {
	ctx.resetResponse()
	ctx.SetStatusCode(statusCode)
	ctx.SetContentTypeBytes(strTextPlain)
	ctx.SetBodyString(msg)
}

func (ctx *RequestCtx) resetResponse() {
	ctx.Response.Reset()
	if ctx.s != nil {
		ctx.s.configureResponse(&ctx.Response)
	}
}

// NotFound resets the response and makes it a 404.
func (ctx *RequestCtx) NotFound() {
	ctx.resetResponse()
	ctx.SetStatusCode(StatusNotFound)
	ctx.SetBodyString("404 Page not found")
}

// NotModified resets the response and makes it a 304.
func (ctx *RequestCtx) NotModified() {
	ctx.resetResponse()
	ctx.SetStatusCode(StatusNotModified)
}

// Redirect sends the client to uri, which may be relative to the URI of the request:
// Location is absolute, unless the request names no host, as one of HTTP/1.0 may. A uri that
// has a scheme and no authority, such as "mailto:user@example.com", is sent as it is; but
// "http:example.com" and "https:example.com", which lead browsers to that host, are paths.
// Behind a proxy of Server.TrustedProxies its scheme and host are ClientScheme and
// ClientHost: the client does not know the ones that the proxy uses. A statusCode other
// than 301, 302, 303, 307 and 308 is replaced by 302.
func (ctx *RequestCtx) Redirect(uri string, statusCode int) {
	ctx.RedirectBytes(bytesconv.Bytes(uri), statusCode)
}

// RedirectBytes is Redirect for a byte slice.
func (ctx *RequestCtx) RedirectBytes(location []byte, statusCode int) {
	if !StatusCodeIsRedirect(statusCode) {
		statusCode = StatusFound
	}
	ctx.Response.SetStatusCode(statusCode)
	if uri.HasNoAuthority(location) {
		ctx.Response.Header.setID(field.Location, location)
		return
	}
	u := AcquireURI()
	ctx.URI().CopyTo(u)
	host := ctx.Host()
	if ctx.proxyTrust() != nil {
		host = ctx.ClientHost()
		u.SetScheme(ctx.ClientScheme())
		u.SetHostBytes(host)
	}
	if err := u.UpdateBytesErr(location); err == nil {
		u.text.KeepQuestionMark(location)
		location = u.FullURI()
		if len(u.Host()) == 0 && len(host) == 0 {
			location = withoutAuthority(location)
		}
	}
	// text other than a URI is sent as it is: the URI of this request would be a loop
	ctx.Response.Header.setID(field.Location, location)
	ReleaseURI(u)
}

// withoutAuthority returns a URI that has no host as a relative reference, unless its
// path begins with two slashes: such a reference would have a host.
func withoutAuthority(uri []byte) []byte {
	_, rest, ok := bytes.Cut(uri, []byte("://"))
	if ok && bytes.HasPrefix(rest, strSlash) && !bytes.HasPrefix(rest, []byte("//")) {
		return rest
	}
	return uri
}

// IfModifiedSince reports whether the client should get a representation that was last
// modified at lastModified: the request has no If-Modified-Since field, or one with an
// earlier date (RFC 9110 section 13.1.3).
func (ctx *RequestCtx) IfModifiedSince(lastModified time.Time) bool {
	value := ctx.Request.Header.peekID(field.IfModifiedSince)
	if len(value) == 0 {
		return true
	}
	since, err := ParseHTTPDate(value)
	return err != nil || since.Before(lastModified.Truncate(time.Second))
}

// EarlyHints sends the Link fields that are set so far to the client in a 103
// response, so that the client can load these resources while the handler works. It
// does nothing without a Link field and for HTTP/1.0. It returns an error of the
// connection: the final response cannot be sent then either.
func (ctx *RequestCtx) EarlyHints() error {
	ctx.timeoutMu.Lock()
	defer ctx.timeoutMu.Unlock()
	if !ctx.ownsConn() || !ctx.Request.Header.IsHTTP11() {
		return nil
	}
	return ctx.exchange.earlyHints(&ctx.Response.Header)
}

// SendFile answers with the file that path names; see ServeFile, for which it is
// another name. Errors are logged and answered with a status code of their own.
//
// path must never be made of text from a client: it can name every file of the
// system. Use an FS with a Root for that.
func (ctx *RequestCtx) SendFile(path string) { ServeFile(ctx, path) }

// SendFileBytes is SendFile for a byte slice.
func (ctx *RequestCtx) SendFileBytes(path []byte) { ServeFileBytes(ctx, path) }

// SendFileLiteral is SendFile that uses path as it is; see ServeFileLiteral.
func (ctx *RequestCtx) SendFileLiteral(path string) { ServeFileLiteral(ctx, path) }

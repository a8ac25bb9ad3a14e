package fasthttp

import (
	"io"
	"net/http"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

// Body returns the body. A body stream is read to its end first; where that
// fails the result is nil: use BodyStream or BodyWriteTo where errors matter.
//
// Where a multipart form was parsed from a stream the body is what
// WriteMultipartForm makes of the form.
func (req *Request) Body() []byte {
	if req.loadForm() != nil || req.body.load() != nil {
		return nil
	}
	return req.bodyBytes()
}

func (req *Request) bodyBytes() []byte { return req.body.bytes() }

// SetBody sets the body to a copy of body.
func (req *Request) SetBody(body []byte) {
	req.bodyChanges()
	req.body.set(body)
}

// SetBodyString sets the body.
func (req *Request) SetBodyString(body string) { req.SetBody(bytesconv.Bytes(body)) }

// SetBodyRaw sets the body without copying it: body must not be changed as
// long as the request uses it.
func (req *Request) SetBodyRaw(body []byte) {
	req.bodyChanges()
	req.body.setRaw(body)
}

// AppendBody appends a copy of p to the body.
func (req *Request) AppendBody(p []byte) {
	req.bodyChanges()
	req.body.append(p)
}

// AppendBodyString appends to the body.
func (req *Request) AppendBodyString(s string) { req.AppendBody(bytesconv.Bytes(s)) }

// bodyChanges drops what was derived from the body.
func (req *Request) bodyChanges() {
	if req.argsParsed {
		req.args.Reset()
		req.argsParsed = false
	}
	if req.form != nil {
		req.dropForm()
	}
}

// SetBodyStream sets a stream as the body, which is read when the request is
// written, and closed then if it is an io.Closer.
//
// With a bodySize of 0 or more the stream must have that many bytes; with a
// negative one it is sent in chunks up to its io.EOF.
func (req *Request) SetBodyStream(bodyStream io.Reader, bodySize int) {
	req.bodyChanges()
	req.body.setStream(bodyStream, bodySize)
	req.Header.SetContentLength(max(bodySize, -1))
}

// SetBodyStreamWriter sets a producer of the body, which runs in a goroutine
// of its own until it returns. See StreamWriter and NewStreamReader.
func (req *Request) SetBodyStreamWriter(sw StreamWriter) {
	req.SetBodyStream(NewStreamReader(sw), -1)
}

// BodyStream returns the body stream, or nil where the body is no stream. On a
// server with StreamRequestBody it is the body as it arrives. It must be
// closed with CloseBodyStream unless the request is released. A stream that a
// multipart form was made of is at its end.
func (req *Request) BodyStream() io.Reader {
	if req.body.stream == nil && req.onlyForm() {
		return http.NoBody
	}
	return req.body.stream
}

// IsBodyStream reports whether the body is a stream, or was one before it was read
// as a multipart form.
func (req *Request) IsBodyStream() bool { return req.body.stream != nil || req.onlyForm() }

// CloseBodyStream closes the body stream, if there is one, and returns the error of
// its Close method, if it has one.
func (req *Request) CloseBodyStream() error { return req.body.closeStream() }

// BodyWriter returns a writer that appends to the body.
func (req *Request) BodyWriter() io.Writer {
	req.bodyChanges()
	return (*bodyWriter)(&req.body)
}

// BodyWriteTo writes the body to w. A body stream is read to its end and closed. The
// error is that of w or of the stream, or ErrBodyStreamWritePanic if that panics.
func (req *Request) BodyWriteTo(w io.Writer) error {
	if req.onlyForm() {
		return req.writeForm(w)
	}
	return req.body.writeTo(w)
}

// ResetBody empties the body.
func (req *Request) ResetBody() {
	req.bodyChanges()
	req.body.reset(requestPool, req.KeepBodyBuffer)
}

// SwapBody sets the body to body, without copying it, and returns the bytes of
// the old one. The request owns body from then on.
func (req *Request) SwapBody(body []byte) []byte {
	_ = req.loadForm()
	req.bodyChanges()
	return req.body.swap(body)
}

// ReleaseBody lets go of the buffer of the body where it is larger than size
// bytes, so that it is not kept for other requests.
func (req *Request) ReleaseBody(size int) { req.body.release(size) }

package fasthttp

import (
	"io"
	"net/http"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/content"
)

// Body returns the body. It reads a body stream to its end first. If that fails, it
// returns nil, and BodyError returns the error.
//
// If MultipartForm has parsed a form from a stream, the body is the form as
// WriteMultipartForm writes it.
func (req *Request) Body() []byte {
	if req.loadForm() != nil || req.body.Load() != nil {
		return nil
	}
	return req.bodyBytes()
}

// BodyError returns why Body, PostArgs or MultipartForm has returned nothing: the error of
// reading the body stream, such as one that wraps io.ErrUnexpectedEOF if the client left in
// the middle of it, ErrTooManyFormArgs, or the error of the multipart form. It is nil if none
// of them was called, or none has failed.
func (req *Request) BodyError() error {
	switch {
	case req.body.Broken != nil:
		return req.body.Broken
	case req.form != nil && req.form.err != nil:
		return req.form.err
	}
	return req.argsErr
}

func (req *Request) bodyBytes() []byte { return req.body.Bytes() }

// SetBody sets the body to a copy of body.
func (req *Request) SetBody(body []byte) {
	req.bodyChanges()
	req.body.Set(body)
}

// SetBodyString sets the body.
func (req *Request) SetBodyString(body string) { req.SetBody(bytesconv.Bytes(body)) }

// SetBodyRaw sets the body without copying it: body must not be modified as long as the
// request uses it.
func (req *Request) SetBodyRaw(body []byte) {
	req.bodyChanges()
	req.body.SetRaw(body)
}

// AppendBody appends a copy of p to the body.
func (req *Request) AppendBody(p []byte) {
	req.bodyChanges()
	req.body.Append(p)
}

// AppendBodyString appends to the body.
func (req *Request) AppendBodyString(s string) { req.AppendBody(bytesconv.Bytes(s)) }

// SetBodyStream sets a stream as the body. It is read when the request is written, and
// closed then if it is an io.Closer.
//
// If bodySize is 0 or more, the stream must have that many bytes. If it is negative,
// the stream is sent in chunks up to its io.EOF; only for an *io.LimitedReader bodySize is
// its N then, so that it must have that many bytes.
func (req *Request) SetBodyStream(bodyStream io.Reader, bodySize int) {
	req.bodyChanges()
	req.body.SetStream(bodyStream, bodySize)
	req.Header.SetContentLength(max(bodySize, -1))
}

// SetBodyStreamWriter makes sw the producer of the body. sw runs in a goroutine of its
// own. See StreamWriter and NewStreamReader.
func (req *Request) SetBodyStreamWriter(sw StreamWriter) {
	req.SetBodyStream(NewStreamReader(sw), -1)
}

// BodyStream returns the body stream, or nil if the body is not a stream. On a server
// with StreamRequestBody it returns the body as it arrives. The caller must close it
// with CloseBodyStream, unless the request is released. If MultipartForm has read the
// stream, the result is an empty stream.
func (req *Request) BodyStream() io.Reader {
	if req.body.Stream == nil && req.onlyForm() {
		return http.NoBody
	}
	return req.body.Stream
}

// IsBodyStream reports whether the body is a stream, or was one before it was read
// as a multipart form.
func (req *Request) IsBodyStream() bool { return req.body.Stream != nil || req.onlyForm() }

// CloseBodyStream closes the body stream, if there is one, and returns the error of
// its Close method, if it has one.
func (req *Request) CloseBodyStream() error { return req.body.CloseStream() }

// BodyWriter returns a writer that appends to the body.
func (req *Request) BodyWriter() io.Writer {
	req.bodyChanges()
	return (*content.Writer)(&req.body)
}

// BodyWriteTo writes the body to w. It reads a body stream to its end and closes it. It
// returns the error of w or of the stream, or ErrBodyStreamWritePanic if the stream
// panics.
func (req *Request) BodyWriteTo(w io.Writer) error {
	if req.onlyForm() {
		return req.writeForm(w)
	}
	return req.body.SendTo(w)
}

// ResetBody empties the body.
func (req *Request) ResetBody() {
	req.bodyChanges()
	req.body.Reset(content.RequestPool, req.KeepBodyBuffer)
}

// SwapBody sets the body to body, without copying it, and returns the bytes of the old
// body. The request owns body after that.
func (req *Request) SwapBody(body []byte) []byte {
	_ = req.loadForm()
	req.bodyChanges()
	return req.body.Swap(body)
}

// ReleaseBody drops the buffer of the body if it is larger than size bytes, so that it
// is not reused for other requests.
func (req *Request) ReleaseBody(size int) { req.body.Shrink(size) }

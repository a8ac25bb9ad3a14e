package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

// Body returns the body. A body stream is read to its end first; where that
// fails the result is the text of the error: use BodyStream or BodyWriteTo
// where errors matter.
func (resp *Response) Body() []byte {
	if resp.body.stream != nil {
		if err := resp.body.load(); err != nil {
			resp.body.set(bytesconv.Bytes(err.Error()))
		}
	}
	return resp.body.bytes()
}

// SetBody sets the body to a copy of body.
func (resp *Response) SetBody(body []byte) { resp.body.set(body) }

// SetBodyString sets the body.
func (resp *Response) SetBodyString(body string) { resp.body.set(bytesconv.Bytes(body)) }

// SetBodyRaw sets the body without copying it: body must not be changed as
// long as the response uses it.
func (resp *Response) SetBodyRaw(body []byte) {
	resp.body.setRaw(body)
}

// AppendBody appends a copy of p to the body.
func (resp *Response) AppendBody(p []byte) { resp.body.append(p) }

// AppendBodyString appends to the body.
func (resp *Response) AppendBodyString(s string) { resp.body.append(bytesconv.Bytes(s)) }

// SetBodyStream sets a stream as the body, which is read when the response is
// written, and closed then if it is an io.Closer.
//
// With a bodySize of 0 or more the stream must have that many bytes; with a
// negative one it is sent in chunks up to its io.EOF, each of them at once.
// A stream that fails, panics or is too short makes the server close the
// connection in the middle of the message, so that the client notices.
func (resp *Response) SetBodyStream(bodyStream io.Reader, bodySize int) {
	resp.body.setStream(bodyStream, bodySize)
	resp.Header.SetContentLength(max(bodySize, -1))
	if bodySize < -1 {
		resp.SetConnectionClose()
	}
}

// SetBodyStreamWriter sets a producer of the body, which runs in a goroutine
// of its own until it returns. See StreamWriter and NewStreamReader.
func (resp *Response) SetBodyStreamWriter(sw StreamWriter) {
	resp.SetBodyStream(NewStreamReader(sw), -1)
}

// BodyStream returns the body stream, or nil where the body is no stream. The
// stream of a response that was read is a ReadCloserWithError; it must be
// closed, with CloseBodyStream or by itself.
func (resp *Response) BodyStream() io.Reader { return resp.body.stream }

// IsBodyStream reports whether the body is a stream.
func (resp *Response) IsBodyStream() bool { return resp.body.stream != nil }

// CloseBodyStream closes the body stream, if there is one, and returns the error of
// its Close method, if it has one.
func (resp *Response) CloseBodyStream() error { return resp.body.closeStream() }

// BodyWriter returns a writer that appends to the body. It must not be used
// after the handler has returned.
func (resp *Response) BodyWriter() io.Writer { return (*bodyWriter)(&resp.body) }

// BodyWriteTo writes the body to w. A body stream is read to its end and closed. The
// error is that of w or of the stream, or ErrBodyStreamWritePanic if that panics.
func (resp *Response) BodyWriteTo(w io.Writer) error { return resp.body.writeTo(w) }

// ResetBody empties the body.
func (resp *Response) ResetBody() { resp.body.reset(responsePool, resp.KeepBodyBuffer) }

// SwapBody sets the body to body, without copying it, and returns the bytes of
// the old one. The response owns body from then on.
func (resp *Response) SwapBody(body []byte) []byte { return resp.body.swap(body) }

// ReleaseBody lets go of the buffer of the body where it is larger than size
// bytes, so that it is not kept for other responses.
func (resp *Response) ReleaseBody(size int) { resp.body.release(size) }

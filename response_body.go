package fasthttp

import (
	"io"

	"github.com/valyala/fasthttp/internal/bytesconv"
)

// Body returns the body. It reads a body stream to its end first. If that fails, it
// returns the text of the error; BodyWriteTo returns the error, as the reader of
// BodyStream does.
//
// Code that runs for every response, such as an access log, must check IsBodyStream
// before it calls Body: otherwise the client gets nothing of an event stream before it
// has ended, and a large download is kept in memory. BodySize does not read the body, and
// SentResponse.Bytes is the number of bytes sent.
func (resp *Response) Body() []byte {
	if resp.body.stream != nil {
		if err := resp.body.load(); err != nil {
			resp.body.set(bytesconv.Bytes(err.Error()))
		}
	}
	return resp.body.bytes()
}

// BodySize returns the size of the body in bytes, without reading it. For a body stream it
// is the size that was given to SetBodyStream, or -1 if it is not known. It is the size of
// the body as it is set now, even if the body is not sent, as in a response to HEAD.
func (resp *Response) BodySize() int {
	if resp.body.stream != nil {
		return max(resp.body.size, -1)
	}
	return len(resp.body.bytes())
}

// SetBody sets the body to a copy of body.
func (resp *Response) SetBody(body []byte) { resp.body.set(body) }

// SetBodyString sets the body.
func (resp *Response) SetBodyString(body string) { resp.body.set(bytesconv.Bytes(body)) }

// SetBodyRaw sets the body without copying it: body must not be modified as long as the
// response uses it.
func (resp *Response) SetBodyRaw(body []byte) {
	resp.body.setRaw(body)
}

// AppendBody appends a copy of p to the body.
func (resp *Response) AppendBody(p []byte) { resp.body.append(p) }

// AppendBodyString appends to the body.
func (resp *Response) AppendBodyString(s string) { resp.body.append(bytesconv.Bytes(s)) }

// SetBodyStream sets a stream as the body. It is read when the response is written, and
// closed then if it is an io.Closer.
//
// If bodySize is 0 or more, the stream must have that many bytes. If it is negative, the
// stream is sent in chunks up to its io.EOF, each of them at once. If the stream fails,
// panics or is too short, the server closes the connection within the message, so that
// the client notices.
func (resp *Response) SetBodyStream(bodyStream io.Reader, bodySize int) {
	resp.body.setStream(bodyStream, bodySize)
	resp.Header.SetContentLength(max(bodySize, -1))
	if bodySize < -1 {
		resp.SetConnectionClose()
	}
}

// SetBodyStreamWriter makes sw the producer of the body. sw runs in a goroutine of its
// own. See StreamWriter and NewStreamReader.
func (resp *Response) SetBodyStreamWriter(sw StreamWriter) {
	resp.SetBodyStream(NewStreamReader(sw), -1)
}

// BodyStream returns the body stream, or nil if the body is not a stream. The stream of
// a response that was read is a ReadCloserWithError. The caller must close it, with its
// own method or with CloseBodyStream.
func (resp *Response) BodyStream() io.Reader { return resp.body.stream }

// IsBodyStream reports whether the body is a stream.
func (resp *Response) IsBodyStream() bool { return resp.body.stream != nil }

// CloseBodyStream closes the body stream, if there is one, and returns the error of
// its Close method, if it has one.
func (resp *Response) CloseBodyStream() error { return resp.body.closeStream() }

// BodyWriter returns a writer that appends to the body. It must not be used
// after the handler has returned.
func (resp *Response) BodyWriter() io.Writer { return (*bodyWriter)(&resp.body) }

// BodyWriteTo writes the body to w. It reads a body stream to its end and closes it. It
// returns the error of w or of the stream, or ErrBodyStreamWritePanic if the stream
// panics.
func (resp *Response) BodyWriteTo(w io.Writer) error { return resp.body.writeTo(w) }

// ResetBody empties the body.
func (resp *Response) ResetBody() { resp.body.reset(responsePool, resp.KeepBodyBuffer) }

// SwapBody sets the body to body, without copying it, and returns the bytes of the old
// body. The response owns body after that.
func (resp *Response) SwapBody(body []byte) []byte { return resp.body.swap(body) }

// ReleaseBody drops the buffer of the body if it is larger than size bytes, so that it is
// not reused for other responses.
func (resp *Response) ReleaseBody(size int) { resp.body.release(size) }

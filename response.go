package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/files"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// Response is an HTTP response: its header and its body.
//
// The zero value is ready for use. Slices that its methods return belong to the
// response: they are valid until that part of it is changed or the response is
// released.
//
// A Response must not be copied (use CopyTo) nor used by more than one goroutine at
// once.
type Response struct {
	_ noCopy

	// Header is the status line and the fields. It must not be copied.
	Header ResponseHeader

	// ImmediateHeaderFlush makes Write flush the header before it reads a body
	// stream.
	ImmediateHeaderFlush bool

	// PieceTimeout, if it is not 0, limits how long a client may take to receive a piece
	// of a body stream, and replaces the limit for the whole response
	// (Server.WriteTimeout, RequestConfig.WriteTimeout). So a response may last for any
	// time, as a stream of events does, and a client that stops reading is still
	// noticed. A piece is the result of one Read, or the output that a StreamWriter has
	// flushed; the time in which the stream has no content does not count. A negative
	// PieceTimeout means no limit. HTTP/2 checks the time once a second.
	//
	// It has effect in servers only. A handler sets it together with the stream.
	PieceTimeout time.Duration

	// StreamBody makes Read, ReadBody and a client leave the body on the connection.
	// The caller reads it from BodyStream. The stream then returns the errors of the
	// body, after Read has returned.
	StreamBody bool

	// SkipBody makes Read expect no body, as after a HEAD request, and Write write
	// none. A client sets it after a HEAD request, so that the response can be
	// written as it is. The next call with the same Response clears it, unless it
	// was set before the HEAD request.
	SkipBody bool

	// KeepBodyBuffer makes Reset and ResetBody keep the buffer of the body,
	// however large, for the next use of this Response. ReleaseResponse clears it
	// and releases the buffer. CopyTo does not copy it. A server clears it between
	// two requests.
	KeepBodyBuffer bool

	// skipsHead means that a client has set SkipBody after a HEAD request
	skipsHead bool

	buffersReceived bool // see bridge.BufferReceived

	body content.Body

	remoteAddr, localAddr net.Addr
}

// Reset empties the response, and closes a body stream.
func (resp *Response) Reset() {
	resp.Header.Reset()
	resp.resetExceptHeader()
}

func (resp *Response) resetExceptHeader() {
	resp.body.Reset(content.ResponsePool, resp.KeepBodyBuffer)
	resp.SkipBody, resp.skipsHead = false, false
	resp.StreamBody, resp.buffersReceived = false, false
	resp.ImmediateHeaderFlush, resp.PieceTimeout = false, 0
	if resp.remoteAddr != nil || resp.localAddr != nil {
		resp.remoteAddr, resp.localAddr = nil, nil
	}
}

// poison is Request.poison for a response.
func (resp *Response) poison() {
	resp.Header.head.Poison()
	resp.body.Poison()
}

// reuse empties the response, except for its header, before it is read again. It keeps
// the fields in which the application has set how to read it.
func (resp *Response) reuse() {
	resp.body.Reset(content.ResponsePool, resp.KeepBodyBuffer)
	resp.SkipBody, resp.skipsHead = resp.SkipBody && !resp.skipsHead, false
	resp.remoteAddr, resp.localAddr = nil, nil
}

// startOver is reuse that empties the header, too.
func (resp *Response) startOver() {
	resp.reuse()
	resp.Header.head.Reset(header.Configured)
	resp.Header.head.Status = 0
}

// skipHead makes the response fit a HEAD request.
func (resp *Response) skipHead() {
	resp.skipsHead = resp.skipsHead || !resp.SkipBody
	resp.SkipBody = true
}

// CopyTo makes dst a copy of the response, without its body stream.
func (resp *Response) CopyTo(dst *Response) {
	dst.Reset()
	resp.Header.CopyTo(&dst.Header)
	dst.SkipBody = resp.SkipBody
	dst.body.Limit = resp.body.Limit
	dst.remoteAddr, dst.localAddr = resp.remoteAddr, resp.localAddr
	if p := resp.body.Bytes(); len(p) > 0 {
		dst.body.Set(p)
	}
}

// StatusCode returns the status code, 200 by default.
func (resp *Response) StatusCode() int { return resp.Header.StatusCode() }

// SetStatusCode sets the status code. See ResponseHeader.SetStatusCode.
func (resp *Response) SetStatusCode(statusCode int) { resp.Header.SetStatusCode(statusCode) }

// ConnectionClose reports whether the connection is closed after the response.
func (resp *Response) ConnectionClose() bool { return resp.Header.ConnectionClose() }

// SetConnectionClose sets "Connection: close".
func (resp *Response) SetConnectionClose() { resp.Header.SetConnectionClose() }

// ParseNetConn sets RemoteAddr and LocalAddr to the addresses of conn.
func (resp *Response) ParseNetConn(conn net.Conn) {
	resp.remoteAddr, resp.localAddr = conn.RemoteAddr(), conn.LocalAddr()
}

// RemoteAddr returns the address of the peer that sent the response to a client, or
// nil. It is shared and must not be modified.
func (resp *Response) RemoteAddr() net.Addr { return resp.remoteAddr }

// LocalAddr returns the client's own address on the connection of the response, or
// nil. It is shared and must not be modified.
func (resp *Response) LocalAddr() net.Addr { return resp.localAddr }

// Read reads a response with its body from r.
//
// The size of the body is not limited: use ReadLimitBody for peers that are not
// trusted. Read returns io.EOF if r ends before the first byte, and an error that
// wraps io.ErrUnexpectedEOF if r ends later. See ResponseHeader.Read for the limits of
// the head.
//
// With StreamBody the caller must not read from r until the stream was read to its end
// or closed.
func (resp *Response) Read(r *bufio.Reader) error { return resp.ReadLimitBody(r, 0) }

// ReadLimitBody is Read with a limit for the body in bytes; 0 or less means no limit.
// It returns ErrBodyTooLarge if the body is larger. With StreamBody there is no limit.
//
// ReadLimitBody skips up to 32 informational responses before the final one. A 101 is
// final.
func (resp *Response) ReadLimitBody(r *bufio.Reader, maxBodySize int) error {
	resp.body.Empty()
	resp.body.Limit = 0
	for informed := 0; ; informed++ {
		err := resp.Header.Read(r)
		if err == io.EOF && informed > 0 {
			return headerError("response", io.ErrUnexpectedEOF)
		}
		if err != nil {
			return err
		}
		if code := resp.StatusCode(); code/100 != 1 || code == StatusSwitchingProtocols {
			break
		}
		if informed == maxInformational {
			return errTooManyInformational
		}
	}
	if resp.SkipBody {
		resp.ResetBody()
		return nil
	}
	return resp.readContent(r, maxBodySize, content.Read)
}

// maxInformational is how many 1xx responses may precede the final one.
const maxInformational = 32

var errTooManyInformational = errors.New("fasthttp: too many informational responses")

// ReadBody reads the body of a response whose header was read from r. If maxBodySize is
// positive and the body is larger, the error is ErrBodyTooLarge. With StreamBody the
// body stays on r. Otherwise ReadBody does not read the trailer section after a chunked
// body: Header.ReadTrailer does.
func (resp *Response) ReadBody(r *bufio.Reader, maxBodySize int) error {
	return resp.readContent(r, maxBodySize, content.ReadOnly)
}

func (resp *Response) readContent(r *bufio.Reader, maxBodySize int, read content.Reader) error {
	f := resp.framing()
	if resp.StreamBody || f.Kind == http1.NoBody || f.Kind == http1.Length {
		resp.ResetBody()
	} else {
		// the size is unknown, so keep the buffer of the last body
		resp.body.Empty()
	}
	if resp.StreamBody && f.Kind != http1.NoBody {
		resp.body.SetStreamFrom(r, f, &resp.Header.head)
		resp.body.Limit = maxBodySize
		return nil
	}
	if err := read(recvbuf.Buffered{R: r}, f, maxBodySize, &resp.body, &resp.Header.head); err != nil {
		return err
	}
	if f.Kind == http1.UntilClose {
		resp.Header.SetContentLength(len(resp.body.Bytes()))
	}
	return nil
}

// framing determines the length of the body. If the header was not read, but set by the
// caller, its ContentLength decides.
func (resp *Response) framing() http1.Framing {
	h := &resp.Header
	if h.head.Is(header.WasRead) {
		return h.head.Framing
	}
	switch n := h.ContentLength(); {
	case header.Bodiless(h.StatusCode()):
		return http1.Framing{}
	case n >= 0:
		return http1.Framing{Kind: http1.Length, Length: int64(n)}
	case n == -1:
		return http1.Framing{Kind: http1.Chunks, LooseChunks: true}
	}
	return http1.Framing{Kind: http1.UntilClose, MustClose: true}
}

// isUsual reports whether a connection that stays open sends the response as http1.Sized:
// with all of its content, which is not a stream, and without trailers.
func (resp *Response) isUsual() bool {
	h := &resp.Header
	return resp.body.Stream == nil && !resp.SkipBody && h.head.StatusCode() == StatusOK &&
		len(h.head.Trailers.Entries) == 0 && h.head.State&(header.Closing|header.OldProtocol|header.PeerVersion) == 0
}

// outgoing returns the properties that determine how the response is sent. A connection
// adds its own terms.
func (resp *Response) outgoing() http1.Outgoing {
	h := &resp.Header
	o := http1.Outgoing{Role: http1.Response, Content: http1.SizedContent, Status: h.StatusCode(), Terms: h.head.Terms()}
	if resp.SkipBody {
		o.Terms |= http1.SkipsContent
	}
	switch {
	case header.Bodiless(o.Status):
		// a 304 may declare how long the content of a 200 would be
		o.Content, o.Size = h.head.Declared()
	case resp.body.Stream != nil:
		// a trailer that only a peer has announced may never arrive
		if h.head.Trailers.HasOwn() {
			o.Terms |= http1.HasTrailers
		}
		if o.Size = resp.body.Size; o.Size < 0 {
			o.Content = http1.UnsizedContent
		}
	default:
		if h.head.Trailers.Len() > 0 {
			o.Terms |= http1.HasTrailers
		}
		if o.Size = len(resp.body.Bytes()); o.Size == 0 && resp.SkipBody {
			o.Content, o.Size = h.head.Declared()
		}
	}
	return o
}

// Write writes the response to w, without flushing w at the end. It reads a body stream
// to its end and closes it. If the size of the stream is unknown, it flushes each piece.
// It returns the error of w or of the stream, or ErrBodyStreamWritePanic if the stream
// panics. The response is then incomplete.
func (resp *Response) Write(w *bufio.Writer) error {
	var e http1.Encoding
	if resp.isUsual() {
		e = http1.Sized(len(resp.body.Bytes()))
	} else {
		o := resp.outgoing()
		o.Terms = o.Terms&^http1.LineIsReceived | http1.ByApplication
		e = o.Encode()
	}
	resp.Header.head.RecordResponse(e)
	if err := resp.Header.head.WriteResponse(w, e); err != nil {
		_ = resp.body.CloseStream()
		return err
	}
	if resp.ImmediateHeaderFlush && resp.body.Stream != nil && e.Kind != http1.NoBody {
		if err := w.Flush(); err != nil {
			_ = resp.body.CloseStream()
			return err
		}
	}
	return writeBody(w, &resp.body, e, &resp.Header.head)
}

// WriteTo writes the response to w, with the errors of Write. It implements
// io.WriterTo.
func (resp *Response) WriteTo(w io.Writer) (int64, error) { return bodyio.WriteMessage(w, resp) }

// String returns the response as Write writes it, or the text of the error of Write.
func (resp *Response) String() string { return messageText(resp) }

// Body returns the body. It reads a body stream to its end first. If that fails, it
// returns the text of the error; BodyWriteTo returns the error, as the reader of
// BodyStream does.
//
// Code that runs for every response, such as an access log, must check IsBodyStream
// before it calls Body: otherwise the client gets nothing of an event stream before it
// has ended, and a large download is kept in memory. BodySize does not read the body, and
// SentResponse.Bytes is the number of bytes sent.
func (resp *Response) Body() []byte {
	if resp.body.Stream != nil {
		if err := resp.body.Load(); err != nil {
			resp.body.Set(bytesconv.Bytes(err.Error()))
		}
	}
	return resp.body.Bytes()
}

// BodySize returns the size of the body in bytes, without reading it. For a body stream it
// is the size that was given to SetBodyStream, or -1 if it is not known. It is the size of
// the body as it is set now, even if the body is not sent, as in a response to HEAD.
func (resp *Response) BodySize() int {
	if resp.body.Stream != nil {
		return max(resp.body.Size, -1)
	}
	return len(resp.body.Bytes())
}

// SetBody sets the body to a copy of body.
func (resp *Response) SetBody(body []byte) { resp.body.Set(body) }

// SetBodyString sets the body.
func (resp *Response) SetBodyString(body string) { resp.body.Set(bytesconv.Bytes(body)) }

// SetBodyRaw sets the body without copying it: body must not be modified as long as the
// response uses it.
func (resp *Response) SetBodyRaw(body []byte) {
	resp.body.SetRaw(body)
}

// AppendBody appends a copy of p to the body.
func (resp *Response) AppendBody(p []byte) { resp.body.Append(p) }

// AppendBodyString appends to the body.
func (resp *Response) AppendBodyString(s string) { resp.body.Append(bytesconv.Bytes(s)) }

// SetBodyStream sets a stream as the body. It is read when the response is written, and
// closed then if it is an io.Closer.
//
// If bodySize is 0 or more, the stream must have that many bytes. If it is negative, the
// stream is sent in chunks up to its io.EOF, each of them at once; only for an
// *io.LimitedReader bodySize is its N then, so that it must have that many bytes. If the
// stream fails, panics or is too short, the server closes the connection within the
// message, so that the client notices.
func (resp *Response) SetBodyStream(bodyStream io.Reader, bodySize int) {
	resp.body.SetStream(bodyStream, bodySize)
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
func (resp *Response) BodyStream() io.Reader { return resp.body.Stream }

// IsBodyStream reports whether the body is a stream.
func (resp *Response) IsBodyStream() bool { return resp.body.Stream != nil }

// CloseBodyStream closes the body stream, if there is one, and returns the error of
// its Close method, if it has one.
func (resp *Response) CloseBodyStream() error { return resp.body.CloseStream() }

// BodyWriter returns a writer that appends to the body. It must not be used
// after the handler has returned.
func (resp *Response) BodyWriter() io.Writer { return (*content.Writer)(&resp.body) }

// BodyWriteTo writes the body to w. It reads a body stream to its end and closes it. It
// returns the error of w or of the stream, or ErrBodyStreamWritePanic if the stream
// panics.
func (resp *Response) BodyWriteTo(w io.Writer) error { return resp.body.SendTo(w) }

// ResetBody empties the body.
func (resp *Response) ResetBody() { resp.body.Reset(content.ResponsePool, resp.KeepBodyBuffer) }

// SwapBody sets the body to body, without copying it, and returns the bytes of the old
// body. The response owns body after that.
func (resp *Response) SwapBody(body []byte) []byte { return resp.body.Swap(body) }

// ReleaseBody drops the buffer of the body if it is larger than size bytes, so that it is
// not reused for other responses.
func (resp *Response) ReleaseBody(size int) { resp.body.Shrink(size) }

// SendFile makes the content of a file the body, and sets the Last-Modified field to its
// modification time. The file stays open until the response was sent, reset or released.
// SendFile does not set Content-Type.
//
// It returns an error, and does not change the response, if the file cannot be opened or
// is not regular.
func (resp *Response) SendFile(path string) error {
	file, err := os.OpenFile(path, files.OpenFlags, 0)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s", files.ErrNotRegular, path)
	}
	if err != nil {
		_ = file.Close()
		return err
	}
	resp.Header.SetLastModified(info.ModTime())
	resp.SetBodyStream(newFileStream(files.NewShared(file, file).Part(files.Span{Length: info.Size()})), streamSize(info.Size()))
	return nil
}

// streamSize returns the size of a body stream. If an int of 32 bits cannot hold it, it is
// unknown: part of it would look like all of it.
func streamSize(size int64) int {
	if int64(int(size)) != size {
		return -1
	}
	return int(size)
}

// newFileStream returns a part of a shared file as a body stream.
func newFileStream(part files.Part) io.ReadCloser {
	if file := part.File(); file != nil {
		return &fileStream{part, file}
	}
	s := part // only this copy is allocated, and only if it is needed
	return &s
}

// fileStream is a part of a file of the operating system.
type fileStream struct {
	files.Part
	file *os.File
}

var _ fileSpan = (*fileStream)(nil)

func (s *fileStream) span() (file *os.File, offset, length int64) {
	rest := s.Unread()
	return s.file, rest.Offset, rest.Length
}

package fasthttp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
)

const (
	// copyLimit is the size in bytes up to which a body is copied after its head, so
	// that one write sends both.
	copyLimit = 16 << 10
	// minSpace is the least number of bytes that a read has room for.
	minSpace = 512
)

var (
	requests  = sync.Pool{New: func() any { return new(Request) }}
	responses = sync.Pool{New: func() any { return new(Response) }}
)

// AcquireRequest returns an empty Request from a pool. Return it with ReleaseRequest
// when it is no longer needed: this reduces the work of the garbage collector.
func AcquireRequest() *Request { return requests.Get().(*Request) }

// ReleaseRequest returns req to the pool. Neither it nor a slice that its methods
// returned may be used after that.
func ReleaseRequest(req *Request) {
	if bufpool.Poisons {
		req.poison()
	}
	req.KeepBodyBuffer = false
	req.Reset()
	req.Header.EnableNormalizing()
	req.Header.EnableSpecialHeader()
	req.Header.head.Shrink()
	requests.Put(req)
}

// AcquireResponse returns an empty Response from a pool. Return it with
// ReleaseResponse when it is no longer needed: this reduces the work of the garbage
// collector.
func AcquireResponse() *Response { return responses.Get().(*Response) }

// ReleaseResponse returns resp to the pool. Neither it nor a slice that its methods
// returned may be used after that.
func ReleaseResponse(resp *Response) {
	if bufpool.Poisons {
		resp.poison()
	}
	resp.KeepBodyBuffer = false
	resp.Reset()
	resp.Header.EnableNormalizing()
	resp.Header.head.Shrink()
	responses.Put(resp)
}

// messageText returns the text of m, or the text of the error of writing it.
func messageText(m bodyio.Message) string {
	var text bytes.Buffer
	if _, err := bodyio.WriteMessage(&text, m); err != nil {
		return err.Error()
	}
	return text.String()
}

// The methods that decode a body return a new slice, which belongs to the caller. They
// do not change the body, except that they read a body stream to its end.
//
// The methods without a limit as an argument use the limit that the body itself had. For
// a request of a server this is Server.MaxRequestBodySize, or the limit that
// Server.HeaderReceived has set, or the default of 4 MiB. For a message that
// ReadLimitBody has read it is the limit of that call. For a body without a limit it is
// 256 MiB. If the decoded body exceeds the limit, the methods fail with ErrBodyTooLarge.
// For refused content they use no more memory than 16 MiB and the tables of a decoder.

// BodyGunzip decodes the body with gzip and returns the result, a new slice. It fails
// with ErrBodyTooLarge if the result exceeds the limit that the body itself had:
// Server.MaxRequestBodySize, 4 MiB by default, or the limit that Server.HeaderReceived
// has set for the request. For a body that was read without a limit it is 256 MiB. Use
// BodyGunzipWithLimit for larger results.
func (req *Request) BodyGunzip() ([]byte, error) {
	return req.decoded(coding.Gzip, coding.ContentBound(req.body.Limit))
}

// BodyGunzipWithLimit is BodyGunzip with a limit of maxBodySize bytes for the result; 0 or
// less means no limit. It fails with ErrBodyTooLarge if the result is larger.
func (req *Request) BodyGunzipWithLimit(maxBodySize int) ([]byte, error) {
	return req.decoded(coding.Gzip, coding.ExplicitBound(maxBodySize))
}

// BodyInflate is like BodyGunzip, but decodes deflate, with or without the zlib header.
func (req *Request) BodyInflate() ([]byte, error) {
	return req.decoded(coding.Deflate, coding.ContentBound(req.body.Limit))
}

// BodyInflateWithLimit is BodyInflate with the limit of BodyGunzipWithLimit.
func (req *Request) BodyInflateWithLimit(maxBodySize int) ([]byte, error) {
	return req.decoded(coding.Deflate, coding.ExplicitBound(maxBodySize))
}

// BodyUnbrotli is like BodyGunzip, but decodes brotli.
func (req *Request) BodyUnbrotli() ([]byte, error) {
	return req.decoded(coding.Brotli, coding.ContentBound(req.body.Limit))
}

// BodyUnbrotliWithLimit is BodyUnbrotli with the limit of BodyGunzipWithLimit.
func (req *Request) BodyUnbrotliWithLimit(maxBodySize int) ([]byte, error) {
	return req.decoded(coding.Brotli, coding.ExplicitBound(maxBodySize))
}

// BodyUnzstd is like BodyGunzip, but decodes zstd. It also fails with ErrBodyTooLarge
// if the body asks for a window of more than 8 MiB, which RFC 9659 forbids.
func (req *Request) BodyUnzstd() ([]byte, error) {
	return req.decoded(coding.Zstd, coding.ContentBound(req.body.Limit))
}

// BodyUnzstdWithLimit is BodyUnzstd with the limit of BodyGunzipWithLimit. The window
// may be as large as the limit, rounded up to a multiple of 8 MiB, or 512 MiB without a
// limit.
func (req *Request) BodyUnzstdWithLimit(maxBodySize int) ([]byte, error) {
	return req.decoded(coding.Zstd, coding.ExplicitBound(maxBodySize))
}

// BodyUncompressed returns the body without the codings that the
// Content-Encoding fields name: up to four of gzip, deflate, br and zstd. It fails with
// ErrContentEncodingUnsupported for other codings or more. Each step has the limit of
// BodyGunzip. Without a coding it returns the same slice as Body.
func (req *Request) BodyUncompressed() ([]byte, error) {
	return req.uncompressed(coding.ContentBound(req.body.Limit))
}

// BodyUncompressedWithLimit is BodyUncompressed with the limit of
// BodyUnzstdWithLimit, which also applies to a body without codings.
func (req *Request) BodyUncompressedWithLimit(maxBodySize int) ([]byte, error) {
	plain, err := req.uncompressed(coding.ExplicitBound(maxBodySize))
	return content.Within(maxBodySize, plain, err)
}

func (req *Request) decoded(c coding.Coding, bound coding.Bound) ([]byte, error) {
	content, err := req.loaded()
	if err != nil {
		return nil, err
	}
	return coding.Decode(content, c, bound)
}

func (req *Request) uncompressed(bound coding.Bound) ([]byte, error) {
	content, err := req.loaded()
	if err != nil {
		return nil, err
	}
	var applied coding.Applied
	list := &req.Header.head.List
	for i := list.FindID(field.ContentEncoding, 0); i >= 0; i = list.FindID(field.ContentEncoding, i+1) {
		if err := applied.Add(list.Value(i)); err != nil {
			return nil, err
		}
	}
	return applied.Undo(content, bound)
}

// loaded is Body that returns the error.
func (req *Request) loaded() ([]byte, error) {
	if err := req.loadForm(); err != nil {
		return nil, err
	}
	if err := req.body.Load(); err != nil {
		return nil, err
	}
	return req.bodyBytes(), nil
}

// BodyGunzip decodes the body with gzip and returns the result, a new slice. It fails
// with ErrBodyTooLarge if the result exceeds the MaxResponseBodySize of the client, or
// 256 MiB if it is not set.
func (resp *Response) BodyGunzip() ([]byte, error) {
	return resp.decoded(coding.Gzip, coding.ContentBound(resp.body.Limit))
}

// BodyGunzipWithLimit is BodyGunzip with a limit of maxBodySize bytes for the result; 0 or
// less means no limit. It fails with ErrBodyTooLarge if the result is larger.
func (resp *Response) BodyGunzipWithLimit(maxBodySize int) ([]byte, error) {
	return resp.decoded(coding.Gzip, coding.ExplicitBound(maxBodySize))
}

// BodyInflate is like BodyGunzip, but decodes deflate, with or without the zlib header.
func (resp *Response) BodyInflate() ([]byte, error) {
	return resp.decoded(coding.Deflate, coding.ContentBound(resp.body.Limit))
}

// BodyInflateWithLimit is BodyInflate with the limit of BodyGunzipWithLimit.
func (resp *Response) BodyInflateWithLimit(maxBodySize int) ([]byte, error) {
	return resp.decoded(coding.Deflate, coding.ExplicitBound(maxBodySize))
}

// BodyUnbrotli is like BodyGunzip, but decodes brotli.
func (resp *Response) BodyUnbrotli() ([]byte, error) {
	return resp.decoded(coding.Brotli, coding.ContentBound(resp.body.Limit))
}

// BodyUnbrotliWithLimit is BodyUnbrotli with the limit of BodyGunzipWithLimit.
func (resp *Response) BodyUnbrotliWithLimit(maxBodySize int) ([]byte, error) {
	return resp.decoded(coding.Brotli, coding.ExplicitBound(maxBodySize))
}

// BodyUnzstd is like BodyGunzip, but decodes zstd. It also fails with ErrBodyTooLarge
// if the body asks for a window of more than 8 MiB, which RFC 9659 forbids.
func (resp *Response) BodyUnzstd() ([]byte, error) {
	return resp.decoded(coding.Zstd, coding.ContentBound(resp.body.Limit))
}

// BodyUnzstdWithLimit is BodyUnzstd with the limit of BodyGunzipWithLimit. The window
// may be as large as the limit, rounded up to a multiple of 8 MiB, or 512 MiB without a
// limit.
func (resp *Response) BodyUnzstdWithLimit(maxBodySize int) ([]byte, error) {
	return resp.decoded(coding.Zstd, coding.ExplicitBound(maxBodySize))
}

// BodyUncompressed returns the body without the codings that the
// Content-Encoding field names: up to four of gzip, deflate, br and zstd. It fails with
// ErrContentEncodingUnsupported for other codings or more. Each step has the limit of
// BodyGunzip. Without a coding it returns the same slice as Body.
func (resp *Response) BodyUncompressed() ([]byte, error) {
	return resp.uncompressed(coding.ContentBound(resp.body.Limit))
}

// BodyUncompressedWithLimit is BodyUncompressed with the limit of
// BodyUnzstdWithLimit, which also applies to a body without codings.
func (resp *Response) BodyUncompressedWithLimit(maxBodySize int) ([]byte, error) {
	plain, err := resp.uncompressed(coding.ExplicitBound(maxBodySize))
	return content.Within(maxBodySize, plain, err)
}

func (resp *Response) decoded(c coding.Coding, bound coding.Bound) ([]byte, error) {
	if err := resp.body.Load(); err != nil {
		return nil, err
	}
	return coding.Decode(resp.body.Bytes(), c, bound)
}

func (resp *Response) uncompressed(bound coding.Bound) ([]byte, error) {
	if err := resp.body.Load(); err != nil {
		return nil, err
	}
	var applied coding.Applied
	if err := applied.Add(resp.Header.ContentEncoding()); err != nil {
		return nil, err
	}
	return applied.Undo(resp.body.Bytes(), bound)
}

// WriteGzip is WriteGzipLevel at CompressDefaultCompression.
func (resp *Response) WriteGzip(w *bufio.Writer) error {
	return resp.WriteGzipLevel(w, CompressDefaultCompression)
}

// WriteGzipLevel encodes the body with gzip at the level, which changes the response
// itself, and writes the response to w without flushing w. A body that CompressHandler
// would not encode is written as it is. It returns the errors of Write.
func (resp *Response) WriteGzipLevel(w *bufio.Writer, level int) error {
	return resp.writeEncoded(w, coding.Gzip, level)
}

// WriteDeflate is WriteDeflateLevel at CompressDefaultCompression.
func (resp *Response) WriteDeflate(w *bufio.Writer) error {
	return resp.WriteDeflateLevel(w, CompressDefaultCompression)
}

// WriteDeflateLevel is WriteGzipLevel for deflate, with the zlib header.
func (resp *Response) WriteDeflateLevel(w *bufio.Writer, level int) error {
	return resp.writeEncoded(w, coding.Deflate, level)
}

func (resp *Response) writeEncoded(w *bufio.Writer, c coding.Coding, level int) error {
	if resp.isEncodable(coding.DefaultTypes, minEncodedSize) {
		resp.Header.varyBy(HeaderAcceptEncoding)
		resp.encode(c, level)
	}
	return resp.Write(w)
}

// minEncodedSize is the least size in bytes of bodies that are encoded: smaller bodies
// fit into one packet in any case.
const minEncodedSize = 200

// isEncodable reports whether the response may be encoded, and has content of one of the
// types with at least that many bytes.
func (resp *Response) isEncodable(types *coding.TypeSet, least int) bool {
	h := &resp.Header
	if header.Bodiless(h.StatusCode()) || h.StatusCode() == StatusPartialContent || len(h.ContentEncoding()) > 0 {
		return false
	}
	size := len(resp.body.Bytes())
	switch {
	case resp.body.Stream != nil:
		size = resp.body.Size
	case size == 0 && resp.SkipBody:
		// of the content for GET only the length is known
		size = h.head.Length
	}
	if size >= 0 && size < least || !types.Has(h.ContentType()) {
		return false
	}
	for i := range h.head.List.Entries {
		if coding.ForbiddenBy(h.head.List.Entries[i].ID, h.head.List.Name(i), h.head.List.Value(i)) {
			return false
		}
	}
	return true
}

// isPartOfEncodable reports whether the response is a part of a representation of one of the
// types. Several parts have types of their own, which are not known here.
func (resp *Response) isPartOfEncodable(types *coding.TypeSet) bool {
	h := &resp.Header
	if h.StatusCode() != StatusPartialContent || len(h.ContentEncoding()) > 0 {
		return false
	}
	return bytes.HasPrefix(h.ContentType(), []byte("multipart/byteranges")) || types.Has(h.ContentType())
}

// encode encodes the body of a response for which isEncodable is true, and sets the
// fields for that.
func (resp *Response) encode(c coding.Coding, level int) {
	h := &resp.Header
	switch {
	case resp.body.Stream != nil:
		resp.body.EncodeStream(c, level)
		h.SetContentLength(-1)
	case len(resp.body.Bytes()) == 0:
		// the encoded length of the content for GET is not known
		h.SetContentLength(-1)
	default:
		resp.body.Encode(c, level)
	}
	h.SetContentEncoding(c.String())
	h.weakenTag()
	// ranges would refer to the encoded content, which may differ for each response
	h.head.RemoveID(field.AcceptRanges)
}

// varyBy makes the Vary field list a field of the request on which the response
// depends.
func (h *ResponseHeader) varyBy(request string) {
	first := -1
	for i := h.head.List.FindID(field.Vary, 0); i >= 0; i = h.head.List.FindID(field.Vary, i+1) {
		if first < 0 {
			first = i
		}
		for rest := h.head.List.Value(i); rest != nil; {
			var name []byte
			name, rest = ascii.NextElement(rest)
			if string(name) == "*" || ascii.EqualFoldString(name, request) {
				return
			}
		}
	}
	if first < 0 && request == HeaderAcceptEncoding {
		h.head.AppendLines(varyByCoding)
		return
	}
	if first < 0 || len(h.head.List.Value(first)) == 0 {
		h.setID(field.Vary, bytesconv.Bytes(request))
		return
	}
	// one line, since some recipients read only the first
	var text [128]byte
	value := append(text[:0], h.head.List.Value(first)...)
	value = append(append(value, strCommaSpace...), request...)
	h.head.StoreAt(first, value)
}

// varyByCoding is the usual Vary field: "Accept-Encoding".
var varyByCoding = func() *header.Lines {
	var h ResponseHeader
	h.setID(field.Vary, []byte(HeaderAcceptEncoding))
	return header.LinesOf(&h.head.List)
}()

// weakenTag makes a strong entity tag weak, so that the encoded and the plain content can
// share it: a strong tag identifies the same bytes (RFC 9110 section 8.8.1).
func (h *ResponseHeader) weakenTag() {
	i := h.head.List.FindID(field.Etag, 0)
	if i < 0 || !bytes.HasPrefix(h.head.List.Value(i), []byte{'"'}) {
		return
	}
	var text [128]byte
	h.head.StoreAt(i, append(append(text[:0], "W/"...), h.head.List.Value(i)...))
}

// SetBodySizePoolLimit sets the largest sizes in bytes of the buffers that are
// reused for other request and response bodies. The garbage collector frees larger
// buffers. With a negative limit, the default, only the limit of the pool itself
// applies, which is 1 MiB.
func SetBodySizePoolLimit(reqBodyLimit, respBodyLimit int) {
	content.BodyPoolLimits[content.RequestPool].Store(int64(reqBodyLimit))
	content.BodyPoolLimits[content.ResponsePool].Store(int64(respBodyLimit))
}

// Names of internal/bodyio that this package uses often.
type flushWriter = bodyio.Writer

var (
	errStreamClosed = bodyio.ErrClosed
	errShortStream  = bodyio.ErrShort
)

// writeLastChunk writes the end of a chunked body: the last chunk and the trailer
// section of h.
func writeLastChunk(w flushWriter, h *header.Header) error {
	end := http1.AppendLastChunk(h.Scratch[header.ScratchTrailers][:0])
	end = h.AppendTrailers(end)
	h.Scratch[header.ScratchTrailers] = end
	_, err := w.Write(end)
	return err
}

// streamPanic returns the error for a panic of a stream.
func streamPanic(what string, value any) error {
	if err, ok := value.(error); ok {
		return &ErrBodyStreamWritePanic{fmt.Errorf("%s: %w", what, err), string(debug.Stack())}
	}
	return &ErrBodyStreamWritePanic{fmt.Errorf("%s: %v", what, value), string(debug.Stack())}
}

// fileSpan is a body stream whose bytes lie in a file of the operating system, so
// that the kernel can copy them to a connection. The sender sends length bytes from
// offset on and closes the stream as it would any other. It must not move the
// position of the file, which other streams share.
type fileSpan interface {
	span() (file *os.File, offset, length int64)
}

func init() {
	content.BrokenChunk = func(err error) error { return ErrBrokenChunk{err} }
	content.StreamPanic = streamPanic
}

var _ ReadCloserWithError = (*content.Incoming)(nil)

// StreamWriter produces a body: it writes the content to w, and calls w.Flush to send the
// content written so far at once. It must return as soon as w returns an error: then the
// peer has left, or the time of Server.WriteTimeout is over.
type StreamWriter func(w *bufio.Writer)

// NewStreamReader runs sw in a goroutine and returns a reader of the content that sw
// writes. sw blocks while it is 64 KiB ahead of the reader. A panic in sw ends the
// stream with an ErrBodyStreamWritePanic.
//
// The caller must close the reader, even before its end. The writes of sw fail from
// then on, so that sw and its goroutine end.
func NewStreamReader(sw StreamWriter) io.ReadCloser {
	return bodyio.NewPipe(sw, false, producerPanic)
}

// NewBoundedStreamReader is NewStreamReader with an exact limit for the buffered content,
// and a Close that loses no content.
//
// At most 64 KiB that sw has written wait for the reader, and the reader holds at most
// 64 KiB that it has taken: never more than 128 KiB in all. sw blocks in Write and Flush
// while there is no room. When they return, the content has been accepted, which does not
// mean that a client has received it.
//
// Content that was accepted before Close can still be read, and then the reader returns
// io.EOF. Writes of sw after Close fail, and sw must return then. Close may be called while
// another goroutine reads.
//
// Use it with SetBodyStream and a size of -1.
func NewBoundedStreamReader(sw StreamWriter) io.ReadCloser {
	return bodyio.NewPipe(sw, true, producerPanic)
}

func producerPanic(value any) error { return streamPanic("panic in a StreamWriter", value) }

// BodyWriterTo is a body stream that reports whether WriteTo may be called in place of
// Read.
//
// A stream of unknown size whose WriteTo method is not a BodyWriterTo is sent by Read:
// the method may be promoted from an embedded reader whose Read was overridden.
// SupportsBodyWriteTo must return true only if WriteTo does everything that Read does,
// including side effects.
type BodyWriterTo interface {
	io.WriterTo
	SupportsBodyWriteTo() bool
}

// PiecewiseStream is a body stream that reports whether each piece of it, the result of one
// Read, is sent at once. The pieces of a stream of unknown size always are. The pieces of
// other streams are collected into larger writes by default.
type PiecewiseStream interface {
	io.Reader
	// SendsPieces is called before the body is sent.
	SendsPieces() bool
}

// ReadCloserWithError is a body stream whose close method takes the reason for closing it.
type ReadCloserWithError interface {
	io.Reader
	// CloseWithError closes the stream because of err, which is nil if there was no
	// error.
	CloseWithError(err error) error
}

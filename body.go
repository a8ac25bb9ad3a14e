package fasthttp

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
)

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

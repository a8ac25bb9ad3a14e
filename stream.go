package fasthttp

import (
	"bufio"
	"io"

	"github.com/valyala/fasthttp/internal/bodyio"
)

// StreamWriter produces a body: it writes to w what is to be sent, and calls
// w.Flush whenever the peer is to see it at once. It must return as soon as w
// returns an error, which says that the peer is gone, or that the time of
// Server.WriteTimeout is over.
type StreamWriter func(w *bufio.Writer)

// NewStreamReader runs sw in a goroutine and returns a reader of what it
// writes. sw waits while it is 64 KiB ahead of the reader. A panic in sw ends
// the stream with an ErrBodyStreamWritePanic.
//
// The reader must be closed, also before its end: that is what makes sw, whose
// writes fail from then on, and its goroutine end.
func NewStreamReader(sw StreamWriter) io.ReadCloser {
	return bodyio.NewPipe(sw, false, producerPanic)
}

// NewBoundedStreamReader is NewStreamReader with an exact bound for what it
// holds, and a Close that loses nothing.
//
// At most 64 KiB of what sw has written wait to be taken, and the reader holds
// at most as much that it took, so there are never more than 128 KiB of
// content. sw waits in Write and Flush while there is no room; when they return
// what was written has been accepted, which does not mean that a client has it.
//
// What was accepted by the time of Close can still be read, and io.EOF comes
// behind it; what sw writes from then on is refused with an error, upon which
// it must return. Close may be called while another goroutine reads.
//
// Use it with SetBodyStream and a size of -1.
func NewBoundedStreamReader(sw StreamWriter) io.ReadCloser {
	return bodyio.NewPipe(sw, true, producerPanic)
}

func producerPanic(value any) error { return streamPanic("panic in a StreamWriter", value) }

// BodyWriterTo is a body stream that says whether WriteTo may be called in the
// place of Read.
//
// A stream of unknown size that has a WriteTo method without being a
// BodyWriterTo is sent by Read: the method may come from an embedded reader
// whose Read was overridden. SupportsBodyWriteTo returns true only if
// WriteTo does everything that Read does, side effects included.
type BodyWriterTo interface {
	io.WriterTo
	SupportsBodyWriteTo() bool
}

// PiecewiseStream is a body stream that says whether each piece of it, which is
// what one Read returns, is to be sent at once. Those of a stream of unknown
// size are in any case; those of others go out when there are enough of them.
type PiecewiseStream interface {
	io.Reader
	// SendsPieces is asked when the body is about to be sent.
	SendsPieces() bool
}

// ReadCloserWithError is a body stream that is told why it is closed before
// its end.
type ReadCloserWithError interface {
	io.Reader
	// CloseWithError closes the stream because of err, which is nil if the
	// stream is closed in order.
	CloseWithError(err error) error
}

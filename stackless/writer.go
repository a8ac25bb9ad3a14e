package stackless

import (
	"io"
	"sync"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// Writer has the methods that the writers of compress/flate, compress/gzip and compress/zlib
// share.
type Writer interface {
	// Write compresses p. It may hold back output.
	Write(p []byte) (int, error)
	// Flush writes the output that was held back.
	Flush() error
	// Close ends the stream. It does not close the destination.
	Close() error
	// Reset begins a new stream, with w as the destination.
	Reset(w io.Writer)
}

// NewWriterFunc makes a Writer that writes to w.
type NewWriterFunc func(w io.Writer) Writer

// NewWriter returns a Writer that runs the Writer of newWriter on the goroutines of
// this package (see NewFunc), and writes the result to dstW on the goroutine of the
// caller. So dstW may be slow, or a connection.
//
// If too many calls wait for these goroutines, the caller does the work itself, as it would
// without this package. When a method returns nil, it has written all of its output. Like
// other writers, a Writer must not be used by several goroutines at once.
func NewWriter(dstW io.Writer, newWriter NewWriterFunc) Writer {
	w := &writer{dst: dstW}
	w.inner = newWriter((*output)(w))
	return w
}

type writer struct {
	dst   io.Writer
	inner Writer
	out   *bufpool.Buffer // the output of inner; nil if there is none

	// the current operation
	op  operation
	p   []byte
	n   int
	err error
}

type operation uint8

const (
	opWrite operation = iota
	opFlush
	opClose
	opReset
)

// pieceSize is the largest piece passed to the inner writer, so that its output, which is held
// in memory, stays small.
const pieceSize = 64 << 10

// Write implements Writer.
func (w *writer) Write(p []byte) (n int, err error) {
	for {
		w.p = p[n:min(len(p), n+pieceSize)]
		err = w.do(opWrite)
		n += w.n
		w.p = nil
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// Flush implements Writer.
func (w *writer) Flush() error { return w.do(opFlush) }

// Close implements Writer. It does not close the destination.
func (w *writer) Close() error { return w.do(opClose) }

// Reset implements Writer: it begins a new stream, with dstW as the destination.
func (w *writer) Reset(dstW io.Writer) {
	_ = w.do(opReset)
	w.dropOutput()
	w.dst = dstW
}

// do runs the current operation of the inner writer and writes its output.
func (w *writer) do(op operation) error {
	w.op, w.n, w.err = op, 0, nil
	if !runOperation(w) {
		operate(w)
	}
	if op == opReset {
		return nil
	}
	if err := w.passOn(); err != nil {
		return err
	}
	if w.err == nil && op == opWrite && w.n < len(w.p) {
		return io.ErrShortWrite
	}
	return w.err
}

// passOn writes the output of the inner writer to the destination. If that fails, the
// output is dropped, since the destination cannot be used any more.
func (w *writer) passOn() error {
	if w.out == nil {
		return nil
	}
	defer w.dropOutput()
	n, err := w.dst.Write(w.out.B)
	if err == nil && n < len(w.out.B) {
		return io.ErrShortWrite
	}
	return err
}

func (w *writer) dropOutput() {
	if w.out != nil {
		bufpool.Put(w.out)
		w.out = nil
	}
}

// output is the destination of the inner writer.
type output writer

func (o *output) Write(p []byte) (int, error) {
	if o.out == nil {
		o.out = bufpool.Get(max(len(p), minOutput))
	}
	o.out.Grow(len(p))
	o.out.B = append(o.out.B, p...)
	return len(p), nil
}

// minOutput is the initial size of the buffer for the output.
const minOutput = 4 << 10

// All writers share the goroutines, which the first use starts.
var operations = sync.OnceValue(func() func(any) bool {
	return NewFunc(func(ctx any) { operate(ctx.(*writer)) })
})

func runOperation(w *writer) bool { return operations()(w) }

func operate(w *writer) {
	switch w.op {
	case opWrite:
		w.n, w.err = w.inner.Write(w.p)
	case opFlush:
		w.err = w.inner.Flush()
	case opClose:
		w.err = w.inner.Close()
	case opReset:
		w.inner.Reset((*output)(w))
	}
}

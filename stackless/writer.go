package stackless

import (
	"io"
	"sync"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// Writer is what the writers of the packages below compress have in common.
type Writer interface {
	// Write compresses p; what comes of it may be held back.
	Write(p []byte) (int, error)
	// Flush writes what is held back.
	Flush() error
	// Close ends the stream, without closing what it is written to.
	Close() error
	// Reset begins a new stream, which is written to w.
	Reset(w io.Writer)
}

// NewWriterFunc makes a Writer that writes to w.
type NewWriterFunc func(w io.Writer) Writer

// NewWriter returns a Writer that does the work of the one that newWriter makes
// on the goroutines of this package (see NewFunc), and writes the result to dstW
// on the goroutine of the caller. dstW may therefore be slow, or a connection.
//
// Where those goroutines have more to do than they can, the work is done by the
// caller, as it would be without this package. What a method has produced was
// written when it returns, or its error tells why not. Like other writers it is
// for one goroutine at a time.
func NewWriter(dstW io.Writer, newWriter NewWriterFunc) Writer {
	w := &writer{dst: dstW}
	w.inner = newWriter((*output)(w))
	return w
}

type writer struct {
	dst   io.Writer
	inner Writer
	out   *bufpool.Buffer // of inner; nil while there is nothing in it

	// the operation that is under way
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

// pieceSize is how much is given to the inner writer at a time, so that what it
// makes of it, which is held in memory, stays small.
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

// Reset implements Writer: it begins anew, with dstW as the destination.
func (w *writer) Reset(dstW io.Writer) {
	_ = w.do(opReset)
	w.dropOutput()
	w.dst = dstW
}

// do lets the inner writer work, and passes on what it has made.
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

// passOn writes what the inner writer has made to the destination. It is dropped
// where that fails, since the destination is broken then.
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

// output is where the inner writer writes to.
type output writer

func (o *output) Write(p []byte) (int, error) {
	if o.out == nil {
		o.out = bufpool.Get(max(len(p), minOutput))
	}
	o.out.Grow(len(p))
	o.out.B = append(o.out.B, p...)
	return len(p), nil
}

// minOutput is the size of the buffer that the result begins with.
const minOutput = 4 << 10

// The goroutines are those of all writers, and are made when they are needed.
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

package bodyio

import (
	"bufio"
	"errors"
	"io"
	"sync"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// Window is the number of bytes that a producer may be ahead of the reader.
const Window = 64 << 10

// NewPipe runs produce in a goroutine and returns a reader of its output. With
// bounded the buffers never grow beyond Window, and bytes written before Close can
// still be read. If produce panics, the stream ends with the error that panicked
// returns.
func NewPipe(produce func(w *bufio.Writer), bounded bool, panicked func(any) error) *Pipe {
	p := &Pipe{bounded: bounded}
	p.changed.L = &p.mu
	go p.produce(produce, panicked)
	return p
}

// Pipe is a pipe. Its writer may be ahead of its reader by Window bytes.
type Pipe struct {
	mu      sync.Mutex
	changed sync.Cond
	filled  *bufpool.Buffer // written and not yet read
	err     error           // why the writer ended; io.EOF if it returned
	closed  bool            // by the reader
	// bounded means that buffers never grow beyond Window, and that bytes written
	// before Close can still be read
	bounded bool

	// used by the reader only
	readBuf *bufpool.Buffer
	unread  []byte // of taken
}

// errReaderClosed is the error of a producer's writes after the reader was closed.
var errReaderClosed = errors.New("fasthttp: the reader of the body stream was closed")

// errProducerExited is the error of a stream whose producer did not return, but ended
// its goroutine.
var errProducerExited = errors.New("fasthttp: the producer of the body stream has ended its goroutine")

var streamWriters = sync.Pool{New: func() any { return bufio.NewWriter(nil) }}

func (p *Pipe) produce(sw func(w *bufio.Writer), panicked func(any) error) {
	end := errProducerExited
	defer func() {
		if r := recover(); r != nil {
			end = panicked(r)
		}
		p.mu.Lock()
		p.err = end
		p.changed.Broadcast()
		p.mu.Unlock()
	}()
	w := streamWriters.Get().(*bufio.Writer)
	w.Reset((*pipeWriter)(p))
	sw(w)
	end = io.EOF
	_ = w.Flush()
	// a writer that panicked is not reused
	w.Reset(nil)
	streamWriters.Put(w)
}

// pipeWriter is the writing end of a Pipe.
type pipeWriter Pipe

func (w *pipeWriter) Write(b []byte) (n int, err error) {
	p := (*Pipe)(w)
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		for !p.closed && p.filled != nil && len(p.filled.B) >= Window {
			p.changed.Wait()
		}
		if p.closed {
			return n, errReaderClosed
		}
		if p.filled == nil {
			p.filled = bufpool.Get(p.room(len(b)))
		}
		k := min(len(b), Window-len(p.filled.B))
		p.filled.Grow(k)
		p.filled.B = append(p.filled.B, b[:k]...)
		b = b[k:]
		n += k
		p.changed.Broadcast()
	}
	return n, nil
}

// room returns the size of the buffer for n bytes and more.
func (p *Pipe) room(n int) int {
	if p.bounded {
		return Window
	}
	return min(n, Window)
}

// fetch waits for bytes and moves all of them to the reader's side.
func (p *Pipe) fetch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	bufpool.Put(p.readBuf)
	p.readBuf, p.unread = nil, nil
	for p.filled == nil && p.err == nil && !p.closed {
		p.changed.Wait()
	}
	switch {
	case p.closed && !p.bounded:
		return ErrClosed
	case p.filled != nil:
	case p.err != nil:
		return p.err
	default:
		// closed, and all bytes written before that were read
		return io.EOF
	}
	p.readBuf, p.filled = p.filled, nil
	p.unread = p.readBuf.B
	p.changed.Broadcast()
	return nil
}

// Waits reports whether the next read would have to wait for the producer.
func (p *Pipe) Waits() bool {
	if len(p.unread) > 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.filled == nil && p.err == nil && !p.closed
}

// Read implements io.Reader.
func (p *Pipe) Read(b []byte) (int, error) {
	if len(p.unread) == 0 && len(b) > 0 {
		if err := p.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.unread)
	p.unread = p.unread[n:]
	return n, nil
}

// WriteTo implements io.WriterTo: everything that the producer has written so far is
// written to w in one call.
func (p *Pipe) WriteTo(w io.Writer) (n int64, err error) {
	for {
		if len(p.unread) == 0 {
			if err := p.fetch(); err == io.EOF {
				return n, nil
			} else if err != nil {
				return n, err
			}
		}
		k, err := w.Write(p.unread)
		n += int64(k)
		p.unread = p.unread[k:]
		if err != nil {
			return n, err
		}
	}
}

// SupportsBodyWriteTo reports that WriteTo may be called instead of Read.
func (p *Pipe) SupportsBodyWriteTo() bool { return true }

// Close ends the stream: the producer's writes fail from now on.
func (p *Pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if !p.bounded {
		bufpool.Put(p.filled)
		p.filled = nil
	}
	p.changed.Broadcast()
	return nil
}

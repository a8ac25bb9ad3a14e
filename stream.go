package fasthttp

import (
	"bufio"
	"errors"
	"io"
	"sync"

	"github.com/valyala/fasthttp/internal/bufpool"
)

// StreamWriter produces a body: it writes to w what is to be sent, and calls
// w.Flush whenever the peer is to see it at once. It must return as soon as w
// returns an error, which says that the peer is gone, or that the time of
// Server.WriteTimeout is over.
type StreamWriter func(w *bufio.Writer)

// streamWindow is how many bytes a producer may be ahead of the reader.
const streamWindow = 64 << 10

// NewStreamReader runs sw in a goroutine and returns a reader of what it
// writes. sw waits while it is 64 KiB ahead of the reader. A panic in sw ends
// the stream with an ErrBodyStreamWritePanic.
//
// The reader must be closed, also before its end: that is what makes sw, whose
// writes fail from then on, and its goroutine end.
func NewStreamReader(sw StreamWriter) io.ReadCloser {
	return startProducer(&streamPipe{}, sw)
}

func startProducer(p *streamPipe, sw StreamWriter) *streamPipe {
	p.changed.L = &p.mu
	go p.produce(sw)
	return p
}

// streamPipe is a pipe whose writer may run ahead of its reader by
// streamWindow bytes.
type streamPipe struct {
	mu      sync.Mutex
	changed sync.Cond
	filled  *bufpool.Buffer // written and not yet read
	err     error           // why the writer ended; io.EOF where it returned
	closed  bool            // by the reader
	// bounded says that buffers never grow beyond streamWindow, and that what
	// was written before Close can still be read
	bounded bool

	// of the reader alone
	taken *bufpool.Buffer
	rest  []byte // of taken
}

// errStreamReaderClosed is what a producer gets whose reader is gone.
var errStreamReaderClosed = errors.New("fasthttp: the reader of the body stream was closed")

// errProducerLeft is how a stream ends whose producer did not return, but ended
// its goroutine.
var errProducerLeft = errors.New("fasthttp: the producer of the body stream has ended its goroutine")

var streamWriters = sync.Pool{New: func() any { return bufio.NewWriter(nil) }}

func (p *streamPipe) produce(sw StreamWriter) {
	end := errProducerLeft
	defer func() {
		if r := recover(); r != nil {
			end = streamPanic("panic in a StreamWriter", r)
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
	// a writer that panicked is not used again
	w.Reset(nil)
	streamWriters.Put(w)
}

// pipeWriter is the writing end of a streamPipe.
type pipeWriter streamPipe

func (w *pipeWriter) Write(b []byte) (n int, err error) {
	p := (*streamPipe)(w)
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		for !p.closed && p.filled != nil && len(p.filled.B) >= streamWindow {
			p.changed.Wait()
		}
		if p.closed {
			return n, errStreamReaderClosed
		}
		if p.filled == nil {
			p.filled = bufpool.Get(p.room(len(b)))
		}
		k := min(len(b), streamWindow-len(p.filled.B))
		p.filled.B = append(p.filled.B, b[:k]...)
		b = b[k:]
		n += k
		p.changed.Broadcast()
	}
	return n, nil
}

// room returns how large the buffer for n bytes and more is to be.
func (p *streamPipe) room(n int) int {
	if p.bounded {
		return streamWindow
	}
	return min(n, streamWindow)
}

// take waits for bytes and moves all of them to the reader's side.
func (p *streamPipe) take() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	bufpool.Put(p.taken)
	p.taken, p.rest = nil, nil
	for p.filled == nil && p.err == nil && !p.closed {
		p.changed.Wait()
	}
	switch {
	case p.closed && !p.bounded:
		return errStreamClosed
	case p.filled != nil:
	case p.err != nil:
		return p.err
	default:
		// closed, and all that was written before that was read
		return io.EOF
	}
	p.taken, p.filled = p.filled, nil
	p.rest = p.taken.B
	p.changed.Broadcast()
	return nil
}

// waits reports whether the next read would have to wait for the producer.
func (p *streamPipe) waits() bool {
	if len(p.rest) > 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.filled == nil && p.err == nil && !p.closed
}

// Read implements io.Reader.
func (p *streamPipe) Read(b []byte) (int, error) {
	if len(p.rest) == 0 && len(b) > 0 {
		if err := p.take(); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// WriteTo implements io.WriterTo: everything that the producer has written by
// then goes to w in one call.
func (p *streamPipe) WriteTo(w io.Writer) (n int64, err error) {
	for {
		if len(p.rest) == 0 {
			if err := p.take(); err == io.EOF {
				return n, nil
			} else if err != nil {
				return n, err
			}
		}
		k, err := w.Write(p.rest)
		n += int64(k)
		p.rest = p.rest[k:]
		if err != nil {
			return n, err
		}
	}
}

// SupportsBodyWriteTo implements BodyWriterTo.
func (p *streamPipe) SupportsBodyWriteTo() bool { return true }

// Close ends the stream: the producer's writes fail from now on.
func (p *streamPipe) Close() error {
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

// NewBoundedStreamReader is NewStreamReader with an exact bound for what it
// holds, and a Close that loses nothing.
//
// At most 64 KiB of what sw has written wait to be taken, and the reader holds
// at most as much that it took, so there are never more than 128 KiB of
// content. sw waits in Write and Flush where there is no room; when they return
// what was written has been accepted, which does not mean that a client has it.
//
// What was accepted by the time of Close can still be read, and io.EOF comes
// behind it; what sw writes from then on is refused with an error, upon which
// it must return. Close may be called while another goroutine reads.
//
// Use it with SetBodyStream and a size of -1.
func NewBoundedStreamReader(sw StreamWriter) io.ReadCloser {
	return startProducer(&streamPipe{bounded: true}, sw)
}

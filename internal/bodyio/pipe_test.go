package bodyio

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// waitUntilFull waits until the pipe has room for no more bytes.
func (p *Pipe) waitUntilFull() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.filled == nil || len(p.filled.B) < Window {
		p.changed.Wait()
	}
}

// TestBoundedPipeHoldsNoMoreThanItSays has the producer write as far as it can, in
// pieces of many sizes, and checks the memory that the pipe uses.
func TestBoundedPipeHoldsNoMoreThanItSays(t *testing.T) {
	for _, piece := range []int{1, 100, 5000, Window - 1, 3 * Window} {
		r := NewPipe(func(w *bufio.Writer) {
			for {
				if _, err := w.Write(make([]byte, piece)); err != nil {
					return
				}
				if err := w.Flush(); err != nil {
					return
				}
			}
		}, true, nil)
		r.waitUntilFull()
		if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		r.waitUntilFull()
		r.mu.Lock()
		if held := len(r.filled.B) + len(r.readBuf.B); held > 2*Window {
			t.Errorf("pieces of %d bytes: %d bytes are held", piece, held)
		}
		r.mu.Unlock()
		_ = r.Close()
	}
}

func TestProducerMayBeAheadByTheWindow(t *testing.T) {
	wrote := make(chan int)
	r := NewPipe(func(w *bufio.Writer) {
		piece := make([]byte, 1024)
		for n := 0; ; {
			if _, err := w.Write(piece); err != nil {
				close(wrote)
				return
			}
			if err := w.Flush(); err != nil {
				close(wrote)
				return
			}
			n += len(piece)
			wrote <- n
		}
	}, false, nil)
	last := 0
	for last < Window {
		last = servertest.Receive(t, "a write", wrote)
	}
	r.mu.Lock()
	filled := len(r.filled.B)
	r.mu.Unlock()
	if filled != Window {
		t.Errorf("%d bytes wait to be read, want %d", filled, Window)
	}
	// the producer waits in its next write; a read unblocks it
	if _, err := io.ReadFull(r, make([]byte, Window)); err != nil {
		t.Fatal(err)
	}
	if next := servertest.Receive(t, "the next write", wrote); next != last+1024 {
		t.Errorf("the producer has written %d", next)
	}
	_ = r.Close()
	for range wrote {
	}
}

func TestPipeWhoseProducerPanics(t *testing.T) {
	mistake := errors.New("a mistake")
	p := NewPipe(func(w *bufio.Writer) {
		_, _ = w.WriteString("before")
		_ = w.Flush()
		panic(mistake)
	}, false, func(value any) error { return value.(error) })
	defer p.Close()
	if b, err := io.ReadAll(p); string(b) != "before" || err != mistake {
		t.Errorf("got %q, %v", b, err)
	}
	if p.Waits() {
		t.Error("Waits returns true after the end")
	}
}

// The bytes pass through memory of the pool: a pipe of 1 MB allocates no more than one of a
// few bytes.
func TestPipeAllocatesNoMoreForMore(t *testing.T) {
	if servertest.RaceDetector {
		t.Skip("under the race detector pools lose memory")
	}
	piece := bytes.Repeat([]byte("a"), 100)
	allocated := func(writes int) float64 {
		return testing.AllocsPerRun(20, func() {
			r := NewPipe(func(w *bufio.Writer) {
				for range writes {
					_, _ = w.Write(piece)
				}
			}, false, nil)
			if n, err := io.Copy(io.Discard, r); n != int64(writes*len(piece)) || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			_ = r.Close()
		})
	}
	if few, many := allocated(1), allocated(10_000); many > few+5 {
		t.Errorf("%v allocations for 1 MB, %v for 100 bytes", many, few)
	}
}

// BenchmarkPipe writes pieces of 100 bytes, as templates do, while another goroutine reads.
func BenchmarkPipe(b *testing.B) {
	const writes = 10_000
	piece := bytes.Repeat([]byte("a"), 100)
	b.SetBytes(writes * int64(len(piece)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewPipe(func(w *bufio.Writer) {
			for range writes {
				_, _ = w.Write(piece)
			}
		}, false, nil)
		if n, err := io.Copy(io.Discard, r); n != writes*int64(len(piece)) || err != nil {
			b.Fatal(n, err)
		}
		_ = r.Close()
	}
}

package bodyio

import (
	"cmp"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/lockorder"
)

// GuardedStream is a stream guarded by a ReadGuard, which calls its methods one at a time, except
// for Interrupt.
type GuardedStream interface {
	// Next reads like io.Reader; done means that nothing follows.
	Next(p []byte) (n int, done bool, err error)
	// Discard ends an unread stream. It waits for the rest of the stream for
	// at most within, or not at all if within is negative.
	Discard(within time.Duration)
	// Release releases the source of the stream. cut means that the stream was closed
	// during Next.
	Release(cut bool)
	// Interrupt makes the running Next fail.
	Interrupt() error
}

// ReadGuard lets one goroutine close a stream while another one reads it: the read fails.
// The zero value is the ReadGuard of a stream that was not read yet. The methods may be
// called concurrently.
type ReadGuard struct {
	// reading is held by the goroutine that reads or cleans up
	reading lockorder.Mutex[lockorder.ReadGuard]
	phase   atomic.Int32
	err     error // returned by Read in the phase guardReleased
}

// The phases of a ReadGuard.
const (
	guardIdle     int32 = iota
	guardReading        // a Read, or a Close, is under way
	guardClosing        // closed meanwhile: the reading goroutine has to clean up
	guardReleased       // the stream was released
)

// Read reads from s.
func (g *ReadGuard) Read(s GuardedStream, p []byte) (int, error) {
	if !g.reading.TryLock() {
		return 0, ErrClosed
	}
	defer g.reading.Unlock()
	if !g.phase.CompareAndSwap(guardIdle, guardReading) {
		if g.phase.Load() == guardReleased && g.err != nil {
			return 0, g.err
		}
		return 0, ErrClosed
	}
	n, done, err := s.Next(p)
	switch {
	case err != nil || done:
		g.err = cmp.Or(err, io.EOF)
		if g.release(s) {
			err = ErrClosed
		}
	case !g.phase.CompareAndSwap(guardReading, guardIdle):
		g.release(s)
		err = ErrClosed
	}
	return n, err
}

// release releases s, and reports whether another goroutine closed it meanwhile. The
// phase changes first: a later Close does not touch the source, which may be in use
// again.
func (g *ReadGuard) release(s GuardedStream) (cut bool) {
	cut = g.phase.Swap(guardReleased) == guardClosing
	s.Release(cut)
	return cut
}

// Close ends s; see GuardedStream.Discard for within. When it returns no goroutine reads any
// more.
func (g *ReadGuard) Close(s GuardedStream, within time.Duration) error {
	for {
		switch g.phase.Load() {
		case guardIdle:
			if !g.reading.TryLock() {
				// a Read is about to begin
				runtime.Gosched()
				continue
			}
			g.closeIdle(s, within)
			g.reading.Unlock()
		case guardReading:
			if !g.phase.CompareAndSwap(guardReading, guardClosing) {
				continue
			}
			// the reading goroutine sees that, and does the rest
			err := s.Interrupt()
			g.reading.Lock()
			defer g.reading.Unlock()
			return err
		default:
			return nil
		}
	}
}

// closeIdle is Close of a stream that no goroutine reads, and whose lock is held.
func (g *ReadGuard) closeIdle(s GuardedStream, within time.Duration) {
	if g.phase.CompareAndSwap(guardIdle, guardReading) {
		s.Discard(within)
		g.release(s)
	}
}

// End is Close for a stream that has already ended and that no other goroutine uses:
// Read returns io.EOF from now on.
func (g *ReadGuard) End(s GuardedStream, within time.Duration) {
	g.err = io.EOF
	_ = g.Close(s, within)
}

// IsClosed reports whether the stream was closed, or has ended.
func (g *ReadGuard) IsClosed() bool { return g.phase.Load() >= guardClosing }

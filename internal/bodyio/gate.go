package bodyio

import (
	"cmp"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Gated is a stream guarded by a Gate, which calls its methods one at a time, except
// for Interrupt.
type Gated interface {
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

// Gate lets one goroutine close a stream while another one reads it: the read fails.
// The zero value is the Gate of a stream that was not read yet. The methods may be
// called concurrently.
type Gate struct {
	// reading is held by the goroutine that reads or cleans up
	reading sync.Mutex
	phase   atomic.Int32
	err     error // returned by Read in the phase gateOver
}

// The phases of a Gate.
const (
	gateIdle    int32 = iota
	gateReading       // a Read, or a Close, is under way
	gateCut           // closed meanwhile: the reading goroutine has to clean up
	gateOver          // the stream was released
)

// Read reads from s.
func (g *Gate) Read(s Gated, p []byte) (int, error) {
	if !g.reading.TryLock() {
		return 0, ErrClosed
	}
	defer g.reading.Unlock()
	if !g.phase.CompareAndSwap(gateIdle, gateReading) {
		if g.phase.Load() == gateOver && g.err != nil {
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
	case !g.phase.CompareAndSwap(gateReading, gateIdle):
		g.release(s)
		err = ErrClosed
	}
	return n, err
}

// release releases s, and reports whether another goroutine closed it meanwhile. The
// phase changes first: a later Close does not touch the source, which may be in use
// again.
func (g *Gate) release(s Gated) (cut bool) {
	cut = g.phase.Swap(gateOver) == gateCut
	s.Release(cut)
	return cut
}

// Close ends s; see Gated.Discard for within. When it returns no goroutine reads any
// more.
func (g *Gate) Close(s Gated, within time.Duration) error {
	for {
		switch g.phase.Load() {
		case gateIdle:
			if !g.reading.TryLock() {
				// a Read is about to begin
				runtime.Gosched()
				continue
			}
			g.closeIdle(s, within)
			g.reading.Unlock()
		case gateReading:
			if !g.phase.CompareAndSwap(gateReading, gateCut) {
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
func (g *Gate) closeIdle(s Gated, within time.Duration) {
	if g.phase.CompareAndSwap(gateIdle, gateReading) {
		s.Discard(within)
		g.release(s)
	}
}

// End is Close for a stream that has already ended and that no other goroutine uses:
// Read returns io.EOF from now on.
func (g *Gate) End(s Gated, within time.Duration) {
	g.err = io.EOF
	_ = g.Close(s, within)
}

// IsClosed reports whether the stream was closed, or has ended.
func (g *Gate) IsClosed() bool { return g.phase.Load() >= gateCut }

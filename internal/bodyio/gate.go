package bodyio

import (
	"cmp"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// Gated is a stream behind a Gate, which calls its methods one at a time, except for
// Interrupt.
type Gated interface {
	// Next reads like io.Reader; done says that nothing comes behind that.
	Next(p []byte) (n int, done bool, err error)
	// Discard ends a stream that nobody reads. The rest of it has some time to come, or
	// is not waited for if that is negative.
	Discard(within time.Duration)
	// Release gives back what the stream reads from. cut says that it was closed during
	// Next.
	Release(cut bool)
	// Interrupt makes Next fail, which is under way.
	Interrupt() error
}

// Gate lets one goroutine read a stream while another one may close it: that read
// fails. The zero value is that of a stream that nobody has read. The methods may be
// called concurrently.
type Gate struct {
	// reading is held by who reads or cleans up
	reading sync.Mutex
	phase   atomic.Int32
	err     error // what Read returns in the phase gateOver
}

// The phases of a Gate.
const (
	gateIdle    int32 = iota
	gateReading       // a Read, or a Close, is under way
	gateCut           // closed while it was, so that who reads has to clean up
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

// release releases s, and reports whether it was closed by somebody else meanwhile. The
// phase changes first: whoever closes s after that leaves alone what it has read from,
// which may be in use again.
func (g *Gate) release(s Gated) (cut bool) {
	cut = g.phase.Swap(gateOver) == gateCut
	s.Release(cut)
	return cut
}

// Close ends s; within is that of Gated.Discard. When it returns nobody reads any more.
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
			// whoever reads sees that, and does the rest
			err := s.Interrupt()
			g.reading.Lock()
			defer g.reading.Unlock()
			return err
		default:
			return nil
		}
	}
}

// closeIdle is Close of a stream that nobody reads, and whose lock is held.
func (g *Gate) closeIdle(s Gated, within time.Duration) {
	if g.phase.CompareAndSwap(gateIdle, gateReading) {
		s.Discard(within)
		g.release(s)
	}
}

// End is Close for a stream that nobody else knows of, and that has ended already: Read
// returns io.EOF from now on.
func (g *Gate) End(s Gated, within time.Duration) {
	g.err = io.EOF
	_ = g.Close(s, within)
}

// IsClosed reports whether the stream was closed, or has ended.
func (g *Gate) IsClosed() bool { return g.phase.Load() >= gateCut }

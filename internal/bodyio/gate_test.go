package bodyio

import (
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp/internal/servertest"
)

// gated is a stream of pieces; a piece that is nil waits for an interruption.
type gated struct {
	pieces      [][]byte
	waits       chan struct{} // closed when Next waits
	interrupted chan struct{}

	discards, releases, cuts int
}

func newGated(pieces ...[]byte) *gated {
	return &gated{pieces: pieces, waits: make(chan struct{}), interrupted: make(chan struct{})}
}

var errInterrupted = errors.New("interrupted")

func (s *gated) Next(p []byte) (n int, done bool, err error) {
	piece := s.pieces[0]
	s.pieces = s.pieces[1:]
	if piece == nil {
		close(s.waits)
		<-s.interrupted
		return 0, false, errInterrupted
	}
	return copy(p, piece), len(s.pieces) == 0, nil
}

func (s *gated) Discard(time.Duration) { s.discards++ }

func (s *gated) Release(cut bool) {
	s.releases++
	if cut {
		s.cuts++
	}
}

func (s *gated) Interrupt() error {
	close(s.interrupted)
	return nil
}

func (s *gated) expect(t *testing.T, discards, releases, cuts int) {
	t.Helper()
	if s.discards != discards || s.releases != releases || s.cuts != cuts {
		t.Errorf("%d discards, %d releases, %d of them cut; want %d, %d, %d", s.discards, s.releases, s.cuts, discards, releases, cuts)
	}
}

func TestGateReleasesAtTheEnd(t *testing.T) {
	var g ReadGuard
	s := newGated([]byte("a"), []byte("b"))
	p := make([]byte, 8)
	for range 2 {
		if n, err := g.Read(s, p); n != 1 || err != nil {
			t.Fatalf("read %d, %v", n, err)
		}
	}
	if !g.IsClosed() {
		t.Error("the stream has not ended")
	}
	if n, err := g.Read(s, p); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v", n, err)
	}
	if err := g.Close(s, 0); err != nil {
		t.Error(err)
	}
	s.expect(t, 0, 1, 0)
}

func TestGateClosesIdleStreams(t *testing.T) {
	var g ReadGuard
	s := newGated([]byte("a"))
	if g.IsClosed() {
		t.Error("a stream is closed from the beginning")
	}
	for range 2 {
		if err := g.Close(s, 0); err != nil {
			t.Error(err)
		}
	}
	if _, err := g.Read(s, nil); err != ErrClosed {
		t.Errorf("reading a closed stream: %v", err)
	}
	s.expect(t, 1, 1, 0)

	g, s = ReadGuard{}, newGated([]byte("a"))
	g.End(s, 0)
	if _, err := g.Read(s, nil); err != io.EOF {
		t.Errorf("reading a stream at its end: %v", err)
	}
	s.expect(t, 1, 1, 0)
}

func TestGateInterruptsReads(t *testing.T) {
	var g ReadGuard
	s := newGated(nil)
	read := make(chan error)
	go func() {
		_, err := g.Read(s, nil)
		read <- err
	}()
	servertest.Receive(t, "the read that waits", s.waits)
	if _, err := g.Read(s, nil); err != ErrClosed {
		t.Errorf("the second reader gets %v", err)
	}
	closed := make(chan error)
	go func() { closed <- g.Close(s, 0) }()
	if err := servertest.Receive(t, "the end of the read", read); err != ErrClosed {
		t.Errorf("the reader gets %v", err)
	}
	if err := servertest.Receive(t, "the end of Close", closed); err != nil {
		t.Error(err)
	}
	s.expect(t, 0, 1, 1)
	if _, err := g.Read(s, nil); err != errInterrupted {
		t.Errorf("reading after that: %v", err)
	}
}

// The gate releases a stream once, however reads and closes overlap.
func TestGateReleasesOnce(t *testing.T) {
	for range 500 {
		var g ReadGuard
		s := newGated([]byte("a"), []byte("b"), []byte("c"))
		var both sync.WaitGroup
		both.Go(func() {
			for p := make([]byte, 1); ; {
				if _, err := g.Read(s, p); err != nil {
					return
				}
			}
		})
		both.Go(func() { _ = g.Close(s, 0) })
		both.Wait()
		if s.releases != 1 {
			t.Fatalf("%d releases", s.releases)
		}
	}
}

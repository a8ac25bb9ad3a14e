package netio

import (
	"io"
	"testing"
)

// lazy returns no bytes in its first reads, then the bytes of r.
type lazy struct {
	empty int
	r     func(p []byte) (int, error)
}

func (l *lazy) Read(p []byte) (int, error) {
	if l.empty--; l.empty >= 0 {
		return 0, nil
	}
	return l.r(p)
}

func TestSomeWaitsForAByteOrAnError(t *testing.T) {
	for _, c := range []struct {
		empty, n int
		err      error
	}{
		{0, 1, nil}, {0, 3, io.EOF}, {0, 0, io.EOF}, {maxEmpty - 1, 2, nil}, {maxEmpty - 1, 0, io.ErrUnexpectedEOF},
	} {
		n, err := Some(&lazy{c.empty, func([]byte) (int, error) { return c.n, c.err }}, make([]byte, 8))
		if n != c.n || err != c.err {
			t.Errorf("after %d empty reads: %d, %v, want %d, %v", c.empty, n, err, c.n, c.err)
		}
	}
}

func TestSomeGivesUp(t *testing.T) {
	n, err := Some(&lazy{maxEmpty, func([]byte) (int, error) { return 1, nil }}, make([]byte, 8))
	if n != 0 || err != io.ErrNoProgress {
		t.Errorf("got %d, %v", n, err)
	}
}

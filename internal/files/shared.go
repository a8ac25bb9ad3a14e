package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/netio"
)

// ErrNotRegular means that a file cannot be sent because it is a directory, a
// device or the like.
var ErrNotRegular = errors.New("fasthttp: not a regular file")

// Shared is an open file whose parts are read concurrently, each from its own
// position. It is closed when its last user releases it.
type Shared struct {
	file   fs.File
	at     io.ReaderAt
	shares atomic.Int64
}

// NewShared returns file with one share, which is the caller's. at is the same
// file.
func NewShared(file fs.File, at io.ReaderAt) *Shared {
	f := &Shared{file: file, at: at}
	f.shares.Store(1)
	return f
}

// acquire takes another share. It reports whether it could: the file may already be
// closed.
func (f *Shared) acquire() bool {
	for {
		n := f.shares.Load()
		if n == 0 {
			return false
		}
		if f.shares.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// release releases a share.
func (f *Shared) release() error {
	if f.shares.Add(-1) == 0 {
		return f.file.Close()
	}
	return nil
}

// Part returns a span of the file. A share of the caller passes to the part, and
// Close releases it.
func (f *Shared) Part(s Span) Part {
	return Part{shared: f, unread: s}
}

// Part is a stream of a span of a shared file. It must not be copied after the
// first read. Parts are not reused for other responses: one costs little compared
// to sending it, and a user that still holds a closed one can do no harm.
type Part struct {
	shared *Shared
	unread Span
	closed bool
}

// Read implements io.Reader. If the file has become shorter it ends early, which
// the sender of the stream treats as an error.
func (p *Part) Read(b []byte) (int, error) {
	if p.closed {
		return 0, netio.ErrClosed
	}
	if p.unread.Length <= 0 {
		return 0, io.EOF
	}
	n, err := p.shared.at.ReadAt(b[:min(int64(len(b)), p.unread.Length)], p.unread.Offset)
	p.unread.Offset += int64(n)
	p.unread.Length -= int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Close implements io.Closer.
func (p *Part) Close() error {
	if p.closed {
		return nil
	}
	p.closed = true
	return p.shared.release()
}

// File returns the file of the operating system that holds the part, or nil.
func (p *Part) File() *os.File {
	file, _ := p.shared.file.(*os.File)
	return file
}

// Unread returns the unread span.
func (p *Part) Unread() Span { return p.unread }

package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/bufpool"
	"github.com/valyala/fasthttp/internal/httpdate"
	"github.com/valyala/fasthttp/internal/netio"
)

// MaxSmall is the largest size of files kept in memory, and sent in the same write
// as their head. At this size that takes a fifth less processor time than sendfile,
// which sends larger files.
const MaxSmall = 64 << 10

// Content is one representation of a file or a page: the part that all its responses
// share. It does not change, with two exceptions: the first response stores its
// fields here, and the file is closed when the cache and all responses have released
// it.
type Content struct {
	Size         int64  // in bytes
	Coding       string // for Content-Encoding, or ""
	Type         []byte // for Content-Type
	ETag         []byte // nil if there is none
	LastModified []byte // nil if there is none

	// Fields is stored by the first response for later ones. The caller chooses its
	// type.
	Fields atomic.Value

	// the bytes, in one of
	data   []byte                  // memory
	shared *Shared                 // a file that can be read in any order
	reopen func() (fs.File, error) // a file that has to be read from the start

	modified time.Time
}

var (
	// errChanged means that a file has just changed.
	errChanged = errors.New("fasthttp: file changed while it was read")
	// errUnreadable means that a file was opened, but not read.
	errUnreadable = errors.New("fasthttp: file cannot be read")
)

// readError returns the error for err, of reading a file that was opened: the file exists, so
// the client's path is not to blame, unless the file has just been removed.
func readError(err error) error {
	if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w: %w", errUnreadable, err)
}

// loadContent makes a representation of the first size bytes of an open file. It
// takes f over: it keeps or closes it. If typ is empty, it guesses the type from the
// content. The result has no time.
func loadContent(f fs.File, size int64, typ string, open func() (fs.File, error)) (*Content, error) {
	c := &Content{Size: size, Type: []byte(typ)}
	at, isAt := f.(io.ReaderAt)
	if c.Size > MaxSmall && isAt {
		if len(c.Type) == 0 {
			start := make([]byte, sniffLen)
			n, err := at.ReadAt(start, 0)
			if err != nil && err != io.EOF {
				return nil, errors.Join(readError(err), f.Close())
			}
			c.Type = []byte(contentTypeByStart(start[:n]))
		}
		c.shared = NewShared(f, at)
		return c, nil
	}
	start := make([]byte, min(c.Size, MaxSmall))
	_, err := io.ReadFull(f, start)
	if err := errors.Join(err, f.Close()); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = errChanged
		}
		return nil, readError(err)
	}
	if len(c.Type) == 0 {
		c.Type = []byte(contentTypeByStart(start[:min(len(start), sniffLen)]))
	}
	if c.Size > MaxSmall {
		c.reopen = func() (fs.File, error) { return openSame(open, size) }
	} else {
		c.data = start
	}
	return c, nil
}

// openSame opens a file again. It is an error if the file does not have size bytes any more:
// part of it, with the fields of the other one, would look like all of it.
func openSame(open func() (fs.File, error), size int64) (fs.File, error) {
	f, err := open()
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != size {
		err = errChanged
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// dataContent makes a representation of bytes in memory.
func dataContent(data []byte, typ string, modified time.Time) *Content {
	c := &Content{Size: int64(len(data)), data: data, Type: []byte(typ)}
	c.setModified(modified)
	return c
}

// setModified sets the modification time. A file system without such times, such as
// embed.FS, has times near zero. So have trees whose files all get the same time, such as
// Nix's with 1: it would make changed content look unchanged.
func (c *Content) setModified(t time.Time) {
	if t.Unix() <= 1 {
		return
	}
	c.modified = t
	c.LastModified = httpdate.Append(nil, t)
}

// Validator returns the values for conditions.
func (c *Content) Validator() Validator { return Validator{c.ETag, c.modified} }

// Acquire keeps the file open until Release. It reports whether it could: the cache
// may just have closed the file.
func (c *Content) Acquire() bool { return c.shared == nil || c.shared.acquire() }

// Release undoes Acquire.
func (c *Content) Release() {
	if c.shared == nil {
		return
	}
	// a panic in a Close of the application matters no more than an error, and would end the program
	// if a timer closes the file
	defer func() { _ = recover() }()
	_ = c.shared.release()
}

// Bytes returns a part of the content, which the caller must not change; ok reports
// whether the content is in memory.
func (c *Content) Bytes(s Span) (b []byte, ok bool) {
	if c.shared != nil || c.reopen != nil {
		return nil, false
	}
	return c.data[s.Offset:s.End()], true
}

// Shared returns the file that holds the content from offset 0, or nil if the
// content is in memory or has to be read from the start.
func (c *Content) Shared() *Shared { return c.shared }

// HasToBeReopened reports whether the content is a file opened for each response.
func (c *Content) HasToBeReopened() bool { return c.reopen != nil }

// Reopen returns a stream of a part of content that has to be reopened. It fails if the file was
// removed, or has another size than it had.
func (c *Content) Reopen(s Span) (io.ReadCloser, error) {
	f, err := c.reopen()
	if err != nil {
		return nil, err
	}
	if err := skipTo(f, s.Offset); err != nil {
		return nil, errors.Join(readError(err), f.Close())
	}
	return &sequentialStream{io.LimitedReader{R: f, N: s.Length}, f}, nil
}

// skipTo moves a newly opened file to an offset.
func skipTo(f fs.File, offset int64) error {
	if offset == 0 {
		return nil
	}
	if s, ok := f.(io.Seeker); ok {
		_, err := s.Seek(offset, io.SeekStart)
		return err
	}
	_, err := io.CopyN(io.Discard, f, offset)
	return err
}

// ReaderAt returns a reader of the content in any order, or nil if it has to be read
// from the start.
func (c *Content) ReaderAt() io.ReaderAt {
	switch {
	case c.shared != nil:
		return c.shared.at
	case c.reopen != nil:
		return nil
	}
	return bytes.NewReader(c.data)
}

// reader returns a reader of the content from its start, which the caller closes.
func (c *Content) reader() (io.ReadCloser, error) {
	if at := c.ReaderAt(); at != nil {
		return io.NopCloser(io.NewSectionReader(at, 0, c.Size)), nil
	}
	return c.reopen()
}

// sequentialStream is a part of a file that was opened for one response.
type sequentialStream struct {
	io.LimitedReader
	file fs.File
}

// Close implements io.Closer.
func (s *sequentialStream) Close() error {
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file, s.R = nil, errorReader{}
	return f.Close()
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, netio.ErrClosed }

// copyBufferSize is the size of the pieces in which content is copied.
const copyBufferSize = 32 << 10

// copyAll copies all of r to w.
func copyAll(w io.Writer, r io.Reader) (int64, error) {
	buf := bufpool.Get(copyBufferSize)
	defer bufpool.Put(buf)
	return io.CopyBuffer(w, r, buf.B[:cap(buf.B)])
}

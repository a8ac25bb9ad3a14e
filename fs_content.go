package fasthttp

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp/internal/files"
)

// smallContent is the size up to which files are served from memory, in the
// same write as their head. At this size that takes a fifth less processor time
// than having the system send the file, which it does above.
const smallContent = 64 << 10

// fileContent is one representation of a file, ready to be sent: all that its
// responses have in common. It is never changed, except that its file is closed
// when the cache and the last response let go of it, and that its first response
// leaves its fields here.
type fileContent struct {
	size     int64
	data     []byte                  // the bytes, where they are in memory
	shared   *sharedFile             // where they are in a file that can be read anywhere
	reopen   func() (fs.File, error) // where they have to be read from the start
	coding   string                  // Content-Encoding
	typ      []byte                  // Content-Type
	etag     []byte
	modified time.Time
	date     []byte // Last-Modified
	fields   atomic.Pointer[fieldLines]
}

// errChanged says that a file was not what it had been a moment before.
var errChanged = errors.New("fasthttp: file changed while it was read")

// loadContent makes the representation that the first size bytes of an open file
// are. It takes f over: either into the result, or it is closed. Without a type
// the content is looked at for one. The result has no time.
func loadContent(f fs.File, size int64, typ string, open func() (fs.File, error)) (*fileContent, error) {
	c := &fileContent{size: size, typ: []byte(typ)}
	at, isAt := f.(io.ReaderAt)
	if c.size > smallContent && isAt {
		if len(c.typ) == 0 {
			start := make([]byte, sniffLen)
			n, err := at.ReadAt(start, 0)
			if err != nil && err != io.EOF {
				return nil, errors.Join(err, f.Close())
			}
			c.typ = []byte(contentTypeByStart(start[:n]))
		}
		c.shared = newSharedFile(f, at)
		return c, nil
	}
	start := make([]byte, min(c.size, smallContent))
	_, err := io.ReadFull(f, start)
	if err := errors.Join(err, f.Close()); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			err = errChanged
		}
		return nil, err
	}
	if len(c.typ) == 0 {
		c.typ = []byte(contentTypeByStart(start[:min(len(start), sniffLen)]))
	}
	if c.size > smallContent {
		c.reopen = open
	} else {
		c.data = start
	}
	return c, nil
}

// dataContent makes a representation of bytes in memory.
func dataContent(data []byte, typ string, modified time.Time) *fileContent {
	c := &fileContent{size: int64(len(data)), data: data, typ: []byte(typ)}
	c.setModified(modified)
	return c
}

// setModified sets when the content was last changed. A file system that does
// not know, as embed.FS, has times near zero.
func (c *fileContent) setModified(t time.Time) {
	if t.Unix() <= 0 {
		return
	}
	c.modified = t
	c.date = AppendHTTPDate(nil, t)
}

func (c *fileContent) validator() files.Validator {
	return files.Validator{ETag: c.etag, Modified: c.modified}
}

// acquire makes sure that the file stays open until release. It fails where the
// cache has just let go of it.
func (c *fileContent) acquire() bool { return c.shared == nil || c.shared.acquire() }

func (c *fileContent) release() {
	if c.shared != nil {
		_ = c.shared.release()
	}
}

// open returns a stream of a part of content that is not in memory. The
// caller's share becomes the stream's, with an error, too.
func (c *fileContent) open(s files.Span) (io.ReadCloser, error) {
	if c.shared != nil {
		return c.shared.stream(s.Offset, s.Length), nil
	}
	f, err := c.reopen()
	if err != nil {
		return nil, err
	}
	if err := skipTo(f, s.Offset); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &sequentialStream{io.LimitedReader{R: f, N: s.Length}, f}, nil
}

// skipTo moves a file that was just opened to an offset.
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

// readerAt returns the content for reading it in any order, or nil where it has
// to be read from the start.
func (c *fileContent) readerAt() io.ReaderAt {
	switch {
	case c.shared != nil:
		return c.shared.at
	case c.reopen != nil:
		return nil
	}
	return bytes.NewReader(c.data)
}

// reader returns the content for reading it from the start. It must be closed.
func (c *fileContent) reader() (io.ReadCloser, error) {
	if at := c.readerAt(); at != nil {
		return io.NopCloser(io.NewSectionReader(at, 0, c.size)), nil
	}
	return c.reopen()
}

// sequentialStream is a part of a file that is open for one response.
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

func (errorReader) Read([]byte) (int, error) { return 0, errStreamClosed }

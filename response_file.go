package fasthttp

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
)

// errNotRegular says that something cannot be sent since it is a directory, a
// device or the like.
var errNotRegular = errors.New("fasthttp: not a regular file")

// SendFile makes the content of a file the body, and the time of its last
// change the Last-Modified field. The file is open until the response was sent,
// reset or released. What the content is, Content-Type, is left to the caller.
//
// The error is that of opening the file, or says that path is no regular file;
// the response is as it was then.
func (resp *Response) SendFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s", errNotRegular, path)
	}
	if err != nil {
		_ = file.Close()
		return err
	}
	resp.Header.SetLastModified(info.ModTime())
	resp.SetBodyStream(newSharedFile(file, file).stream(0, info.Size()), int(info.Size()))
	return nil
}

// sharedFile is an open file that many streams read at a time, each at its own
// position. It is closed when the last of those who share it lets go.
type sharedFile struct {
	file   fs.File
	at     io.ReaderAt
	shares atomic.Int64
}

// newSharedFile returns file with one share, which is the caller's.
func newSharedFile(file fs.File, at io.ReaderAt) *sharedFile {
	f := &sharedFile{file: file, at: at}
	f.shares.Store(1)
	return f
}

// acquire takes another share. It fails where the file was closed meanwhile.
func (f *sharedFile) acquire() bool {
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

// release gives a share back.
func (f *sharedFile) release() error {
	if f.shares.Add(-1) == 0 {
		return f.file.Close()
	}
	return nil
}

// stream returns a stream of length bytes from offset on. A share of the caller
// becomes the stream's, which Close gives back.
func (f *sharedFile) stream(offset, length int64) io.ReadCloser {
	s := sharedStream{shared: f, offset: offset, left: length}
	if file, ok := f.file.(*os.File); ok {
		return &fileStream{s, file}
	}
	return &s
}

// sharedStream is a part of a shared file. Streams are not kept for other
// responses: one costs little next to what it sends, and somebody who still
// holds a closed one can do no harm.
type sharedStream struct {
	shared *sharedFile
	offset int64
	left   int64
	closed bool
}

// Read implements io.Reader. Where the file has become shorter it ends early,
// which whoever sends the stream takes for an error.
func (s *sharedStream) Read(p []byte) (int, error) {
	if s.closed {
		return 0, errStreamClosed
	}
	if s.left <= 0 {
		return 0, io.EOF
	}
	n, err := s.shared.at.ReadAt(p[:min(int64(len(p)), s.left)], s.offset)
	s.offset += int64(n)
	s.left -= int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// Close implements io.Closer.
func (s *sharedStream) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	return s.shared.release()
}

// fileStream is a sharedStream of a file of the operating system.
type fileStream struct {
	sharedStream
	file *os.File
}

var _ fileSpan = (*fileStream)(nil)

func (s *fileStream) span() (file *os.File, offset, length int64) { return s.file, s.offset, s.left }

package fasthttp

import (
	"fmt"
	"io"
	"os"

	"github.com/valyala/fasthttp/internal/files"
)

// SendFile makes the content of a file the body, and sets the Last-Modified field to its
// modification time. The file stays open until the response was sent, reset or released.
// SendFile does not set Content-Type.
//
// It returns an error, and does not change the response, if the file cannot be opened or
// is not regular.
func (resp *Response) SendFile(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s", files.ErrNotRegular, path)
	}
	if err != nil {
		_ = file.Close()
		return err
	}
	resp.Header.SetLastModified(info.ModTime())
	resp.SetBodyStream(newFileStream(files.NewShared(file, file).Part(files.Span{Length: info.Size()})), int(info.Size()))
	return nil
}

// newFileStream returns a part of a shared file as a body stream.
func newFileStream(part files.Part) io.ReadCloser {
	if file := part.File(); file != nil {
		return &fileStream{part, file}
	}
	s := part // only this copy is allocated, and only if it is needed
	return &s
}

// fileStream is a part of a file of the operating system.
type fileStream struct {
	files.Part
	file *os.File
}

var _ fileSpan = (*fileStream)(nil)

func (s *fileStream) span() (file *os.File, offset, length int64) {
	rest := s.Rest()
	return s.file, rest.Offset, rest.Length
}

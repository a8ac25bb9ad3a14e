package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"os"
	"slices"
)

// errNoBoundary says that a form cannot be written without a boundary.
var errNoBoundary = errors.New("fasthttp: the boundary of a multipart form is empty")

// WriteMultipartForm writes f to w as the content of a multipart/form-data
// body: the values first, then the files, both in the order of their keys.
//
// boundary must have 1 to 70 characters that RFC 2046 section 5.1.1 allows.
// What is sent needs it in its Content-Type; see
// RequestHeader.SetMultipartFormBoundary.
func WriteMultipartForm(w io.Writer, f *multipart.Form, boundary string) error {
	return writeForm(w, f, boundary, copyFile)
}

// writeForm writes a form, the content of whose files file writes.
func writeForm(w io.Writer, f *multipart.Form, boundary string, file func(w io.Writer, fh *multipart.FileHeader) error) error {
	if boundary == "" {
		return errNoBoundary
	}
	out := multipart.NewWriter(w)
	if err := out.SetBoundary(boundary); err != nil {
		return fmt.Errorf("fasthttp: cannot use the form boundary %q: %w", boundary, err)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Value)) {
		for _, value := range f.Value[key] {
			if err := out.WriteField(key, value); err != nil {
				return fmt.Errorf("fasthttp: cannot write the form value %q: %w", key, err)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.File)) {
		for _, fh := range f.File[key] {
			part, err := out.CreatePart(fh.Header)
			if err == nil {
				err = file(part, fh)
			}
			if err != nil {
				return fmt.Errorf("fasthttp: cannot write the form file %q: %w", key, err)
			}
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("fasthttp: cannot end the form: %w", err)
	}
	return nil
}

// copyFile writes the content of an uploaded file.
func copyFile(w io.Writer, fh *multipart.FileHeader) error {
	f, err := fh.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = copyStream(w, f)
	return err
}

// formSize returns how many bytes WriteMultipartForm writes.
func formSize(f *multipart.Form, boundary string) (int64, error) {
	var size byteCounter
	err := writeForm(&size, f, boundary, func(_ io.Writer, fh *multipart.FileHeader) error {
		size += byteCounter(fh.Size)
		return nil
	})
	return int64(size), err
}

// byteCounter is a writer that only counts.
type byteCounter int64

func (c *byteCounter) Write(p []byte) (int, error) {
	*c += byteCounter(len(p))
	return len(p), nil
}

// formStream is the text of a form as a body stream. It is produced by a
// goroutine, which is started by the first Read.
type formStream struct {
	form     *multipart.Form
	boundary string
	r        io.ReadCloser
	err      error // of producing it
}

// Read implements io.Reader.
func (s *formStream) Read(p []byte) (int, error) {
	if s.r == nil {
		s.r = NewStreamReader(func(w *bufio.Writer) {
			s.err = WriteMultipartForm(w, s.form, s.boundary)
		})
	}
	n, err := s.r.Read(p)
	if err == io.EOF && s.err != nil {
		// the end of the stream was seen, so the producer is done with err
		err = s.err
	}
	return n, err
}

// Close ends the producer.
func (s *formStream) Close() error {
	if s.r == nil {
		return nil
	}
	return s.r.Close()
}

// SaveMultipartFile copies the uploaded file fh to the file at path, which is
// created, or emptied where it is there already. Where that fails no part of
// it is left.
//
// path is taken as it is. It must not be made of fh.Filename, which is what
// the client says, unless that was checked.
func SaveMultipartFile(fh *multipart.FileHeader, path string) (err error) {
	src, err := fh.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(path)
	if err != nil {
		return err
	}
	// two files of the operating system are copied by it
	_, err = io.Copy(dst, src)
	if closed := dst.Close(); err == nil {
		err = closed
	}
	if err == nil {
		return nil
	}
	// path may also be that of a device, which is not ours to remove
	if info, statErr := os.Lstat(path); statErr == nil && info.Mode().IsRegular() {
		_ = os.Remove(path)
	}
	return err
}

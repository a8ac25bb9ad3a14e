package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/textproto"
	"os"
	"slices"
	"strings"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/http1"
)

// errNoBoundary says that a form cannot be written without a boundary.
var errNoBoundary = errors.New("fasthttp: the boundary of a multipart form is empty")

// WriteMultipartForm writes f to w as the content of a multipart/form-data
// body: the values first, then the files, both in the order of their keys.
//
// Names and values of part fields, those in FileHeader.Header included, are
// written as those of messages are: CR, LF and NUL become spaces, and a field whose
// name is no token is left out. CR and LF in the name of a value become %0D and %0A.
//
// boundary must have 1 to 70 characters that RFC 2046 section 5.1.1 allows, else
// there is an error, as there is if a file cannot be read, or w fails.
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
			// it escapes line breaks itself
			if err := out.WriteField(strings.ReplaceAll(key, "\x00", " "), value); err != nil {
				return fmt.Errorf("fasthttp: cannot write the form value %q: %w", key, err)
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(f.File)) {
		for _, fh := range f.File[key] {
			part, err := out.CreatePart(writable(fh.Header))
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

// writable returns the fields of a part as they are written: h itself unless it
// holds a name that is no token, or a value that would end its line.
func writable(h textproto.MIMEHeader) textproto.MIMEHeader {
	const breaks = "\r\n\x00"
	isBroken := func(value string) bool { return strings.ContainsAny(value, breaks) }
	var cleaned textproto.MIMEHeader
	for name, values := range h {
		valid := ascii.IsToken(bytesconv.Bytes(name))
		if valid && !slices.ContainsFunc(values, isBroken) {
			continue
		}
		if cleaned == nil {
			cleaned = maps.Clone(h)
		}
		delete(cleaned, name)
		if !valid {
			continue
		}
		for _, value := range values {
			text := http1.AppendText(nil, bytesconv.Bytes(value))
			cleaned[name] = append(cleaned[name], string(text))
		}
	}
	if cleaned == nil {
		return h
	}
	return cleaned
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

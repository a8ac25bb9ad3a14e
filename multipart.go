package fasthttp

import (
	"bufio"
	"io"
	"mime/multipart"

	"github.com/valyala/fasthttp/internal/forms"
)

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
	return forms.Write(w, f, boundary, copyFile)
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
// created, or emptied if it is there already. If that fails no part of
// it is left.
//
// path is taken as it is. It must not be made of fh.Filename, which is what
// the client says, unless that was checked.
func SaveMultipartFile(fh *multipart.FileHeader, path string) error { return forms.Save(fh, path) }

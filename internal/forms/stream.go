package forms

import (
	"bufio"
	"io"
	"mime/multipart"
	"sync"

	"github.com/valyala/fasthttp/internal/bodyio"
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/header"
)

// NewStream returns the text of a form as a stream. panicked makes the error of a panic.
func NewStream(form *multipart.Form, boundary string, panicked func(any) error) *Stream {
	return &Stream{form: form, boundary: boundary, panicked: panicked}
}

// Stream is the text of a form as a body stream. The first Read starts a goroutine
// that produces it. Close may be called while another goroutine reads.
type Stream struct {
	form     *multipart.Form
	boundary string
	panicked func(any) error

	mu     sync.Mutex // guards the fields below
	r      io.ReadCloser
	done   chan struct{} // closed when the producer has returned
	closed bool

	err error // of the producer
}

// Read implements io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	r := s.reader()
	if r == nil {
		return 0, bodyio.ErrClosed
	}
	n, err := r.Read(p)
	if err == io.EOF && s.err != nil {
		// at the end of the stream the producer has returned, and has set err before
		err = s.err
	}
	return n, err
}

// reader returns the output of the producer, which it starts, or nil after Close.
func (s *Stream) reader() io.Reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil
	case s.r == nil:
		done := make(chan struct{})
		s.done = done
		s.r = bodyio.NewPipe(func(w *bufio.Writer) {
			defer close(done)
			s.err = Write(w, s.form, s.boundary)
		}, false, s.panicked)
	}
	return s.r
}

// Close ends the producer. Nothing reads the form after Close has returned.
func (s *Stream) Close() error {
	s.mu.Lock()
	s.closed = true
	r, done := s.r, s.done
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	err := r.Close()
	<-done
	return err
}

// copyFile writes the content of an uploaded file.
func copyFile(w io.Writer, fh *multipart.FileHeader) error {
	f, err := fh.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = bodyio.Copy(w, f)
	return err
}

// Decoder decodes the content coding of a form while it is read. It accepts one coding
// at most: a second one would only serve to turn few bytes into very many, and no limit
// applies to the content between the two.
type Decoder struct {
	io.Reader
	decoder *coding.Decoder // nil if there is no coding
}

// Start makes the decoder read from in, and reports whether in has a content coding. It
// is StartDecoded or StartPlain. Code that every server uses must not name the first, or the linker
// would include all decoders in every program with a server: a seventh of a small one.
type Start func(d *Decoder, in io.Reader, h *header.Header, bound coding.Bound) (encoded bool, err error)

// StartPlain is the Start for a form without a coding.
func StartPlain(d *Decoder, in io.Reader, _ *header.Header, _ coding.Bound) (encoded bool, err error) {
	d.Reader = in
	return false, nil
}

// StartDecoded is the Start for the coding that h names, if any.
func StartDecoded(d *Decoder, in io.Reader, h *header.Header, bound coding.Bound) (encoded bool, err error) {
	var applied coding.Applied
	for i := h.List.FindID(field.ContentEncoding, 0); i >= 0; i = h.List.FindID(field.ContentEncoding, i+1) {
		if err := applied.Add(h.List.Value(i)); err != nil {
			return false, err
		}
	}
	d.Reader = in
	switch codings := applied.All(); len(codings) {
	case 0:
		return false, nil
	case 1:
		d.decoder = coding.NewDecoder(codings[0], in, bound)
		d.Reader = d.decoder
		return true, nil
	}
	return false, coding.ErrUnsupported
}

// Release releases the decoder.
func (d *Decoder) Release() {
	if d.decoder != nil {
		d.decoder.Release()
	}
}

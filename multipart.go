package fasthttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/field"
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

// ErrNoMultipartForm says that a request has no multipart form: its
// Content-Type is not multipart/form-data, or has no boundary.
var ErrNoMultipartForm = errors.New("fasthttp: request content-type has bad boundary or is not multipart/form-data")

// errFormRemoved is what a request gives whose form was removed and cannot be
// parsed again, since its body was a stream.
var errFormRemoved = errors.New("fasthttp: the files of the multipart form were removed")

// formMemory is how many bytes of files a form that is read from a stream holds
// in memory; the files beyond that are spooled to the disk. Those of a request
// whose body is in memory already stay there.
const formMemory = 4 << 20

// requestForm is the multipart form of a request, once it was asked for.
type requestForm struct {
	form *multipart.Form
	read int64 // bytes of the body, decoded, that it was made of
	// spooled is nil if all files are in memory
	spooled *forms.Spooled
	// err says why there is no form if parsing the body again is of no use: as
	// long as fields are what they were, and if over is not 0 with no higher limit
	// than that
	err     error
	fields  formFields
	over    int64
	encoded bool
	// only tells that the body was a stream: the form is all there is of it
	only bool
}

// formFields are the fields on which it depends how a body is parsed.
type formFields struct{ boundary, coding string }

func (h *RequestHeader) formFields() formFields {
	return formFields{string(h.MultipartFormBoundary()), string(h.ContentEncoding())}
}

// stale reports whether a form that could not be parsed may be now, with a limit for
// the body; 0 for none.
func (f *requestForm) stale(req *Request, limit int64) bool {
	if f.err == nil || f.only || f.err == errFormRemoved {
		return false
	}
	if f.over > 0 {
		switch {
		case limit == 0 && f.encoded:
			limit = coding.ContentBound(req.body.limit).Size
		case limit == 0:
			return true
		}
		if limit > f.over {
			return true
		}
	}
	return f.fields != (formFields{}) && f.fields != req.Header.formFields()
}

// MultipartForm returns the form in a body of type multipart/form-data. It is
// parsed on first use. Other bodies give ErrNoMultipartForm.
//
// A body that is a stream is read to the end of the form, whatever its size:
// see MultipartFormWithLimit. Of its files 4 MiB are held in memory, the others
// in temporary files; of its values there may be 10 MiB more. A form has at
// most 1000 parts, which is the limit of mime/multipart, as that for the size
// of their headers is.
//
// The form belongs to the request. Its files are removed when the request is
// reset or released, when its body is changed, or with
// RemoveMultipartFormFiles.
func (req *Request) MultipartForm() (*multipart.Form, error) {
	return req.MultipartFormWithLimit(0)
}

// MultipartFormWithLimit is MultipartForm with a limit for the body in bytes; 0
// or less for none. The error wraps ErrBodyTooLarge if the body is larger.
//
// A body with the content coding gzip, deflate, br or zstd is decoded on the way,
// and the limit is for what it decodes to. Where there is none that is the limit
// that the body itself had: Server.MaxRequestBodySize or what
// Server.HeaderReceived gave, the default of 4 MiB included, or that of
// ReadLimitBody; 256 MiB for a body without one. The error wraps
// ErrContentEncodingUnsupported for other codings, and for more than one.
func (req *Request) MultipartFormWithLimit(maxBodySize int) (*multipart.Form, error) {
	limit := int64(max(maxBodySize, 0))
	if req.form == nil || req.form.stale(req, limit) {
		req.form = nil
		if err := req.parseForm(limit, (*formDecoder).start); err != nil {
			return nil, err
		}
	}
	f := req.form
	switch {
	case f.err != nil:
		return nil, f.err
	case maxBodySize > 0 && f.read > int64(maxBodySize):
		return nil, formError(ErrBodyTooLarge)
	}
	return f.form, nil
}

// formError puts what was done in front of err.
func formError(err error) error {
	return fmt.Errorf("fasthttp: cannot read the multipart form: %w", err)
}

// parseForm makes the form of the body. A buffered body is left as it was; of a
// stream there is nothing left then but the form, or the error.
func (req *Request) parseForm(limit int64, start startForm) error {
	boundary := req.Header.MultipartFormBoundary()
	if len(boundary) == 0 {
		return ErrNoMultipartForm
	}
	content := req.body.bytes()
	var in io.Reader = bytes.NewReader(content)
	memory := int64(len(content))
	streamed := req.body.stream != nil
	if streamed {
		in, memory = req.body.stream, formMemory
		if limit > 0 && int64(req.body.size) > limit {
			// it is left unread, so a higher limit may be tried
			return formError(ErrBodyTooLarge)
		}
	}
	bound := coding.ContentBound(req.body.limit)
	if limit > 0 {
		bound = coding.ContentBound(int(limit))
	}
	var decoded formDecoder
	encoded, err := start(&decoded, in, &req.Header.header, bound)
	if err != nil {
		return formError(err)
	}
	defer decoded.release()
	if encoded {
		memory, limit = formMemory, bound.Size
	}
	limited := forms.Reader{From: &decoded, Limit: limit}
	form, err := multipart.NewReader(&limited, string(boundary)).ReadForm(memory)
	if err != nil {
		err = formError(err)
		// asking for one value after the other must not parse it each time
		req.form = &requestForm{err: err}
		if !streamed {
			req.form.fields, req.form.encoded = req.Header.formFields(), encoded
			if errors.Is(err, ErrBodyTooLarge) {
				req.form.over = limit
			}
		}
		return err
	}
	if streamed {
		_ = req.body.closeStream()
		if encoded {
			// the form will be written without one
			req.Header.removeID(field.ContentEncoding)
		}
	}
	req.form = &requestForm{form: form, read: limited.Count, only: streamed}
	if memory == formMemory {
		req.form.spooled = forms.Watch(form)
	}
	return nil
}

// RemoveMultipartFormFiles removes the temporary files of the form, and the
// form with them. It is parsed anew when it is asked for again, unless the
// body was a stream.
func (req *Request) RemoveMultipartFormFiles() {
	f := req.form
	if f == nil || f.form == nil {
		return
	}
	f.remove()
	req.form = nil
	if f.only {
		req.form = &requestForm{err: errFormRemoved}
	}
}

// remove removes the files of the form.
func (f *requestForm) remove() {
	if f.spooled != nil {
		f.spooled.Remove()
	}
}

// dropForm forgets the form, since the body it was made of is gone.
func (req *Request) dropForm() {
	req.form.remove()
	req.form = nil
}

// onlyForm reports whether the body was a stream of which the form is all that is
// left.
func (req *Request) onlyForm() bool { return req.form != nil && req.form.only }

// loadForm puts the text of a form that was read from a stream into the body,
// when it is asked for.
func (req *Request) loadForm() error {
	if !req.onlyForm() {
		return nil
	}
	req.body.empty()
	if err := req.writeForm((*bodyWriter)(&req.body)); err != nil {
		req.body.empty()
		return err
	}
	req.form.only = false
	return nil
}

// writeForm writes the text of the form.
func (req *Request) writeForm(w io.Writer) error {
	return WriteMultipartForm(w, req.form.form, bytesconv.String(req.Header.MultipartFormBoundary()))
}

// streamForm makes the text of a form that was read from a stream the body that
// is sent. It may be larger than what memory is there for, so it is a stream
// again.
func (req *Request) streamForm() error {
	if !req.onlyForm() {
		return nil
	}
	form, boundary := req.form.form, string(req.Header.MultipartFormBoundary())
	size, err := forms.Size(form, boundary)
	if err != nil {
		return err
	}
	req.body.setStream(&formStream{form: form, boundary: boundary}, int(size))
	return nil
}

// formDecoder undoes the content coding of a form while it is read. There is one
// at most: a second one has no purpose but to make a few bytes become a great many,
// and nobody counts what is between the two.
type formDecoder struct {
	io.Reader
	decoder *coding.Decoder // nil if there is no coding
}

// startForm makes the decoder read from in, and reports whether that has a content
// coding. It is start or startPlain: what the server itself calls must not name
// start, or all decoders were part of every program with a server in it, which
// is a seventh of a small one.
type startForm func(d *formDecoder, in io.Reader, h *header, bound coding.Bound) (encoded bool, err error)

// startPlain is for a form that has no coding.
func (d *formDecoder) startPlain(in io.Reader, _ *header, _ coding.Bound) (encoded bool, err error) {
	d.Reader = in
	return false, nil
}

// start makes the decoder read from in, which has the coding that h says, and
// reports whether there is one.
func (d *formDecoder) start(in io.Reader, h *header, bound coding.Bound) (encoded bool, err error) {
	var applied coding.Applied
	for i := h.list.FindID(field.ContentEncoding, 0); i >= 0; i = h.list.FindID(field.ContentEncoding, i+1) {
		if err := applied.Add(h.list.Value(i)); err != nil {
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
	return false, ErrContentEncodingUnsupported
}

// release gives the decoder back.
func (d *formDecoder) release() {
	if d.decoder != nil {
		d.decoder.Release()
	}
}

package fasthttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/coding"
	"github.com/valyala/fasthttp/internal/content"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/forms"
)

// WriteMultipartForm writes f to w as the content of a multipart/form-data body: first
// the values, then the files, both in the order of their keys.
//
// It writes the fields of parts, including FileHeader.Header, as it writes the fields
// of messages: CR, LF and NUL become spaces, and a field whose name is not a token is
// omitted. CR and LF in the name of a value become %0D and %0A.
//
// boundary must have 1 to 70 of the characters that RFC 2046 section 5.1.1 allows. It has
// to be a parameter of the Content-Type of the message; see
// RequestHeader.SetMultipartFormBoundary. WriteMultipartForm returns an error for other
// boundaries, if a file cannot be read, and if w fails.
func WriteMultipartForm(w io.Writer, f *multipart.Form, boundary string) error {
	return forms.Write(w, f, boundary)
}

// SaveMultipartFile copies the uploaded file fh to the file at path, which it creates, or
// truncates if it exists. After an error it leaves no part of the file.
//
// path is used as it is. Do not make it from fh.Filename, which the client chooses,
// without checking that.
func SaveMultipartFile(fh *multipart.FileHeader, path string) error { return forms.Save(fh, path) }

// ErrNoMultipartForm is the error of a request that has no multipart form: its
// Content-Type is not multipart/form-data, or has no boundary.
var ErrNoMultipartForm = errors.New("fasthttp: request content-type has bad boundary or is not multipart/form-data")

// errFormRemoved is the error of a request whose form was removed and cannot be parsed
// again, since its body was a stream.
var errFormRemoved = errors.New("fasthttp: the files of the multipart form were removed")

// formMemory is how many bytes of files a form read from a stream holds in memory.
// Further files are written to temporary files. The files of a request whose body is in
// memory stay in memory.
const formMemory = 4 << 20

// requestForm is the multipart form of a request, or the error of parsing it.
type requestForm struct {
	form *multipart.Form
	read int64 // the number of bytes of the decoded body that were parsed
	// spooled is nil if all files are in memory
	spooled *forms.Spooled
	// err is the error of parsing the body. Parsing it again fails as long as fields
	// has not changed and, if over is not 0, the limit is not higher than over
	err     error
	fields  formFields
	over    int64
	encoded bool
	// only means that the body was a stream, of which only the form is left
	only bool
}

// formFields are the fields that determine how a body is parsed.
type formFields struct{ boundary, coding string }

func (h *RequestHeader) formFields() formFields {
	return formFields{string(h.MultipartFormBoundary()), string(h.ContentEncoding())}
}

// stale reports whether parsing a form that has failed may succeed with this limit for the
// body, 0 for none.
func (f *requestForm) stale(req *Request, limit int64) bool {
	if f.err == nil || f.only || f.err == errFormRemoved {
		return false
	}
	if f.over > 0 {
		switch {
		case limit == 0 && f.encoded:
			limit = coding.ContentBound(req.body.Limit).Size
		case limit == 0:
			return true
		}
		if limit > f.over {
			return true
		}
	}
	return f.fields != (formFields{}) && f.fields != req.Header.formFields()
}

// MultipartForm returns the form in a body of type multipart/form-data, which it parses
// on first use. The error is ErrNoMultipartForm for other bodies.
//
// If the body is a stream, MultipartForm reads it to the end of the form, whatever its
// size: see MultipartFormWithLimit. It holds up to 4 MiB of the files in memory, and the
// others in temporary files. The values may have 10 MiB more. A form has at most 1000
// parts. This limit, and the limit for the size of their headers, are the limits of
// mime/multipart. If the boundary is one that WriteMultipartForm refuses, such as "*****",
// the request gets another one, since the form is written anew if the request is sent.
//
// The form belongs to the request. Its files are removed when the request is reset or
// released, when its body is changed, or by RemoveMultipartFormFiles.
func (req *Request) MultipartForm() (*multipart.Form, error) {
	return req.MultipartFormWithLimit(0)
}

// MultipartFormWithLimit is MultipartForm with a limit for the body in bytes; 0 or less
// means no limit. The error wraps ErrBodyTooLarge if the body is larger.
//
// A body with the content coding gzip, deflate, br or zstd is decoded, and the limit
// applies to the decoded body. Without one, the limit of the body itself applies:
// Server.MaxRequestBodySize, 4 MiB by default, or the limit that Server.HeaderReceived has
// set, or the limit of ReadLimitBody. For a body without a limit it is 256 MiB. The error
// wraps ErrContentEncodingUnsupported for other codings, and for more than one coding.
func (req *Request) MultipartFormWithLimit(maxBodySize int) (*multipart.Form, error) {
	limit := int64(max(maxBodySize, 0))
	if req.form == nil || req.form.stale(req, limit) {
		req.form = nil
		if err := req.parseForm(limit, forms.StartDecoded); err != nil {
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

// formError wraps the error of reading a form.
func formError(err error) error {
	return fmt.Errorf("fasthttp: cannot read the multipart form: %w", err)
}

// parseForm parses the body into the form. It does not change a buffered body. A stream is
// read, and only the form or the error is left of it.
func (req *Request) parseForm(limit int64, start forms.Start) error {
	boundary := req.Header.MultipartFormBoundary()
	if len(boundary) == 0 {
		return ErrNoMultipartForm
	}
	content := req.body.Bytes()
	var in io.Reader = bytes.NewReader(content)
	memory := int64(len(content))
	streamed := req.body.Stream != nil
	if streamed {
		in, memory = req.body.Stream, formMemory
		if limit > 0 && int64(req.body.Size) > limit {
			// the stream is not read, so the caller may try a higher limit
			return formError(ErrBodyTooLarge)
		}
	}
	bound := coding.ContentBound(req.body.Limit)
	if limit > 0 {
		bound = coding.ContentBound(int(limit))
	}
	var decoded forms.Decoder
	encoded, err := start(&decoded, in, &req.Header.head, bound)
	if err != nil {
		return formError(err)
	}
	defer decoded.Release()
	if encoded {
		memory, limit = formMemory, bound.Size
	}
	limited := forms.Reader{From: &decoded, Limit: limit}
	form, err := multipart.NewReader(&limited, string(boundary)).ReadForm(memory)
	if err != nil {
		err = formError(err)
		// further calls must not parse the body again
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
		_ = req.body.CloseStream()
		if encoded {
			// writeForm writes the form without a coding
			req.Header.head.RemoveID(field.ContentEncoding)
		}
		received := string(boundary)
		if writable := forms.WritableBoundary(received); writable != received {
			req.Header.SetMultipartFormBoundary(writable)
		}
	}
	req.form = &requestForm{form: form, read: limited.Count, only: streamed}
	if memory == formMemory {
		req.form.spooled = forms.Watch(form)
	}
	return nil
}

// RemoveMultipartFormFiles removes the form and its temporary files. MultipartForm parses
// the body again after that, unless it was a stream.
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

// resetForm removes the form and its files when the body is replaced.
func (req *Request) resetForm() {
	req.form.remove()
	req.form = nil
}

// onlyForm reports whether the body was a stream of which only the form is left.
func (req *Request) onlyForm() bool { return req.form != nil && req.form.only }

// loadForm makes the text of a form that was read from a stream the body.
func (req *Request) loadForm() error {
	if !req.onlyForm() {
		return nil
	}
	req.body.Empty()
	if err := req.writeForm((*content.Writer)(&req.body)); err != nil {
		req.body.Empty()
		return err
	}
	req.form.only = false
	return nil
}

// writeForm writes the text of the form.
func (req *Request) writeForm(w io.Writer) error {
	return WriteMultipartForm(w, req.form.form, bytesconv.String(req.Header.MultipartFormBoundary()))
}

// streamForm makes the text of a form that was read from a stream the body stream for
// sending. It is a stream again since it may be too large for memory.
func (req *Request) streamForm() error {
	if !req.onlyForm() {
		return nil
	}
	form, boundary := req.form.form, string(req.Header.MultipartFormBoundary())
	size, err := forms.Size(form, boundary)
	if err != nil {
		return err
	}
	req.body.SetStream(forms.NewStream(form, boundary, producerPanic), int(size))
	return nil
}

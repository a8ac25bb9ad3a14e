// Package forms writes multipart forms (RFC 7578), and removes the temporary files of
// parsed ones.
//
// Text of an untrusted form, such as the name of a file, cannot end a line of the
// output. Start with Write in this file; stream.go has the text of a form as a stream, and
// decodes bodies, and spool.go has the temporary files.
package forms

import (
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

// ErrNoBoundary means that a form cannot be written without a boundary.
var ErrNoBoundary = errors.New("fasthttp: the boundary of a multipart form is empty")

// WritableBoundary returns boundary, or a random one if Write refuses it.
func WritableBoundary(boundary string) string {
	if isUsualBoundary(boundary) {
		return boundary
	}
	w := multipart.NewWriter(io.Discard)
	// after an error it keeps its own
	_ = w.SetBoundary(boundary)
	return w.Boundary()
}

// isUsualBoundary reports whether Write accepts boundary, if it is one as browsers and libraries make.
func isUsualBoundary(boundary string) bool {
	const longest = 70 // RFC 2046 section 5.1.1
	for i := range len(boundary) {
		c := boundary[i]
		if lower := c | 0x20; (lower < 'a' || lower > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return boundary != "" && len(boundary) <= longest
}

// Write writes a form to w: the values first, then the files, both in the order of
// their keys.
func Write(w io.Writer, f *multipart.Form, boundary string) error {
	return write(w, f, boundary, copyFile)
}

// write is Write for which file writes the content of a file.
func write(w io.Writer, f *multipart.Form, boundary string, file func(w io.Writer, fh *multipart.FileHeader) error) error {
	if boundary == "" {
		return ErrNoBoundary
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

// writable returns the fields of a part in the form in which they are written: h itself
// unless it holds a name other than a token, or a value that would end its line.
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

// Size returns the number of bytes that Write writes.
func Size(f *multipart.Form, boundary string) (int64, error) {
	var size byteCounter
	err := write(&size, f, boundary, func(_ io.Writer, fh *multipart.FileHeader) error {
		size += byteCounter(fh.Size)
		return nil
	})
	return int64(size), err
}

// byteCounter is a writer that only counts bytes.
type byteCounter int64

func (c *byteCounter) Write(p []byte) (int, error) {
	*c += byteCounter(len(p))
	return len(p), nil
}

// Reader reads a body, counts the bytes, and fails with http1.ErrBodyTooLarge if there
// are more than Limit.
type Reader struct {
	From  io.Reader // the body
	Limit int64     // in bytes; 0 for none
	Count int64     // bytes that were read
}

// Read implements io.Reader.
func (f *Reader) Read(p []byte) (int, error) {
	if room := f.Limit - f.Count; f.Limit > 0 && room < int64(len(p)) {
		// one more byte shows whether there is more
		p = p[:room+1]
	}
	n, err := f.From.Read(p)
	f.Count += int64(n)
	if f.Limit > 0 && f.Count > f.Limit {
		return 0, http1.ErrBodyTooLarge
	}
	return n, err
}

// Save copies the uploaded file fh to the file at path, which is created, or emptied if
// it exists. If that fails, Save removes the partial file.
func Save(fh *multipart.FileHeader, path string) (err error) {
	src, err := fh.Open()
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(path)
	if err != nil {
		return err
	}
	// the system copies between two of its files
	_, err = io.Copy(dst, src)
	if closed := dst.Close(); err == nil {
		err = closed
	}
	if err == nil {
		return nil
	}
	// path may also be a device, which must not be removed
	if info, statErr := os.Lstat(path); statErr == nil && info.Mode().IsRegular() {
		_ = os.Remove(path)
	}
	return err
}

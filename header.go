package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/header"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// commonHeader is the common part of RequestHeader and ResponseHeader: the methods that
// both have.
type commonHeader struct {
	_ noCopy

	head header.Header
}

// SetContentType sets the Content-Type field.
func (h *commonHeader) SetContentType(contentType string) {
	h.SetContentTypeBytes(bytesconv.Bytes(contentType))
}

// SetContentTypeBytes sets the Content-Type field.
func (h *commonHeader) SetContentTypeBytes(contentType []byte) {
	h.head.StoreSlot(header.SlotContentType, contentType)
}

// SetNoDefaultContentType sets whether a message with content but without a
// Content-Type is sent without one (true), or gets a default Content-Type (false).
func (h *commonHeader) SetNoDefaultContentType(noDefaultContentType bool) {
	h.head.SetState(header.NoDefaultType, noDefaultContentType)
}

// DisableNormalizing makes the header keep field names as they are set or received,
// and reports whether it did so before. Only proxies need it, for peers to which
// "x-id" and "X-Id" are different names. If no name matches exactly, methods still
// look it up without regard to case.
func (h *commonHeader) DisableNormalizing() bool {
	before := h.head.Is(header.NamesKept)
	h.head.State |= header.NamesKept
	return before
}

// EnableNormalizing makes the header normalize field names again, as it does by
// default: "content-TYPE" becomes "Content-Type". It reports whether the header kept
// names as they are before.
func (h *commonHeader) EnableNormalizing() bool {
	before := h.head.Is(header.NamesKept)
	h.head.State &^= header.NamesKept
	return before
}

// IsHTTP11 reports whether the protocol of the message is HTTP/1.1.
func (h *commonHeader) IsHTTP11() bool { return !h.head.Is(header.OldProtocol) }

// ConnectionClose reports whether the connection is closed after this message. This is
// so if "Connection: close" was set or received, alone or in a list, or if the message
// was received as HTTP/1.0 without keep-alive.
func (h *commonHeader) ConnectionClose() bool { return h.head.Is(header.Closing) }

// SetConnectionClose sets "Connection: close".
func (h *commonHeader) SetConnectionClose() { h.head.State |= header.Closing }

// ResetConnectionClose removes "Connection: close", whether it was set or received.
func (h *commonHeader) ResetConnectionClose() { h.head.ResetClose() }

// ConnectionUpgrade reports whether the Connection field lists "upgrade", in upper
// or lower case (RFC 9110 section 7.8). It returns false if ConnectionClose returns
// true, as for an HTTP/1.0 message without keep-alive.
func (h *commonHeader) ConnectionUpgrade() bool { return h.head.AsksUpgrade() }

// SetTrailer announces the names in a comma-separated list as trailer fields, instead
// of the names announced before. Their values, set with Set or Add before or after, are
// sent after a chunked body instead of in the header section. Fields that were received
// in the header section stay there if the received Trailer field has their name.
//
// SetTrailer omits the names of fields that must not be trailers, and returns
// ErrBadTrailer. These are fields for framing, routing, authentication or parsing of a
// message (RFC 9110 section 6.5.1), and fields in which a proxy passes on the identity
// of the client, such as X-Forwarded-For. It does the same for a text that is not a
// field name, and for all names after the first 64.
func (h *commonHeader) SetTrailer(trailer string) error {
	return h.head.SetTrailers(bytesconv.Bytes(trailer))
}

// SetTrailerBytes is SetTrailer for a byte slice.
func (h *commonHeader) SetTrailerBytes(trailer []byte) error { return h.head.SetTrailers(trailer) }

// AddTrailer is SetTrailer that keeps the names announced before.
func (h *commonHeader) AddTrailer(trailer string) error {
	return h.head.AddTrailers(bytesconv.Bytes(trailer))
}

// AddTrailerBytes is AddTrailer for a byte slice.
func (h *commonHeader) AddTrailerBytes(trailer []byte) error { return h.head.AddTrailers(trailer) }

// AnnounceTrailer adds the names in a comma-separated list to the Trailer field, for
// fields that AddTrailerField will add. Unlike AddTrailer it leaves fields of these
// names in the header section. It returns the errors of SetTrailer.
func (h *commonHeader) AnnounceTrailer(trailer string) error {
	return h.head.AnnounceList(bytesconv.Bytes(trailer), field.OnlyTrailers)
}

// Trailers returns an iterator over the names of the trailer fields: first the
// announced names, then the names of other fields. A name is valid until the next step
// of the loop.
func (h *commonHeader) Trailers() iter.Seq[[]byte] {
	return h.head.Section().Trailers.EachName
}

// VisitAllTrailer calls f for the name of every trailer field, as Trailers does.
// f must not keep the name.
//
// Deprecated: use Trailers.
func (h *commonHeader) VisitAllTrailer(f func(value []byte)) {
	for name := range h.Trailers() {
		f(name)
	}
}

// PeekTrailerKeys returns the names of the trailer fields, as Trailers does. The
// result is valid until the next call of a method whose name begins with Peek.
func (h *commonHeader) PeekTrailerKeys() [][]byte { return h.head.PeekTrailerNames() }

// TrailerFields returns an iterator over the names and values of the fields in the
// trailer section: first the fields that were set and whose names were announced with
// SetTrailer or AddTrailer, then the fields that were received after the body or added
// with AddTrailerField, in their order. It does not include fields of the header
// section.
//
// Names and values are valid until the next step of the loop. The loop must not change
// the header. Trailers after a body stream are available once the stream has returned
// io.EOF.
func (h *commonHeader) TrailerFields() iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) { h.head.EachTrailer(yield) }
}

// PeekTrailer returns the value of the first field with that name in the trailer
// section, or nil. The case of the name does not matter. The field need not have been
// announced. PeekTrailer never returns a field of the header section.
func (h *commonHeader) PeekTrailer(key string) []byte { return h.head.PeekTrailer(key) }

// PeekTrailerAll returns the values of all fields with that name in the trailer
// section. The outer slice is valid until the next call of a method whose name
// begins with Peek.
func (h *commonHeader) PeekTrailerAll(key string) [][]byte { return h.head.PeekTrailerAll(key) }

// AddTrailerField adds a field to the trailer section, which is sent after a chunked
// body. It does not change the header section: neither fields with that name nor the
// Trailer field, to which AnnounceTrailer adds names. A proxy uses AddTrailerField to
// pass on the fields of TrailerFields.
//
// The error is ErrBadTrailer if the field must not be a trailer; see SetTrailer. CR, LF
// and NUL in the value become spaces. An HTTP/1.0 message has no trailers: they are
// dropped.
func (h *commonHeader) AddTrailerField(key, value string) error {
	return h.AddTrailerFieldBytes(bytesconv.Bytes(key), bytesconv.Bytes(value))
}

// AddTrailerFieldBytes is AddTrailerField for byte slices.
func (h *commonHeader) AddTrailerFieldBytes(key, value []byte) error {
	return h.head.AddTrailerField(key, value)
}

// TrailerHeader returns the trailer section as it is sent after a chunked body: a line
// for each of TrailerFields, and an empty line. It omits fields whose name is not a
// token. The result is valid until the message is changed or released.
func (h *commonHeader) TrailerHeader() []byte { return h.head.TrailerSection() }

// ReadTrailer reads the trailer section of a chunked message from r, up to and including
// its empty line. The section is limited to 4 KiB and 100 fields.
//
// The fields are kept apart from the header section: TrailerFields and PeekTrailer return
// them. Peek and PeekAll return the fields that the Trailer field announces, if the header
// section has no field of that name.
//
// ReadTrailer returns io.EOF if r ends before the first byte. If there is a field that
// must not be a trailer (see SetTrailer), it returns an error that wraps ErrBadTrailer,
// unless the header belongs to a response that was read: then it omits the field.
func (h *commonHeader) ReadTrailer(r *bufio.Reader) error {
	err := h.head.ReadTrailers(recvbuf.Buffered{R: r}, nil)
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("error when reading trailers: %w", err)
}

// read reads a head from r.
func (h *commonHeader) read(role http1.Role, head *http1.Head, r *bufio.Reader) error {
	h.head.Begin(head)
	if size := r.Size(); size > http1.DefaultMaxHead {
		head.Limits = header.HeadLimits(size)
	}
	started, err := h.head.ReadFrom(role, head, recvbuf.Buffered{R: r})
	if err == nil {
		return nil
	}
	h.head.Reset(header.Configured)
	switch {
	case !started && err == io.EOF:
		return err
	case !started:
		return ErrNothingRead{err}
	}
	what := "request"
	if role == http1.Response {
		what = "response"
	}
	return headerError(what, err)
}

func isTooLarge(err error) bool {
	return errors.Is(err, http1.ErrLongHead) || errors.Is(err, http1.ErrLongRequestLine) || errors.Is(err, http1.ErrManyFields)
}

// headerError returns the error of reading a head that failed because of err.
func headerError(what string, err error) error {
	err = fmt.Errorf("error when reading %s headers: %w", what, withName(err))
	if isTooLarge(err) {
		return &ErrSmallBuffer{err}
	}
	return err
}

// withName makes err wrap the exported error of its kind, if err is not exported.
func withName(err error) error {
	switch {
	case errors.Is(err, http1.ErrContentLength):
		return namedError{err, ErrNonNumericChars}
	case errors.Is(err, http1.ErrCodingInHTTP10):
		return namedError{err, ErrUnsupportedTransferEncoding}
	case errors.Is(err, http1.ErrTarget):
		return namedError{err, ErrorInvalidURI}
	}
	return err
}

type namedError struct {
	error
	name error
}

func (e namedError) Unwrap() []error { return []error{e.error, e.name} }

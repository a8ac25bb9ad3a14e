package fasthttp

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// begin makes the header ready for a new head.
func (h *header) begin() {
	h.reset(configured)
	h.head.Reset()
	h.head.KeepNames = h.is(namesKept)
}

// feed reads a head from the beginning of b, which holds all bytes received so far,
// and returns its length, or 0 if it is not complete. feed copies a complete head, so
// that b can be reused.
func (h *header) feed(role http1.Role, b []byte) (n int, err error) {
	h.own()
	if h.memo != nil && !h.memo.rests() {
		if n, err = h.recall(role, b); n > 0 || err != nil || h.head.Fields == 0 {
			return n, err
		}
	}
	if role == http1.Request {
		n, err = h.head.ParseRequest(b, &h.list)
	} else {
		n, err = h.head.ParseResponse(b, &h.list)
	}
	if n == 0 || err != nil {
		return 0, err
	}
	h.list.Block = append(h.list.Block[:0], b[:n]...)
	return n, h.adopt(role)
}

// adopt moves the fields of the parsed head, whose text is the block of list, to
// their places.
func (h *header) adopt(role http1.Role) error {
	h.list.KeepsPlace = true
	h.list.Freeze()
	h.state |= wasRead
	h.adoptStartLine(role)
	if from := h.head.Fields; len(h.list.Entries) > 0 {
		h.raw = field.Span{Off: uint32(from), Len: uint32(len(h.list.Block) - from)}
	}
	kept := 0
	entries, places := h.list.Entries, &places[role]
	for i := range entries {
		e := &entries[i]
		if w := places[e.ID]; w.place != inList && !h.place(role, w, e) {
			continue
		}
		if kept != i {
			entries[kept] = *e
		}
		kept++
	}
	h.list.Entries = entries[:kept]
	return h.adoptFacts(role)
}

func (h *header) adoptStartLine(role http1.Role) {
	h.line[lineVersion] = h.head.Version
	if role == http1.Request {
		h.line[lineMethod], h.line[lineTarget] = h.head.Method, h.head.Target
	} else {
		h.line[lineReason] = h.head.Reason
	}
}

// place moves a received field to its place, w, and reports whether it stays in list.
func (h *header) place(role http1.Role, w placement, e *field.Entry) (stays bool) {
	switch w.place {
	case inSlot:
		if s := &h.slots[w.slot]; *s == (field.Span{}) || !h.is(noSpecial) && !firstCounts(role, w) {
			*s = e.Value
		}
	case inCookies:
		h.state |= rawCookies
		return true
	case inTrailers:
		if !h.is(noSpecial) {
			h.hintTrailers(h.list.Bytes(e.Value))
		}
	case isConnection:
		return h.is(noSpecial) || !ascii.EqualFold(h.list.Bytes(e.Value), strClose)
	case isDate:
		return true
	}
	return h.is(noSpecial)
}

// firstCounts reports whether the first of several lines counts, even if it is empty,
// for a field that may have only one. net/http and most proxies use the first
// Content-Type of a request: content that one of them has accepted as one type must
// not be parsed as another here (RFC 9110 section 8.3).
func firstCounts(role http1.Role, w placement) bool {
	return role == http1.Request && w.slot == slotContentType
}

// adoptFacts sets the state of the header from the framing and connection fields of
// the head.
func (h *header) adoptFacts(role http1.Role) error {
	f := &h.head
	h.setState(oldProtocol, f.Minor == 0)
	h.setState(closing, !f.KeepsAlive())
	switch {
	case f.Has(http1.HasCoding):
		framing, err := f.Frame(role, http1.Exchange{})
		if err != nil {
			return err
		}
		if framing.Kind == http1.Chunks {
			h.contentLength = -1
			h.setCoding(true)
		} else if framing.Kind == http1.UntilClose {
			h.contentLength = -2
		}
		h.setState(closing, h.is(closing) || framing.MustClose)
	case f.Has(http1.HasLength):
		h.contentLength = int(f.ContentLength)
		h.state |= hasLength
	default:
		h.contentLength = -2
		if role == http1.Response && !bodiless(f.Status) {
			h.state |= closing
		}
	}
	return nil
}

// bodiless reports whether responses with this status never have content (RFC
// 9110 sections 15.2, 15.3.5 and 15.4.5).
func bodiless(status int) bool {
	return status < StatusOK || status == StatusNoContent || status == StatusNotModified
}

// read reads a head from r.
func (h *header) read(role http1.Role, r *bufio.Reader) error {
	h.begin()
	// the limits of a client or server that used the header before do not apply
	h.head.Limits = http1.Limits{}
	if size := r.Size(); size > http1.DefaultMaxHead {
		h.head.Limits = headLimits(size)
	}
	err := h.readFrom(role, recvbuf.Buffered{R: r})
	if err == nil {
		return nil
	}
	h.reset(configured)
	if err == io.EOF {
		return err
	}
	if _, ok := errors.AsType[ErrNothingRead](err); ok {
		return err
	}
	what := "request"
	if role == http1.Response {
		what = "response"
	}
	return headerError(what, err)
}

// shortestField is the size of the shortest field line.
const shortestField = len("a:\r\n")

// headLimits returns the limits for a head of up to size bytes, with as many fields as
// fit into them.
func headLimits(size int) http1.Limits {
	return http1.Limits{
		Line: max(size, http1.DefaultMaxLine), Head: size, Fields: max(size/shortestField, http1.DefaultMaxFields),
	}
}

func isTooLarge(err error) bool {
	return errors.Is(err, http1.ErrLongHead) || errors.Is(err, http1.ErrLongRequestLine) || errors.Is(err, http1.ErrManyFields)
}

// readFrom reads a head from in. The head may be larger than the buffer of in.
func (h *header) readFrom(role http1.Role, in recvbuf.Buffered) error {
	started := false
	empty := 2 * len(strCRLF)
	for {
		b := in.Peek()
		if role == http1.Request && !started {
			n := min(http1.SkipEmptyLines(b), empty)
			in.Discard(n)
			empty -= n
			b = b[n:]
		}
		if len(b) > 0 && string(b) != "\r" {
			started = true
			n, err := h.feed(role, b)
			if err != nil {
				return err
			}
			if n > 0 {
				in.Discard(n)
				return nil
			}
		}
		switch err := in.Fill(); {
		case err == nil:
		case err == bufio.ErrBufferFull:
			return h.readLong(role, in)
		case !started && err == io.EOF:
			return err
		case !started:
			return ErrNothingRead{err}
		case err == io.EOF:
			return io.ErrUnexpectedEOF
		default:
			return err
		}
	}
}

// readLong reads a head that is larger than the buffer of in. It collects the bytes in
// the block of list.
func (h *header) readLong(role http1.Role, in recvbuf.Buffered) error {
	block := h.list.Block[:0]
	for {
		b := in.Peek()
		had := len(block)
		block = append(block, b...)
		var n int
		var err error
		if role == http1.Request {
			n, err = h.head.ParseRequest(block, &h.list)
		} else {
			n, err = h.head.ParseResponse(block, &h.list)
		}
		h.list.Block = block[:0]
		if err != nil {
			return err
		}
		if n > 0 {
			in.Discard(n - had)
			h.list.Block = block[:n]
			return h.adopt(role)
		}
		in.Discard(len(b))
		if err := in.Fill(); err == io.EOF {
			return io.ErrUnexpectedEOF
		} else if err != nil {
			return err
		}
	}
}

// rawHeaders returns the field lines that were received.
func (h *header) rawHeaders() []byte { return h.text(h.raw) }

// eachInOrder calls yield for the received fields, in the order of the wire, until it
// returns false.
func (h *header) eachInOrder(yield func(name, value []byte) bool) {
	raw := append([]byte(nil), h.rawHeaders()...)
	var fields field.List
	head := http1.Head{KeepNames: h.is(namesKept), Spaces: true, Limits: http1.Limits{Head: len(raw), Fields: len(raw)}}
	if n, err := head.ParseTrailers(raw, &fields); n == 0 || err != nil {
		return
	}
	fields.Block = raw
	for i := range fields.Entries {
		if !yield(fields.Name(i), fields.Value(i)) {
			return
		}
	}
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

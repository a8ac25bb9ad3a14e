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

// begin makes the header, and the parser of its head, ready for a new head.
func (h *header) begin(head *http1.Head) {
	h.reset(configured)
	head.Reset()
	head.KeepNames, head.KeepAll = h.is(namesKept), h.is(noSpecial)
}

// feed reads a head from the beginning of b, which holds all bytes received so far,
// and returns its length, or 0 if it is not complete. feed copies a complete head, so
// that b can be reused, even one whose framing is an error.
func (h *header) feed(role http1.Role, head *http1.Head, b []byte) (n int, err error) {
	h.ensureOwned()
	n, err = head.Parse(role, b, &h.list)
	if n > 0 {
		h.list.Block = append(h.list.Block[:0], b[:n]...)
		h.adopt(role, head)
	}
	return n, err
}

// adopt takes over the results of head. The header was reset, and the text is the block
// of list.
func (h *header) adopt(role http1.Role, head *http1.Head) {
	h.list.Pinned = true
	h.list.Freeze()
	h.line[lineVersion] = head.Version
	if role == http1.Request {
		h.line[lineMethod], h.line[lineTarget] = head.Method, head.Target
	} else {
		h.line[lineReason] = head.Reason
		h.received = uint16(head.Status)
	}
	if head.Lines > 0 {
		from := head.Fields
		h.raw = field.Span{Off: uint32(from), Len: uint32(len(h.list.Block) - from)}
	}
	// an assignment of arrays takes no call
	*(*[http1.NumSlots]field.Span)(h.slots[:]) = head.Slots
	state := wasRead
	if string(h.list.Bytes(head.Version)) != "HTTP/1.1" {
		state |= peerVersion
		if head.Minor == 0 {
			state |= oldProtocol
		}
	}
	if !head.KeepsAlive() {
		state |= closing
	}
	if head.Has(http1.HasCookie) {
		state |= rawCookies
	}
	h.framing = head.Framing
	h.contentLength = -2
	switch {
	case head.Has(http1.HasCoding):
		if h.framing.Kind == http1.NoBody {
			h.contentLength = 0 // of a response whose status has no content
		}
		if h.framing.MustClose {
			state |= closing
		}
	case head.Has(http1.HasLength):
		h.contentLength = int(head.ContentLength)
		state |= hasLength
	case role == http1.Response && !bodiless(head.Status):
		state |= closing
	}
	h.state |= state
	if head.Has(http1.HasCoding | http1.HasTrailer) {
		h.adoptChunks(head)
	}
}

// adoptChunks is the part of adopt for a message in chunks, or with trailers.
func (h *header) adoptChunks(head *http1.Head) {
	if h.framing.Kind == http1.Chunks {
		h.contentLength = -1
		h.setCoding(true)
	}
	if head.Has(http1.HasTrailer) && !h.is(noSpecial) {
		h.adoptTrailerNames()
	}
}

// adoptTrailerNames moves the names in the Trailer field of a peer to trailers.
func (h *header) adoptTrailerNames() {
	for i := h.list.FindID(field.Trailer, 0); i >= 0; i = h.list.FindID(field.Trailer, i+1) {
		h.addPeerTrailers(h.list.Value(i))
	}
	h.removeID(field.Trailer)
}

// bodiless reports whether responses with this status never have content (RFC
// 9110 sections 15.2, 15.3.5 and 15.4.5).
func bodiless(status int) bool {
	return status < StatusOK || status == StatusNoContent || status == StatusNotModified
}

// read reads a head from r.
func (h *header) read(role http1.Role, head *http1.Head, r *bufio.Reader) error {
	h.begin(head)
	if size := r.Size(); size > http1.DefaultMaxHead {
		head.Limits = headLimits(size)
	}
	err := h.readFrom(role, head, recvbuf.Buffered{R: r})
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
func (h *header) readFrom(role http1.Role, head *http1.Head, in recvbuf.Buffered) error {
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
			n, err := h.feed(role, head, b)
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
			return h.readLong(role, head, in)
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

// readLong reads a head larger than the buffer of in. It collects the bytes in the
// block of list.
func (h *header) readLong(role http1.Role, head *http1.Head, in recvbuf.Buffered) error {
	block := h.list.Block[:0]
	for {
		b := in.Peek()
		had := len(block)
		block = append(block, b...)
		n, err := head.Parse(role, block, &h.list)
		h.list.Block = block[:0]
		if err != nil {
			return err
		}
		if n > 0 {
			in.Discard(n - had)
			h.list.Block = block[:n]
			h.adopt(role, head)
			return nil
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
	if h.isHTTP2() {
		h.each(http1.Request, yield)
		return
	}
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

// constText is a short text that headers return but do not store: a default, or the name of
// a field that has a place of its own.
type constText uint8

const (
	textMethod constText = iota
	textTarget
	textVersion
	textClose
	textConnection
	textContentEncoding
	textContentLength
	textContentType
	textCookie
	textHost
	textServer
	textSetCookie
	textTrailer
	textUserAgent
	numTexts
)

var constTexts = [numTexts]fixedText{
	textMethod:          shortText(MethodGet),
	textTarget:          shortText("/"),
	textVersion:         shortText("HTTP/1.1"),
	textClose:           shortText("close"),
	textConnection:      shortText(field.Connection.String()),
	textContentEncoding: shortText(field.ContentEncoding.String()),
	textContentLength:   shortText(field.ContentLength.String()),
	textContentType:     shortText(field.ContentType.String()),
	textCookie:          shortText(field.Cookie.String()),
	textHost:            shortText(field.Host.String()),
	textServer:          shortText(field.Server.String()),
	textSetCookie:       shortText(field.SetCookie.String()),
	textTrailer:         shortText(field.Trailer.String()),
	textUserAgent:       shortText(field.UserAgent.String()),
}

// textBytes is the memory of a lent text. Its size is fixed, so that a text is copied
// by one instruction.
type textBytes [len("Content-Encoding")]byte

type fixedText struct {
	text textBytes
	size int
}

func shortText(s string) (t fixedText) {
	if t.size = copy(t.text[:], s); t.size < len(s) {
		panic("fasthttp: a text that is too long to be lent: " + s)
	}
	return t
}

// textMemory is the memory of the texts that a header has lent.
type textMemory struct {
	short       [numTexts]textBytes
	contentType [len(defaultType)]byte
}

// scratchCopy returns a text in memory that only this header uses. Programs write to returned
// slices, for example to change the case of names. That must not change the texts of
// other headers, and a write to read-only memory would end the process.
func (h *header) scratchCopy(l constText) []byte {
	if h.texts == nil {
		h.texts = new(textMemory)
	}
	b, text := &h.texts.short[l], &constTexts[l]
	*b = text.text
	return b[:text.size:text.size]
}

// scratchType is lend for defaultType.
func (h *header) scratchType() []byte {
	if h.texts == nil {
		h.texts = new(textMemory)
	}
	copy(h.texts.contentType[:], defaultType)
	return h.texts.contentType[:]
}

// ConnectionClose reports whether the connection is closed after this message. This is
// so if "Connection: close" was set or received, alone or in a list, or if the message
// was received as HTTP/1.0 without keep-alive.
func (h *header) ConnectionClose() bool { return h.is(closing) }

// SetConnectionClose sets "Connection: close".
func (h *header) SetConnectionClose() { h.state |= closing }

// ResetConnectionClose removes "Connection: close", whether it was set or received.
func (h *header) ResetConnectionClose() {
	if !h.is(closing) {
		return
	}
	h.state &^= closing
	for i := h.findClose(0); i >= 0; i = h.findClose(i + 1) {
		if others := withoutClose(h.list.Value(i)); len(others) > 0 {
			h.storeAt(i, others)
		}
	}
	// the remaining lines have no other option
	h.list.RemoveEach(h.findClose(0), h.findClose)
}

// findClose returns the position of the first Connection line at or after from that
// lists close, or -1.
func (h *header) findClose(from int) int {
	for i := h.list.FindID(field.Connection, from); i >= 0; i = h.list.FindID(field.Connection, i+1) {
		if http1.ConnectionFlags(h.list.Value(i))&http1.Close != 0 {
			return i
		}
	}
	return -1
}

// withoutClose returns the other options of a Connection field.
func withoutClose(list []byte) (others []byte) {
	for rest := list; rest != nil; {
		var option []byte
		option, rest = ascii.NextElement(rest)
		if len(option) == 0 || ascii.EqualFold(option, strClose) {
			continue
		}
		if len(others) > 0 {
			others = append(others, strCommaSpace...)
		}
		others = append(others, option...)
	}
	return others
}

// needsClose reports whether "Connection: close" has to be written in addition to
// the Connection fields in list, because none of them lists close.
func (h *header) needsClose() bool {
	if !h.is(closing) {
		return false
	}
	return h.findClose(0) < 0
}

// ConnectionUpgrade reports whether the Connection field lists "upgrade", in upper
// or lower case (RFC 9110 section 7.8). It returns false if ConnectionClose returns
// true, as for an HTTP/1.0 message without keep-alive.
func (h *header) ConnectionUpgrade() bool {
	if h.is(closing) {
		return false
	}
	for i := h.list.FindID(field.Connection, 0); i >= 0; i = h.list.FindID(field.Connection, i+1) {
		if http1.ConnectionFlags(h.list.Value(i))&http1.Upgrade != 0 {
			return true
		}
	}
	return false
}

// setConnection replaces all Connection fields. A "close" alone is kept as a flag.
func (h *header) setConnection(k key, value []byte) {
	h.removeConnection()
	if ascii.EqualFold(value, strClose) {
		h.state |= closing
		return
	}
	h.setState(closing, http1.ConnectionFlags(value)&http1.Close != 0)
	h.append(k, value)
}

func (h *header) removeConnection() {
	h.state &^= closing
	h.removeID(field.Connection)
}

package header

import (
	"bufio"
	"io"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/proxied"
	"github.com/valyala/fasthttp/internal/recvbuf"
)

// Begin makes the header, and the parser of its head, ready for a new head.
func (h *Header) Begin(head *http1.Head) {
	h.Reset(Configured)
	head.Reset()
	head.KeepNames, head.KeepAll = h.Is(NamesKept), h.Is(NoSpecial)
}

// Feed reads a head from the beginning of b, which holds all bytes received so far,
// and returns its length, or 0 if it is not complete. Feed copies a complete head, so
// that b can be reused, even one whose framing is an error.
func (h *Header) Feed(role http1.Role, head *http1.Head, b []byte) (n int, err error) {
	h.ensureOwned()
	n, err = head.Parse(role, b, &h.List)
	if n > 0 {
		h.List.Block = append(h.List.Block[:0], b[:n]...)
		h.adopt(role, head)
	}
	return n, err
}

// adopt takes over the results of head. The header was reset, and the text is the block
// of list.
func (h *Header) adopt(role http1.Role, head *http1.Head) {
	h.List.Pinned = true
	h.List.Freeze()
	h.Line[LineVersion] = head.Version
	if role == http1.Request {
		h.Line[LineMethod], h.Line[lineTarget] = head.Method, head.Target
	} else {
		h.Line[LineReason] = head.Reason
		h.received = uint16(head.Status)
	}
	if head.Lines > 0 {
		from := head.Fields
		h.raw = field.Span{Off: uint32(from), Len: uint32(len(h.List.Block) - from)}
	}
	// an assignment of arrays takes no call
	*(*[http1.NumSlots]field.Span)(h.Slots[:]) = head.Slots
	state := WasRead
	if string(h.List.Bytes(head.Version)) != "HTTP/1.1" {
		state |= PeerVersion
		if head.Minor == 0 {
			state |= OldProtocol
		}
	}
	if !head.KeepsAlive() {
		state |= Closing
	}
	if head.Has(http1.HasCookie) {
		state |= rawCookies
	}
	h.Framing = head.Framing
	h.Length = -2
	switch {
	case head.Has(http1.HasCoding):
		if h.Framing.Kind == http1.NoBody {
			h.Length = 0 // of a response whose status has no content
		}
		if h.Framing.MustClose {
			state |= Closing
		}
	case head.Has(http1.HasLength):
		h.Length = int(head.ContentLength)
		state |= hasLength
	case role == http1.Response && !Bodiless(head.Status):
		state |= Closing
	}
	h.State |= state
	if head.Has(http1.HasCoding | http1.HasTrailer) {
		h.adoptChunks(head)
	}
	if head.Has(http1.ManyEncodings) {
		h.joinEncodings()
	}
}

// joinEncodings makes one list of the Content-Encoding lines of a response.
func (h *Header) joinEncodings() {
	all := append([]byte(nil), h.List.Bytes(h.Slots[SlotContentEncoding])...)
	for i := h.List.FindID(field.ContentEncoding, 0); i >= 0; i = h.List.FindID(field.ContentEncoding, i+1) {
		all = append(append(all, ", "...), h.List.Value(i)...)
	}
	h.RemoveID(field.ContentEncoding)
	h.StoreSlot(SlotContentEncoding, all)
}

// adoptChunks is the part of adopt for a message in chunks, or with trailers.
func (h *Header) adoptChunks(head *http1.Head) {
	if h.Framing.Kind == http1.Chunks {
		h.Length = -1
		h.setCoding(true)
	}
	if head.Has(http1.HasTrailer) && !h.Is(NoSpecial) {
		h.adoptTrailerNames()
	}
}

// adoptTrailerNames moves the names in the Trailer field of a peer to trailers.
func (h *Header) adoptTrailerNames() {
	for i := h.List.FindID(field.Trailer, 0); i >= 0; i = h.List.FindID(field.Trailer, i+1) {
		h.addPeerTrailers(h.List.Value(i))
	}
	h.RemoveID(field.Trailer)
}

// Bodiless reports whether responses with this status never have content (RFC
// 9110 sections 15.2, 15.3.5 and 15.4.5).
func Bodiless(status int) bool {
	return status < statusOK || status == statusNoContent || status == statusNotModified
}

// shortestField is the size of the shortest field line.
const shortestField = len("a:\r\n")

// HeadLimits returns the limits for a head of up to size bytes, with as many fields as
// fit into them.
func HeadLimits(size int) http1.Limits {
	return http1.Limits{
		Line: max(size, http1.DefaultMaxLine), Head: size, Fields: max(size/shortestField, http1.DefaultMaxFields),
	}
}

// ReadFrom reads a head from in. The head may be larger than the buffer of in. started is
// false if the error came before the first byte of the head.
func (h *Header) ReadFrom(role http1.Role, head *http1.Head, in recvbuf.Buffered) (started bool, err error) {
	empty := 2 * len("\r\n")
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
			n, err := h.Feed(role, head, b)
			if err != nil {
				return true, err
			}
			if n > 0 {
				in.Discard(n)
				return true, nil
			}
		}
		switch err := in.Fill(); {
		case err == nil:
		case err == bufio.ErrBufferFull:
			return true, h.readLong(role, head, in)
		case started && err == io.EOF:
			return true, io.ErrUnexpectedEOF
		default:
			return started, err
		}
	}
}

// readLong reads a head larger than the buffer of in. It collects the bytes in the
// block of list.
func (h *Header) readLong(role http1.Role, head *http1.Head, in recvbuf.Buffered) error {
	block := h.List.Block[:0]
	for {
		b := in.Peek()
		had := len(block)
		block = append(block, b...)
		n, err := head.Parse(role, block, &h.List)
		h.List.Block = block[:0]
		if err != nil {
			return err
		}
		if n > 0 {
			in.Discard(n - had)
			h.List.Block = block[:n]
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

// RawHeaders returns the field lines that were received.
func (h *Header) RawHeaders() []byte { return h.Text(h.raw) }

// EachInOrder calls yield for the received fields, in the order of the wire, until it
// returns false.
func (h *Header) EachInOrder(yield func(name, value []byte) bool) {
	if h.IsHTTP2() {
		h.Each(http1.Request, yield)
		return
	}
	raw := append([]byte(nil), h.RawHeaders()...)
	var fields field.List
	head := http1.Head{KeepNames: h.Is(NamesKept), Spaces: true, Limits: http1.Limits{Head: len(raw), Fields: len(raw)}}
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
	textMethod:          shortText(methodGet),
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
	contentType [len(DefaultType)]byte
}

// scratchCopy returns a text in memory that only this header uses. Programs write to returned
// slices, for example to change the case of names. That must not change the texts of
// other headers, and a write to read-only memory would end the process.
func (h *Header) scratchCopy(l constText) []byte {
	if h.texts == nil {
		h.texts = new(textMemory)
	}
	b, text := &h.texts.short[l], &constTexts[l]
	*b = text.text
	return b[:text.size:text.size]
}

// scratchType is lend for DefaultType.
func (h *Header) scratchType() []byte {
	if h.texts == nil {
		h.texts = new(textMemory)
	}
	copy(h.texts.contentType[:], DefaultType)
	return h.texts.contentType[:]
}

// ResetClose removes "Connection: close", whether it was set or received.
func (h *Header) ResetClose() {
	if !h.Is(Closing) {
		return
	}
	h.ensureOwned()
	h.State &^= Closing
	for i := h.findClose(0); i >= 0; i = h.findClose(i + 1) {
		if others := withoutClose(h.List.Value(i)); len(others) > 0 {
			h.StoreAt(i, others)
		}
	}
	// the remaining lines have no other option
	h.List.RemoveEach(h.findClose(0), h.findClose)
}

// findClose returns the position of the first Connection line at or after from that
// lists close, or -1.
func (h *Header) findClose(from int) int {
	for i := h.List.FindID(field.Connection, from); i >= 0; i = h.List.FindID(field.Connection, i+1) {
		if http1.ConnectionFlags(h.List.Value(i))&http1.Close != 0 {
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
			others = append(others, ", "...)
		}
		others = append(others, option...)
	}
	return others
}

// needsClose reports whether "Connection: close" has to be written in addition to
// the Connection fields in list, because none of them lists close.
func (h *Header) needsClose() bool {
	if !h.Is(Closing) {
		return false
	}
	return h.findClose(0) < 0
}

// AsksUpgrade reports whether the Connection field lists "upgrade" and the connection is kept.
func (h *Header) AsksUpgrade() bool {
	if h.Is(Closing) {
		return false
	}
	for i := h.List.FindID(field.Connection, 0); i >= 0; i = h.List.FindID(field.Connection, i+1) {
		if http1.ConnectionFlags(h.List.Value(i))&http1.Upgrade != 0 {
			return true
		}
	}
	return false
}

// setConnection replaces all Connection fields. A "close" alone is kept as a flag.
func (h *Header) setConnection(k Key, value []byte) {
	h.removeConnection()
	if ascii.EqualFold(value, strClose) {
		h.State |= Closing
		return
	}
	h.SetState(Closing, http1.ConnectionFlags(value)&http1.Close != 0)
	h.append(k, value)
}

func (h *Header) removeConnection() {
	h.State &^= Closing
	h.RemoveID(field.Connection)
}

// LastElement returns the last element of the list k, which may have several lines, or
// nil. Empty ones do not count.
func (h *Header) LastElement(k Key) []byte {
	for i := h.LastField(k, h.List.Len()); i >= 0; i = h.LastField(k, i) {
		for rest := h.List.Value(i); rest != nil; {
			var last []byte
			if last, rest = proxied.Last(rest); len(last) > 0 {
				return last
			}
		}
	}
	return nil
}

// LastField returns the position of the last field of the header section with the
// name k before a position, or -1. Fields of a trailer section are left out, since
// front ends do not check those.
func (h *Header) LastField(k Key, before int) int {
	for i := before - 1; i >= 0; i-- {
		e := &h.List.Entries[i]
		if e.ID == k.ID && e.Flags&field.InTrailers == 0 && (k.ID != field.Unknown || ascii.EqualFold(h.List.Bytes(e.Name), k.Name)) {
			return i
		}
	}
	return -1
}

package header

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/cookie"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/hpack"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/http2"
)

// This file reads and writes a header as a block of HPACK.

// IsHTTP2 reports whether the message was received by HTTP/2.
func (h *Header) IsHTTP2() bool { return h.Is(overHTTP2) }

// FillBlock fills the header, which was reset, from the head in m. It takes over the lists of
// m in exchange for the lists of the header.
func (h *Header) FillBlock(role http1.Role, m *http2.Message) {
	h.ensureOwned()
	h.List, m.Fields = m.Fields, h.List
	m.Head.Version = h.List.Append(strHTTP2)
	h.adopt(role, &m.Head)
	h.State |= overHTTP2
}

// FillResponseBlock is FillBlock for a response. One whose content has no length does not end the
// connection.
func (h *Header) FillResponseBlock(m *http2.Message) {
	h.Reset(Configured)
	h.FillBlock(http1.Response, m)
	h.Status = int32(m.Head.Status)
	h.State &^= Closing
	if m.Head.Framing.Kind == http1.UntilClose {
		h.Length = -1
	}
}

// AppendBlockField appends a field. Its name is a token, and its value may have blanks around
// it, which HTTP/2 does not permit (RFC 9113 section 8.2.1).
func AppendBlockField(dst []byte, enc *hpack.Encoder, id field.ID, name, value []byte) []byte {
	if n := len(value); n > 0 && (isBlank(value[0]) || isBlank(value[n-1])) {
		value = bytes.Trim(value, " \t")
	}
	return enc.AppendField(dst, id, name, value, hpack.IndexingOf(id, value))
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// BlockStart is how the start of the usual responses of a connection is encoded: the fields
// that most have, with the same values. It holds while the encoder is in the same state.
type BlockStart struct {
	state uint64 // of the encoder
	date  string
	kind  []byte // Content-Type
	text  []byte
}

// AppendResponseBlock appends the header section of a response, sent as e specifies. server is the
// value of the Server field if the response has none. *start is the start of the last
// response.
func (h *Header) AppendResponseBlock(dst []byte, enc *hpack.Encoder, start **BlockStart, server string, e http1.Encoding) []byte {
	dst = h.appendResponseBlockStart(dst, enc, start, server, e)
	dst = h.appendSlotBlock(dst, enc, SlotContentEncoding, field.ContentEncoding)
	if e.Flags.Has(http1.SendLength) {
		dst = enc.AppendLength(dst, e.Length)
	}
	if h.isPlain() {
		return dst
	}
	if len(h.List.Entries) > 0 {
		dst = h.AppendListBlock(dst, enc, http1.Response, e.Flags)
	}
	if h.hasTrailerNames() {
		dst = AppendBlockField(dst, enc, field.Trailer, nil, h.TrailerNames())
	}
	h.MoveCookies(http1.Response)
	for i := range h.Cookies.Entries {
		dst = AppendBlockField(dst, enc, field.SetCookie, nil, h.Cookies.Value(i))
	}
	return dst
}

// appendResponseBlockStart appends the status, and the fields Server, Date and Content-Type.
func (h *Header) appendResponseBlockStart(dst []byte, enc *hpack.Encoder, start **BlockStart, server string, e http1.Encoding) []byte {
	status, date := h.StatusCode(), clock.Date()
	kind := h.List.Bytes(h.Slots[SlotContentType])
	if len(kind) == 0 && e.Length != 0 && !h.Is(NoDefaultType) && !Bodiless(status) {
		kind = strTextPlain
	}
	usual := status == statusOK && h.Slots[slotServer].Len == 0 && !h.Is(undated)
	if s := *start; usual && s != nil && s.state == enc.State() && s.date == date && string(s.kind) == string(kind) {
		return append(dst, s.text...)
	}
	from, state := len(dst), enc.State()
	dst = enc.AppendStatus(dst, status)
	name := h.List.Bytes(h.Slots[slotServer])
	if len(name) == 0 {
		name = bytesconv.Bytes(server)
	}
	if len(name) > 0 {
		dst = AppendBlockField(dst, enc, field.Server, nil, name)
	}
	if !h.Is(undated) {
		dst = AppendBlockField(dst, enc, field.Date, nil, bytesconv.Bytes(date))
	}
	if len(kind) > 0 {
		dst = AppendBlockField(dst, enc, field.ContentType, nil, kind)
	}
	if usual && state == enc.State() {
		// all was in the tables, and is there for the next one
		s := *start
		if s == nil {
			s = new(BlockStart)
			*start = s
		}
		s.state, s.date = state, date
		s.kind, s.text = append(s.kind[:0], kind...), append(s.text[:0], dst[from:]...)
	}
	return dst
}

func (h *Header) appendSlotBlock(dst []byte, enc *hpack.Encoder, slot int, id field.ID) []byte {
	s := h.Slots[slot]
	if s.Len == 0 {
		return dst
	}
	return AppendBlockField(dst, enc, id, nil, h.List.Bytes(s))
}

// AppendRequestBlock appends the header section of a request for a target, sent as e
// specifies, with its pseudo-fields first (RFC 9113 section 8.3.1).
func (h *Header) AppendRequestBlock(dst []byte, enc *hpack.Encoder, scheme string, target []byte, e http1.Encoding) []byte {
	pseudo := func(name, value []byte, how hpack.Indexing) {
		dst = enc.AppendField(dst, field.Unknown, name, value, how)
	}
	pseudo(strMethodName, h.Method(), hpack.Index)
	extended := h.IsExtended()
	if h.IsConnect() && !extended {
		pseudo(strAuthorityName, target, hpack.Index)
	} else {
		if extended {
			pseudo(strProtocolName, h.ConnectProtocol(), hpack.Index)
		}
		pseudo(strSchemeName, bytesconv.Bytes(scheme), hpack.Index)
		pseudo(strAuthorityName, h.Host(), hpack.Index)
		pseudo(strPathName, target, hpack.Plain)
	}
	if !h.Is(NoSpecial) {
		dst = h.appendSlotBlock(dst, enc, SlotUserAgent, field.UserAgent)
		dst = h.appendSlotBlock(dst, enc, SlotContentType, field.ContentType)
		if e.Length > 0 && h.Slots[SlotContentType].Len == 0 && !h.Is(NoDefaultType) {
			dst = AppendBlockField(dst, enc, field.ContentType, nil, strOctetStream)
		}
		if e.Flags.Has(http1.SendLength) {
			dst = enc.AppendLength(dst, e.Length)
		}
	}
	if len(h.List.Entries) > 0 {
		dst = h.AppendListBlock(dst, enc, http1.Request, e.Flags)
	}
	if h.Is(NoSpecial) {
		return dst
	}
	if h.hasTrailerNames() {
		dst = AppendBlockField(dst, enc, field.Trailer, nil, h.TrailerNames())
	}
	if h.hasOwnCookies() {
		from := h.Scratch[ScratchHead][:0]
		from = cookie.AppendText(from, &h.Cookies)
		http1.Clean(from)
		h.Scratch[ScratchHead] = from
		dst = AppendBlockField(dst, enc, field.Cookie, nil, from)
	}
	return dst
}

// The names of pseudo-fields.
var (
	strMethodName    = []byte(":method")
	strSchemeName    = []byte(":scheme")
	strAuthorityName = []byte(":authority")
	strPathName      = []byte(":path")
	strProtocolName  = []byte(":protocol")
)

// AppendListBlock appends the fields of list that belong to the header section of a
// message. Connection-specific fields have no meaning in HTTP/2 (RFC 9113 section
// 8.2.2).
func (h *Header) AppendListBlock(dst []byte, enc *hpack.Encoder, role http1.Role, says http1.FramingFlags) []byte {
	options := h.List.FindID(field.Connection, 0) >= 0
	for i := range h.List.Entries {
		e := &h.List.Entries[i]
		switch e.ID {
		case field.Connection, field.KeepAlive, field.ProxyConnection, field.TransferEncoding, field.Upgrade:
			continue
		case field.Te:
			// it may be sent although Connection lists it (RFC 9113 section 8.2.2)
			if role == http1.Response || !ascii.EqualFoldString(h.List.Bytes(e.Value), "trailers") {
				continue
			}
		case field.Host:
			if role == http1.Request {
				// it is the pseudo-field
				continue
			}
		}
		if e.Flags&field.BadName != 0 || !h.isSent(role, e, says) || options && e.ID != field.Te && h.isOption(h.List.Bytes(e.Name)) {
			continue
		}
		dst = AppendBlockField(dst, enc, e.ID, h.List.Bytes(e.Name), h.List.Bytes(e.Value))
	}
	return dst
}

// isOption reports whether a Connection field lists a name: such a field is
// connection-specific, too (RFC 9110 section 7.6.1).
func (h *Header) isOption(name []byte) bool {
	for i := h.List.FindID(field.Connection, 0); i >= 0; i = h.List.FindID(field.Connection, i+1) {
		for rest := h.List.Value(i); rest != nil; {
			var option []byte
			if option, rest = ascii.NextElement(rest); ascii.EqualFold(option, name) {
				return true
			}
		}
	}
	return false
}

// HasSection reports whether there are fields for a trailer section.
func (h *Header) HasSection() bool {
	for range h.EachTrailer {
		return true
	}
	return false
}

// AppendTrailerBlock appends the trailer section.
func (h *Header) AppendTrailerBlock(dst []byte, enc *hpack.Encoder) []byte {
	for name, value := range h.EachTrailer {
		dst = AppendBlockField(dst, enc, field.Lookup(name), name, value)
	}
	return dst
}

// AddSection adds a trailer section that was received, with the rules of FeedTrailers for fields that
// must not be trailers.
func (h *Header) AddSection(fields *field.List, accept TrailerFilter) error {
	for i := range fields.Entries {
		k := Key{fields.Name(i), fields.Entries[i].ID}
		switch {
		case !http1.IsBarredTrailer(k.Name):
			if accept == nil || accept(k.Name) {
				h.AddTrailing(k, fields.Value(i))
			}
		case !h.isReceivedResponse():
			return http1.ErrBadTrailer
		}
	}
	return nil
}

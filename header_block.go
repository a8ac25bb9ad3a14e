package fasthttp

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

// This file sends and receives a header by HTTP/2: as a block of HPACK.

// isHTTP2 reports whether the message was received by HTTP/2.
func (h *header) isHTTP2() bool { return h.is(overHTTP2) }

// fillBlock fills the header, which was reset, from the head in m. It takes over the lists of
// m in exchange for the lists of the header.
func (h *header) fillBlock(role http1.Role, m *http2.Message) {
	h.ensureOwned()
	h.list, m.Fields = m.Fields, h.list
	m.Head.Version = h.list.Append(strHTTP2)
	h.adopt(role, &m.Head)
	h.state |= overHTTP2
}

// fillBlock is header.fillBlock. A response whose content has no length does not end the
// connection.
func (h *ResponseHeader) fillBlock(m *http2.Message) {
	h.reset(configured)
	h.status = 0
	h.header.fillBlock(http1.Response, m)
	h.status = m.Head.Status
	h.state &^= closing
	if m.Head.Framing.Kind == http1.UntilClose {
		h.contentLength = -1
	}
}

// appendBlockField appends a field. Its name is a token, and its value may have blanks around
// it, which HTTP/2 does not permit (RFC 9113 section 8.2.1).
func appendBlockField(dst []byte, enc *hpack.Encoder, id field.ID, name, value []byte) []byte {
	if n := len(value); n > 0 && (isBlank(value[0]) || isBlank(value[n-1])) {
		value = bytes.Trim(value, " \t")
	}
	return enc.AppendField(dst, id, name, value, hpack.IndexingOf(id, value))
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// blockStart is how the start of the usual responses of a connection is encoded: the fields
// that most have, with the same values. It holds while the encoder is in the same state.
type blockStart struct {
	state uint64
	date  string
	kind  []byte // Content-Type
	text  []byte
}

// appendBlock appends the header section of a response, sent as e specifies. server is the
// value of the Server field if the response has none. *start is the start of the last
// response.
func (h *ResponseHeader) appendBlock(dst []byte, enc *hpack.Encoder, start **blockStart, server string, e http1.Encoding) []byte {
	dst = h.appendBlockStart(dst, enc, start, server, e)
	dst = h.appendSlotBlock(dst, enc, slotContentEncoding, field.ContentEncoding)
	if e.Flags.Has(http1.SendLength) {
		dst = enc.AppendLength(dst, e.Length)
	}
	if len(h.list.Entries) > 0 {
		dst = h.appendListBlock(dst, enc, http1.Response, e.Flags)
	}
	if h.hasTrailerNames() {
		dst = appendBlockField(dst, enc, field.Trailer, nil, h.trailerNames())
	}
	h.moveCookies(http1.Response)
	for i := range h.cookies.Len() {
		dst = appendBlockField(dst, enc, field.SetCookie, nil, h.cookies.Value(i))
	}
	return dst
}

// appendBlockStart appends the status, and the fields Server, Date and Content-Type.
func (h *ResponseHeader) appendBlockStart(dst []byte, enc *hpack.Encoder, start **blockStart, server string, e http1.Encoding) []byte {
	status, date := h.StatusCode(), clock.Date()
	kind := h.list.Bytes(h.slots[slotContentType])
	if len(kind) == 0 && e.Length != 0 && !h.is(noDefaultType) && !bodiless(status) {
		kind = strTextPlain
	}
	usual := status == StatusOK && h.slots[slotServer].Len == 0 && !h.is(undated)
	if s := *start; usual && s != nil && s.state == enc.State() && s.date == date && string(s.kind) == string(kind) {
		return append(dst, s.text...)
	}
	from, state := len(dst), enc.State()
	dst = enc.AppendStatus(dst, status)
	name := h.list.Bytes(h.slots[slotServer])
	if len(name) == 0 {
		name = bytesconv.Bytes(server)
	}
	if len(name) > 0 {
		dst = appendBlockField(dst, enc, field.Server, nil, name)
	}
	if !h.is(undated) {
		dst = appendBlockField(dst, enc, field.Date, nil, bytesconv.Bytes(date))
	}
	if len(kind) > 0 {
		dst = appendBlockField(dst, enc, field.ContentType, nil, kind)
	}
	if usual && state == enc.State() {
		// all was in the tables, and is there for the next one
		s := *start
		if s == nil {
			s = new(blockStart)
			*start = s
		}
		s.state, s.date = state, date
		s.kind, s.text = append(s.kind[:0], kind...), append(s.text[:0], dst[from:]...)
	}
	return dst
}

func (h *header) appendSlotBlock(dst []byte, enc *hpack.Encoder, slot int, id field.ID) []byte {
	s := h.slots[slot]
	if s.Len == 0 {
		return dst
	}
	return appendBlockField(dst, enc, id, nil, h.list.Bytes(s))
}

// appendBlock appends the header section of a request for a target, sent as e
// specifies, with its pseudo-fields first (RFC 9113 section 8.3.1).
func (h *RequestHeader) appendBlock(dst []byte, enc *hpack.Encoder, scheme string, target []byte, e http1.Encoding) []byte {
	pseudo := func(name, value []byte, how hpack.Indexing) {
		dst = enc.AppendField(dst, field.Unknown, name, value, how)
	}
	pseudo(strMethodName, h.method(), hpack.Index)
	extended := h.isExtended()
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
	if !h.is(noSpecial) {
		dst = h.appendSlotBlock(dst, enc, slotUserAgent, field.UserAgent)
		dst = h.appendSlotBlock(dst, enc, slotContentType, field.ContentType)
		if e.Length > 0 && h.slots[slotContentType].Len == 0 && !h.is(noDefaultType) {
			dst = appendBlockField(dst, enc, field.ContentType, nil, strOctetStream)
		}
		if e.Flags.Has(http1.SendLength) {
			dst = enc.AppendLength(dst, e.Length)
		}
	}
	if len(h.list.Entries) > 0 {
		dst = h.appendListBlock(dst, enc, http1.Request, e.Flags)
	}
	if h.is(noSpecial) {
		return dst
	}
	if h.hasTrailerNames() {
		dst = appendBlockField(dst, enc, field.Trailer, nil, h.trailerNames())
	}
	if h.hasOwnCookies() {
		from := h.scratch[scratchHead][:0]
		from = cookie.AppendText(from, &h.cookies)
		http1.Clean(from)
		h.scratch[scratchHead] = from
		dst = appendBlockField(dst, enc, field.Cookie, nil, from)
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

// appendListBlock appends the fields of list that belong to the header section of a
// message. Connection-specific fields have no meaning in HTTP/2 (RFC 9113 section
// 8.2.2).
func (h *header) appendListBlock(dst []byte, enc *hpack.Encoder, role http1.Role, says http1.FramingFlags) []byte {
	options := h.list.FindID(field.Connection, 0) >= 0
	for i := range h.list.Entries {
		e := &h.list.Entries[i]
		switch e.ID {
		case field.Connection, field.KeepAlive, field.ProxyConnection, field.TransferEncoding, field.Upgrade:
			continue
		case field.Te:
			// it may be sent although Connection lists it (RFC 9113 section 8.2.2)
			if role == http1.Response || !ascii.EqualFoldString(h.list.Bytes(e.Value), "trailers") {
				continue
			}
		case field.Host:
			if role == http1.Request {
				// it is the pseudo-field
				continue
			}
		}
		if e.Flags&field.BadName != 0 || !h.isSent(role, e, says) || options && e.ID != field.Te && h.isOption(h.list.Bytes(e.Name)) {
			continue
		}
		dst = appendBlockField(dst, enc, e.ID, h.list.Bytes(e.Name), h.list.Bytes(e.Value))
	}
	return dst
}

// isOption reports whether a Connection field lists a name: such a field is
// connection-specific, too (RFC 9110 section 7.6.1).
func (h *header) isOption(name []byte) bool {
	for i := h.list.FindID(field.Connection, 0); i >= 0; i = h.list.FindID(field.Connection, i+1) {
		for rest := h.list.Value(i); rest != nil; {
			var option []byte
			if option, rest = ascii.NextElement(rest); ascii.EqualFold(option, name) {
				return true
			}
		}
	}
	return false
}

// hasSection reports whether there are fields for a trailer section.
func (h *header) hasSection() bool {
	for range h.eachTrailer {
		return true
	}
	return false
}

// appendTrailerBlock appends the trailer section.
func (h *header) appendTrailerBlock(dst []byte, enc *hpack.Encoder) []byte {
	for name, value := range h.eachTrailer {
		dst = appendBlockField(dst, enc, field.Lookup(name), name, value)
	}
	return dst
}

// addSection adds a trailer section that was received. It returns ErrBadTrailer if a field
// must not be a trailer.
func (h *header) addSection(fields *field.List, accept trailerFilter) error {
	for i := range fields.Entries {
		k := key{fields.Name(i), fields.Entries[i].ID}
		if http1.IsBarredTrailer(k.name) {
			return ErrBadTrailer
		}
		if accept == nil || accept(k.name) {
			h.addTrailing(k, fields.Value(i))
		}
	}
	return nil
}

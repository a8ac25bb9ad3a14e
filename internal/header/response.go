package header

import (
	"bufio"
	"math"
	"sync/atomic"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/clock"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
)

// StatusCode returns the status of a response, 200 by default.
func (h *Header) StatusCode() int {
	if h.Status == 0 {
		return statusOK
	}
	return int(h.Status)
}

// SetStatus sets the status of a response.
func (h *Header) SetStatus(code int) { h.Status = int32(min(max(code, 0), math.MaxInt32)) }

// Reason returns the reason phrase of a response, or nil for the usual one.
func (h *Header) Reason() []byte { return h.Text(h.Line[LineReason]) }

// Server returns the value of the Server field of a response.
func (h *Header) Server() []byte {
	h.nameServer()
	return h.Text(h.Slots[slotServer])
}

// SetServer sets the Server field of a response.
func (h *Header) SetServer(server []byte) {
	h.State &^= NamesServer
	h.StoreSlot(slotServer, server)
}

// SetResponseLength sets the length of the content of a response: -1 means chunks, and -2
// content that the end of the connection ends.
func (h *Header) SetResponseLength(contentLength int) {
	if Bodiless(h.StatusCode()) {
		return
	}
	h.Length = contentLength
	h.SetState(hasLength, contentLength >= 0)
	h.setCoding(contentLength == -1)
	if contentLength < -1 {
		h.Length = -2
		h.State |= Closing
	}
}

// SetContentRange sets the Content-Range field.
func (h *Header) SetContentRange(startPos, endPos, contentLength int) {
	var text [72]byte
	b := append(text[:0], "bytes "...)
	b = ascii.AppendUint(b, max(startPos, 0))
	b = append(b, '-')
	b = ascii.AppendUint(b, max(endPos, 0))
	b = append(b, '/')
	b = ascii.AppendUint(b, max(contentLength, 0))
	h.Set(http1.Response, KeyOfID(field.ContentRange), b)
}

// AppendAlone appends the head of a message that no server sends.
func (h *Header) AppendAlone(dst []byte, e http1.Encoding) []byte {
	h.nameServer()
	return h.AppendResponse(dst, &plainPrefix, e)
}

// plainPrefix is the start of responses that are not sent by a server.
var plainPrefix Prefix

// Prefix caches the start of the head of nearly every response of a server: the
// status line, the field Server and the field Date. Only the date changes.
//
// Many responses of a server differ only in their content. Therefore Prefix also
// caches the whole head of the first response of each second.
type Prefix struct {
	Server []byte // the line of the field Server, or nil
	last   atomic.Pointer[datedPrefix]
}

type datedPrefix struct {
	second int64  // of the date
	text   []byte // of the start

	// fullHead is the head with these fields and no others, or nil
	fullHead      []byte
	contentType   string
	contentLength int
}

// now returns the start for the current second. If there is none yet, h is the first
// response in this second, sent as e specifies.
func (p *Prefix) now(h *Header, e http1.Encoding) *datedPrefix {
	second := clock.Second()
	last := p.last.Load()
	if last == nil || last.second != second {
		last = p.make(h, second, e)
		p.last.Store(last)
	}
	return last
}

func (p *Prefix) make(h *Header, second int64, e http1.Encoding) *datedPrefix {
	text := append(http1.AppendUsualStatusLine(nil, statusOK), p.Server...)
	d := &datedPrefix{second: second, text: appendDate(text, clock.Date())}
	if h.isPlain() && e.Flags == http1.SendLength {
		d.contentType, d.contentLength = string(h.List.Bytes(h.Slots[SlotContentType])), e.Length
		d.fullHead = h.appendAfterStart(append([]byte(nil), d.text...), statusOK, e)
	}
	return d
}

// isPlain reports whether Content-Type, which may be the default, is the only field in addition
// to the fields of the start, and of framing and connection.
func (h *Header) isPlain() bool {
	return !h.Is(rawCookies) && (h.Slots[SlotContentType].Len > 0 || !h.Is(NoDefaultType)) && h.Slots[SlotContentEncoding].Len == 0 &&
		len(h.List.Entries) == 0 && len(h.Trailers.Entries) == 0 && len(h.Cookies.Entries) == 0
}

func appendDate(dst []byte, date string) []byte {
	return append(append(append(dst, "Date: "...), date...), "\r\n"...)
}

// AppendResponse appends the head of a message sent as e specifies. start is the
// cached start of the usual response; it may be nil. Other responses get its Server
// field.
func (h *Header) AppendResponse(dst []byte, start *Prefix, e http1.Encoding) []byte {
	status := h.StatusCode()
	if start != nil && status == statusOK && h.Line[LineVersion].Len|h.Line[LineReason].Len == 0 && h.Slots[slotServer].Len == 0 && !h.Is(undated) {
		now := start.now(h, e)
		if now.fullHead != nil && e.Length == now.contentLength && e.Flags == http1.SendLength && h.isPlain() && string(h.List.Bytes(h.Slots[SlotContentType])) == now.contentType {
			return append(dst, now.fullHead...)
		}
		dst = append(dst, now.text...)
	} else {
		dst = h.appendStart(dst, status, start, e)
	}
	return h.appendAfterStart(dst, status, e)
}

// appendAfterStart appends the part of the head after the start.
func (h *Header) appendAfterStart(dst []byte, status int, e http1.Encoding) []byte {
	switch {
	case h.Slots[SlotContentType].Len > 0:
		dst = h.appendSlot(dst, SlotContentType, "Content-Type: ")
	case e.Length != 0 && !h.Is(NoDefaultType) && !Bodiless(status):
		dst = append(append(append(dst, "Content-Type: "...), strTextPlain...), "\r\n"...)
	}
	dst = h.appendSlot(dst, SlotContentEncoding, "Content-Encoding: ")
	if e.Flags.Has(http1.SendLength) {
		dst = appendLength(dst, e.Length)
	}
	if len(h.List.Entries) > 0 {
		dst = h.AppendList(dst, http1.Response, e.Flags)
	}
	return h.appendEnd(dst, http1.Response, e.Flags)
}

func (h *Header) appendStart(dst []byte, status int, start *Prefix, e http1.Encoding) []byte {
	own := e.Flags.Has(http1.OwnVersion)
	switch reason := h.Reason(); {
	case reason == nil && h.Line[LineVersion].Len == 0:
		dst = http1.AppendUsualStatusLine(dst, status)
	case !own && h.isReceivedStart(status):
		end := h.Line[LineReason].Off + h.Line[LineReason].Len
		dst = append(append(dst, h.List.Bytes(field.Span{Len: end})...), "\r\n"...)
	default:
		if reason == nil {
			reason = bytesconv.Bytes(http1.Reason(status))
		}
		version := strHTTP11
		if !own {
			version = h.version()
		}
		dst = http1.AppendStatusLine(dst, version, status, reason)
	}
	if h.Slots[slotServer].Len > 0 {
		dst = h.appendSlot(dst, slotServer, "Server: ")
	} else if start != nil {
		dst = append(dst, start.Server...)
	}
	if !h.Is(undated) {
		dst = appendDate(dst, clock.Date())
	}
	return dst
}

// isReceivedStart reports whether the status line of the response is the one that was
// received. It is at the beginning of the block.
func (h *Header) isReceivedStart(status int) bool {
	version, reason := h.Line[LineVersion], h.Line[LineReason]
	return status == int(h.received) && version.Off == 0 && version.Len > 0 &&
		reason.Off == version.Len+uint32(len(" 200 ")) && h.List.IsFrozen(reason)
}

// WriteResponse writes the head of a message sent as e specifies.
func (h *Header) WriteResponse(w *bufio.Writer, e http1.Encoding) error {
	var head []byte
	if h.WrittenSize() <= w.Available() {
		// in the buffer of w, so that Write need not copy it
		head = h.AppendAlone(w.AvailableBuffer(), e)
	} else {
		head = h.AppendAlone(h.Scratch[ScratchHead][:0], e)
		h.Scratch[ScratchHead] = head
	}
	_, err := w.Write(head)
	return err
}

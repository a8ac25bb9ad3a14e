package header

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/uri"
	"github.com/valyala/fasthttp/internal/urlencoded"
)

// LentMethod is Method for callers that may write to the result.
func (h *Header) LentMethod() []byte {
	if m := h.Text(h.Line[LineMethod]); m != nil {
		return m
	}
	return h.scratchCopy(textMethod)
}

// Method returns the method, GET by default. The caller must not write to the result.
func (h *Header) Method() []byte {
	if m := h.Text(h.Line[LineMethod]); m != nil {
		return m
	}
	return strMethodGet
}

// IsConnect reports whether the method is CONNECT.
func (h *Header) IsConnect() bool { return string(h.Method()) == methodConnect }

// LentTarget is Target for callers that may write to the result.
func (h *Header) LentTarget() []byte {
	if t := h.Text(h.Line[lineTarget]); t != nil {
		return t
	}
	return h.scratchCopy(textTarget)
}

// Target returns the request target, "/" by default. The caller must not write to the result.
func (h *Header) Target() []byte {
	if t := h.Text(h.Line[lineTarget]); t != nil {
		return t
	}
	return strSlash
}

// TargetIsPath reports whether the target is a path that can be sent as it is.
func (h *Header) TargetIsPath() bool {
	target := h.Target()
	return target[0] == '/' && ascii.IsVisible(target) && ascii.IndexByte(target, '#') == len(target) &&
		(h.HasReceivedTarget() || !hasBadEscape(target))
}

// HasReceivedTarget reports whether the target is the one that was received.
func (h *Header) HasReceivedTarget() bool {
	target := h.Line[lineTarget]
	return target.Len > 0 && h.List.IsFrozen(target)
}

// hasBadEscape reports whether the path of target has a percent sign that begins no escape.
func hasBadEscape(target []byte) bool {
	if bytes.IndexByte(target, '%') < 0 {
		return false
	}
	path, _, _ := bytes.Cut(target, []byte{'?'})
	return urlencoded.HasBadEscape(path)
}

// SetTarget sets the request target. It prepends the path "/" to a query alone.
func (h *Header) SetTarget(requestURI []byte) {
	if len(requestURI) > 0 && requestURI[0] == '?' {
		requestURI = append([]byte{'/'}, requestURI...)
	}
	h.StoreLine(lineTarget, requestURI)
}

// Host returns the value of the Host field, or nil.
func (h *Header) Host() []byte { return h.Text(h.Slots[SlotHost]) }

// RequestLength returns the length of the content of a request: -1 in chunks, -2 if no field declares it.
func (h *Header) RequestLength() int {
	if h.Is(NoSpecial) && h.Length == 0 && !h.Is(hasLength) {
		return -2
	}
	return h.Length
}

// SetRequestLength sets the length of the content of a request. A negative one means chunks.
func (h *Header) SetRequestLength(contentLength int) {
	h.Length = contentLength
	h.SetState(hasLength, contentLength >= 0)
	h.setCoding(contentLength < 0)
}

// setOwnLength corrects the length in the fields that the application writes itself.
func (h *Header) setOwnLength() {
	at := h.List.FindID(field.ContentLength, 0)
	if at < 0 && h.Length <= 0 {
		return
	}
	if h.Length < 0 {
		h.RemoveID(field.ContentLength)
		return
	}
	var digits [20]byte
	length := ascii.AppendUint(digits[:0], h.Length)
	if at < 0 {
		h.append(KeyOfID(field.ContentLength), length)
		return
	}
	if !bytes.Equal(h.List.Value(at), length) {
		h.StoreAt(at, length)
	}
	if h.List.FindID(field.ContentLength, at+1) >= 0 {
		h.ensureOwned()
		h.List.RemoveID(field.ContentLength, at+1)
	}
}

// SetByteRange sets the Range field.
func (h *Header) SetByteRange(startPos, endPos int) {
	var text [48]byte
	b := append(text[:0], "bytes="...)
	if startPos < 0 {
		b = append(b, '-')
		b = ascii.AppendUint(b, -max(startPos, -math.MaxInt))
	} else {
		b = ascii.AppendUint(b, startPos)
		b = append(b, '-')
		if endPos >= 0 {
			b = ascii.AppendUint(b, endPos)
		}
	}
	h.Set(http1.Request, KeyOfID(field.Range), b)
}

// AcceptsCoding reports whether Accept-Encoding lists the coding with a weight other than 0.
func (h *Header) AcceptsCoding(acceptEncoding []byte) bool {
	for i := h.List.FindID(field.AcceptEncoding, 0); i >= 0; i = h.List.FindID(field.AcceptEncoding, i+1) {
		if listed, accepted := http1.AcceptsCoding(h.List.Value(i), acceptEncoding); listed {
			return accepted
		}
	}
	return false
}

// AppendRequest appends the head of a message sent as e specifies.
func (h *Header) AppendRequest(dst []byte, e http1.Encoding) []byte {
	if line := h.ReceivedStart(); line != nil && !e.Flags.Has(http1.OwnVersion) {
		return h.appendFields(append(dst, line...), e)
	}
	return h.AppendAfterTarget(append(h.AppendMethod(dst), h.Target()...), e)
}

// AppendMethod appends the method and a space.
func (h *Header) AppendMethod(dst []byte) []byte {
	return append(append(dst, h.Method()...), ' ')
}

// HasPathMethod reports whether the method is known to have a path as its target in any
// case. A result of false does not mean that the target is not a path.
func (h *Header) HasPathMethod() bool {
	first := h.Method()[0]
	return first != methodConnect[0] && first != methodOptions[0]
}

// ReceivedStart returns the request line that was received, or nil if the request line
// has been changed or was not received.
func (h *Header) ReceivedStart() []byte {
	method, target, version := h.Line[LineMethod], h.Line[lineTarget], h.Line[LineVersion]
	if method.Len == 0 || target.Off != method.Off+method.Len+1 || version.Off != target.Off+target.Len+1 || !h.List.IsFrozen(version) {
		return nil
	}
	return h.List.Bytes(field.Span{Off: method.Off, Len: version.Off + version.Len - method.Off})
}

// The errors of a request line that a server would parse in a different way from how it
// was set.
var (
	errMethod   = errors.New("fasthttp: the method of the request is no token")
	errTarget   = fmt.Errorf("%w: there is a space or control character in the target of the request", uri.ErrInvalid)
	errProtocol = errors.New("fasthttp: there is a space or control character in the protocol of the request")
)

// HasDefaultMethod reports whether the method was not set: it is GET.
func (h *Header) HasDefaultMethod() bool { return h.Line[LineMethod].Len == 0 }

// HasDefaultLine reports whether neither the method nor the protocol of the request
// line was set.
func (h *Header) HasDefaultLine() bool {
	return h.Line[LineMethod].Len|h.Line[LineVersion].Len == 0
}

// CheckMethod returns an error if a server would parse the request line in another way
// because of its method or protocol.
func (h *Header) CheckMethod() error {
	if method := h.Line[LineMethod]; !h.List.IsFrozen(method) {
		switch method := h.Method(); {
		case string(method) == methodGet, string(method) == methodPost:
		case !ascii.IsToken(method):
			return errMethod
		}
	}
	if version := h.Line[LineVersion]; !h.List.IsFrozen(version) && ascii.HasSpaceOrControl(h.version()) {
		return errProtocol
	}
	return nil
}

// CheckLine is CheckMethod that checks the target, too. Parts that were received were
// checked then, and the defaults are right.
func (h *Header) CheckLine() error {
	if target := h.Line[lineTarget]; !h.List.IsFrozen(target) && ascii.HasSpaceOrControl(h.Target()) {
		return errTarget
	}
	return h.CheckMethod()
}

// AppendAfterTarget appends the part of the head after the target.
func (h *Header) AppendAfterTarget(dst []byte, e http1.Encoding) []byte {
	if h.Line[LineVersion].Len == 0 || e.Flags.Has(http1.OwnVersion) {
		return h.appendFields(append(dst, " HTTP/1.1"...), e)
	}
	return h.appendFields(append(append(dst, ' '), h.version()...), e)
}

// appendFields appends the part of the head after the version.
func (h *Header) appendFields(dst []byte, e http1.Encoding) []byte {
	dst = append(dst, "\r\n"...)
	if h.Is(NoSpecial) {
		dst = h.AppendList(dst, http1.Request, e.Flags)
		if h.needsClose() {
			dst = append(dst, "Connection: close\r\n"...)
		}
		return append(dst, "\r\n"...)
	}
	dst = h.appendSlot(dst, SlotHost, "Host: ")
	dst = h.appendSlot(dst, SlotUserAgent, "User-Agent: ")
	dst = h.appendSlot(dst, SlotContentType, "Content-Type: ")
	if e.Length > 0 && h.Slots[SlotContentType].Len == 0 && !h.Is(NoDefaultType) {
		dst = append(append(append(dst, "Content-Type: "...), strOctetStream...), "\r\n"...)
	}
	if e.Flags.Has(http1.SendLength) {
		dst = appendLength(dst, e.Length)
	}
	dst = h.AppendList(dst, http1.Request, e.Flags)
	return h.appendEnd(dst, http1.Request, e.Flags)
}

// IgnoresBody reports whether a request with this method and without a body is sent
// without a Content-Length.
func (h *Header) IgnoresBody() bool {
	m := h.Method()
	return string(m) == methodGet || string(m) == methodHead
}

// WriteRequest writes the head of a message sent as e specifies, and whose request
// line was checked.
func (h *Header) WriteRequest(w *bufio.Writer, e http1.Encoding) error {
	var head []byte
	if h.WrittenSize() <= w.Available() {
		// in the buffer of w, so that Write need not copy it
		head = h.AppendRequest(w.AvailableBuffer(), e)
	} else {
		head = h.AppendRequest(h.Scratch[ScratchHead][:0], e)
		h.Scratch[ScratchHead] = head
	}
	_, err := w.Write(head)
	return err
}

// ConnectProtocol returns the protocol of an extended CONNECT (RFC 8441), or nil.
func (h *Header) ConnectProtocol() []byte {
	if !h.IsExtended() {
		return nil
	}
	return h.Text(h.Slots[SlotProtocol])
}

// IsExtended reports whether the request is an extended CONNECT.
func (h *Header) IsExtended() bool { return h.Slots[SlotProtocol].Len > 0 && h.IsConnect() }

package fasthttpadaptor

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/bridge"
	"github.com/valyala/fasthttp/internal/http1"
)

// The functions in this file run in the server's goroutine.

// sendBuffered sets the response of a handler that has returned.
func (w *responseWriter) sendBuffered() {
	resp := &w.ctx.Response
	w.moveBarredTrailers()
	w.sendHead()
	if w.isHead {
		w.sendLengthOfHead()
		return
	}
	if !bodyAllowed(w.status) {
		return
	}
	w.endTrailers()
	switch {
	case w.length >= 0 && w.length != int64(w.buffered):
		// the client can notice this only if the connection ends too early, after the head
		resp.ImmediateHeaderFlush = true
		body := bytes.Clone(resp.Body())
		resp.SetBodyStream(incomplete{bytes.NewReader(body)}, int(w.length))
	case w.hidesLength():
		body := bytes.Clone(resp.Body())
		resp.SetBodyStream(bytes.NewReader(body), -1)
	}
}

// hidesLength reports whether the handler wants no Content-Length: it has set the field to
// nil, or asks for chunks.
func (w *responseWriter) hidesLength() bool {
	values, ok := w.head["Content-Length"]
	return ok && len(values) == 0 || strings.EqualFold(w.head.Get("Transfer-Encoding"), "chunked")
}

// moveBarredTrailers moves fields that must not be trailers, such as Content-Type, to the head
// if the handler has announced them and set them after the body: the head was not sent yet.
func (w *responseWriter) moveBarredTrailers() {
	for name := range announcedTrailers(w.head) {
		if values, ok := w.header[name]; ok && http1.IsBarredTrailer([]byte(name)) {
			w.head[name] = values
		}
	}
}

// incomplete is a body shorter than its announced size. It is sent nevertheless.
type incomplete struct{ io.Reader }

// SendsPieces implements fasthttp.PiecewiseStream.
func (incomplete) SendsPieces() bool { return true }

// sendLengthOfHead sets the length of the unsent body of a response to HEAD.
func (w *responseWriter) sendLengthOfHead() {
	resp := &w.ctx.Response
	resp.SkipBody = true
	switch {
	case w.length >= 0:
		resp.Header.SetContentLength(int(w.length))
	case w.written > 0:
		resp.Header.SetContentLength(int(w.written))
	}
}

// sendStream sets the response of a handler that is still writing it.
func (w *responseWriter) sendStream() {
	resp := &w.ctx.Response
	w.sendHead()
	resp.ImmediateHeaderFlush = true
	resp.SetBodyStream(w.stream, int(w.length))
}

// sendHead sets the status and the fields of the response. Fields set by the server or by a
// handler around this one stay unless the handler has set them, too.
func (w *responseWriter) sendHead() {
	resp := &w.ctx.Response
	resp.SetStatusCode(w.status)
	h := &resp.Header
	setFields(h, w.head)
	if values, ok := w.head["Date"]; ok && len(values) == 0 {
		h.Del("Date")
		bridge.OmitDate(h)
	}
	for name := range announcedTrailers(w.head) {
		// fields that must not be trailers are left out
		_ = h.AnnounceTrailer(name)
	}
	// if no type was set, it is guessed or left out, as in net/http
	h.SetNoDefaultContentType(true)
	switch {
	case w.status == http.StatusNotModified:
		h.Del("Content-Type")
	case len(w.sniff) > 0 && len(h.ContentType()) == 0:
		h.SetContentType(http.DetectContentType(w.sniff))
	}
	if w.closes || w.flushed && w.fault != nil {
		resp.SetConnectionClose()
	}
}

// setFields sets the fields of a response, except for the framing fields. As in net/http,
// fields that are set before the response begins are sent in the header section, even if they
// are announced as trailers.
func setFields(h *fasthttp.ResponseHeader, fields http.Header) {
	var room [16]string // for most responses
	names := room[:0]
	for name := range fields {
		if !strings.HasPrefix(name, http.TrailerPrefix) && name != "Content-Length" && name != "Transfer-Encoding" && name != "Trailer" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	// names that differ in case only are one field, so all go before the first value comes
	for _, name := range names {
		h.Del(name)
	}
	for _, name := range names {
		for _, value := range fields[name] {
			h.Add(name, value)
		}
	}
}

package fasthttpadaptor

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/http1"
)

// What is here runs in the server's goroutine.

// sendBuffered makes the response of a handler that has returned.
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
	if w.length >= 0 && w.length != w.written {
		// only a connection that ends too early tells the client
		body := bytes.Clone(resp.Body())
		resp.SetBodyStream(incomplete{bytes.NewReader(body)}, int(w.length))
	}
}

// moveBarredTrailers makes fields of the head what must not be trailers, such as
// Content-Type, though the handler has announced them and set them behind the body:
// there is still time for that.
func (w *responseWriter) moveBarredTrailers() {
	for name := range announcedTrailers(w.head) {
		if values, ok := w.header[name]; ok && http1.IsBarredTrailer([]byte(name)) {
			w.head[name] = values
		}
	}
}

// incomplete is a body that is shorter than its size. It is sent nevertheless.
type incomplete struct{ io.Reader }

// SendsPieces implements fasthttp.PiecewiseStream.
func (incomplete) SendsPieces() bool { return true }

// sendLengthOfHead says how long the body is that is not sent.
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

// sendStream makes the response of a handler that goes on writing it.
func (w *responseWriter) sendStream() {
	resp := &w.ctx.Response
	w.sendHead()
	resp.ImmediateHeaderFlush = true
	resp.SetBodyStream(w.stream, int(w.length))
}

// sendHead sets the status and the fields of the response. What the server or a
// handler around this one has set stays unless the handler has set it, too.
func (w *responseWriter) sendHead() {
	resp := &w.ctx.Response
	resp.SetStatusCode(w.status)
	h := &resp.Header
	setFields(h, w.head)
	for name := range announcedTrailers(w.head) {
		// what must not be a trailer is none
		_ = h.AnnounceTrailer(name)
	}
	// a type that nobody has set is guessed or left out, as in net/http
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

// setFields sets the fields of a response, but for those that frame it. As with
// net/http, what is set by now stands in the header section, whether or not it is
// announced as a trailer.
func setFields(h *fasthttp.ResponseHeader, fields http.Header) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch {
		case strings.HasPrefix(name, http.TrailerPrefix):
			continue
		case name == "Content-Length" || name == "Transfer-Encoding" || name == "Trailer":
			continue
		}
		h.Del(name)
		for _, value := range fields[name] {
			h.Add(name, value)
		}
	}
}

package http2

import "github.com/valyala/fasthttp/internal/field"

// This file is for HTTP/3, whose rules for the fields of messages are the same (RFC 9114 sections
// 4.2 to 4.4).

// ValidPseudo reports whether a pseudo-field may have a value, whatever the other values are.
func ValidPseudo(id field.ID, value []byte) bool { return validPseudo(id, value) }

// Prepare prepares m for another section.
func (m *Message) Prepare(keepNames, extended bool) {
	m.reset(&Limits{KeepNames: keepNames, ExtendedConnect: extended})
}

// CheckRequest checks the fields of a request, which were decoded to Fields, and sets the rest of
// m from them. If end is set there is no content. If fault is not nil the message is malformed;
// otherwise flaw, if it is not nil, is ErrTarget or ErrHost, for which the request gets a response.
func (m *Message) CheckRequest(end bool) (flaw, fault *Error) {
	_, flaw, fault = m.checkRequest()
	if fault == nil {
		fault = m.frame(end, false)
	}
	return flaw, fault
}

// CheckResponse is CheckRequest for the response to a request. none means that it has no content
// whatever its status is.
func (m *Message) CheckResponse(none bool) (fault *Error) {
	if fault = m.checkResponse(); fault == nil && m.Head.Status >= 200 {
		fault = m.frame(false, none || m.Head.Status == 204 || m.Head.Status == 304)
	}
	return fault
}

// CheckTrailers checks the fields of a trailer section.
func (m *Message) CheckTrailers() *Error { return m.checkTrailers() }

// NoteMethod sets Head.MethodID of a request with too many fields to be checked.
func (m *Message) NoteMethod() { m.noteMethod() }

package sse

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrInvalidEvent is wrapped by the errors of events that cannot be sent: a name or an ID
// with a line break or a NUL, or a negative reconnection time.
var ErrInvalidEvent = errors.New("sse: invalid event")

// Event is an event.
type Event struct {
	// ID identifies the event. A client that reconnects sends the ID of the last event
	// that it has received: see Stream.LastEventID. An event sent without an ID
	// leaves the last one in force. A received event has the ID in force, which may be
	// the ID of an earlier event, as lastEventId in browsers.
	ID string

	// Name is the type of the event, to which browsers dispatch it. Browsers use
	// "message" if it is empty.
	Name string

	// Data is the content, which should be UTF-8; it is not checked. The format has
	// lines of text: CR, LF and CRLF all end a line, and are received as LF.
	//
	// Browsers dispatch an event with empty Data, but none without a data field. An event
	// to send has no data field if Data is nil and Name is empty: it only sets the ID or
	// the reconnection time.
	//
	// The Data of a received event is valid until the function that got it returns, or
	// until the next call of Decoder.Next.
	Data []byte

	// Retry, if it is not 0, sets the time that clients wait before they reconnect, in
	// whole milliseconds, rounded up.
	Retry time.Duration
}

// check returns the reason why the event cannot be sent.
func (e *Event) check() error {
	switch {
	case strings.ContainsAny(e.Name, "\r\n\x00"):
		return fmt.Errorf("%w: the name %q has a line break or a NUL", ErrInvalidEvent, e.Name)
	case strings.ContainsAny(e.ID, "\r\n\x00"):
		return fmt.Errorf("%w: the ID %q has a line break or a NUL", ErrInvalidEvent, e.ID)
	case e.Retry < 0:
		return fmt.Errorf("%w: the reconnection time is %v", ErrInvalidEvent, e.Retry)
	}
	return nil
}

// appendEvent appends a valid event, encoded. It appends nothing for an event without any
// field.
func appendEvent(dst []byte, e *Event) []byte {
	from := len(dst)
	if e.Retry > 0 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, int64((e.Retry-1)/time.Millisecond)+1, 10)
		dst = append(dst, '\n')
	}
	if e.ID != "" {
		dst = append(append(append(dst, "id: "...), e.ID...), '\n')
	}
	if e.Name != "" {
		dst = append(append(append(dst, "event: "...), e.Name...), '\n')
	}
	if e.Data != nil || e.Name != "" {
		dst = appendLines(dst, "data: ", e.Data)
	}
	if len(dst) == from {
		return dst
	}
	return append(dst, '\n')
}

// appendLines appends each line of text, also an empty last one, with a prefix.
func appendLines(dst []byte, prefix string, text []byte) []byte {
	// the next CR and the next LF, each searched for once
	cr, lf := nextByte(text, 0, '\r'), nextByte(text, 0, '\n')
	for from := 0; ; {
		end := min(cr, lf)
		dst = append(dst, prefix...)
		dst = append(dst, text[from:end]...)
		dst = append(dst, '\n')
		if end == len(text) {
			return dst
		}
		from = end + 1
		if end == cr {
			cr = nextByte(text, from, '\r')
			if lf == from && from < len(text) {
				from++
			}
		}
		if lf < from {
			lf = nextByte(text, from, '\n')
		}
	}
}

// nextByte returns the index of the first c from an index on, or the length of text.
func nextByte(text []byte, from int, c byte) int {
	if i := bytes.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

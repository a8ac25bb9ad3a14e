package fasthttp

import (
	"bytes"
	"iter"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// validator is what conditions are checked against (RFC 9110 section 8.8).
type validator struct {
	etag     []byte    // with its quotes; empty where there is none
	modified time.Time // zero where it is not known
}

// verdict is what the conditions of a request come to.
type verdict uint8

const (
	conditionsHold verdict = iota
	notModified            // 304
	preconditionFailed
)

// judge evaluates the conditions of a GET or HEAD request in the order of RFC
// 9110 section 13.2.2, If-Range excepted. A date that is none is as good as no
// field.
func judge(h *RequestHeader, v validator) verdict {
	if hasField(h, field.IfMatch) {
		if !matchesAny(h, field.IfMatch, v.etag, strongMatch) {
			return preconditionFailed
		}
	} else if date, ok := fieldDate(h, field.IfUnmodifiedSince); ok && !v.modified.IsZero() && v.seconds().After(date) {
		return preconditionFailed
	}
	if hasField(h, field.IfNoneMatch) {
		if matchesAny(h, field.IfNoneMatch, v.etag, weakMatch) {
			return notModified
		}
	} else if date, ok := fieldDate(h, field.IfModifiedSince); ok && !v.modified.IsZero() && !v.seconds().After(date) {
		return notModified
	}
	return conditionsHold
}

// seconds returns when the content was modified as Last-Modified tells it.
func (v validator) seconds() time.Time { return v.modified.Truncate(time.Second) }

// rangeApplies evaluates If-Range: what the client holds a part of must be what
// is there now, beyond doubt (RFC 9110 section 13.1.5). So a weak entity tag
// never matches, and neither does a date so young that the content may have
// changed within the same second.
func rangeApplies(h *RequestHeader, v validator, now time.Time) bool {
	if !hasField(h, field.IfRange) {
		return true
	}
	value := h.peekID(field.IfRange)
	if tag, rest, ok := cutEntityTag(value); ok {
		return len(rest) == 0 && strongMatch(tag, v.etag)
	}
	date, err := ParseHTTPDate(value)
	return err == nil && !v.modified.IsZero() && date.Equal(v.seconds()) && now.Sub(date) >= time.Second
}

func hasField(h *RequestHeader, id field.ID) bool { return h.list.FindID(id, 0) >= 0 }

// fieldValues goes through all field lines of a name.
func fieldValues(h *RequestHeader, id field.ID) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for i := h.list.FindID(id, 0); i >= 0; i = h.list.FindID(id, i+1) {
			if !yield(h.list.Value(i)) {
				return
			}
		}
	}
}

func fieldDate(h *RequestHeader, id field.ID) (time.Time, bool) {
	if !hasField(h, id) {
		return time.Time{}, false
	}
	date, err := ParseHTTPDate(h.peekID(id))
	return date, err == nil
}

// matchesAny reports whether one of the entity tags in the list of a field is
// etag. "*" stands for whatever there is. What follows a malformed tag is not
// looked at.
func matchesAny(h *RequestHeader, id field.ID, etag []byte, match func(a, b []byte) bool) bool {
	for value := range fieldValues(h, id) {
		if string(ascii.Trim(value)) == "*" {
			return true
		}
		for {
			value = bytes.TrimLeft(value, ", \t")
			tag, rest, ok := cutEntityTag(value)
			if !ok {
				break
			}
			if match(tag, etag) {
				return true
			}
			value = rest
		}
	}
	return false
}

// cutEntityTag cuts the entity tag off that b begins with (RFC 9110 section
// 8.8.3). There may be commas in it.
func cutEntityTag(b []byte) (tag, rest []byte, ok bool) {
	opaque := bytes.TrimPrefix(b, []byte("W/"))
	if len(opaque) == 0 || opaque[0] != '"' {
		return nil, b, false
	}
	end := bytes.IndexByte(opaque[1:], '"')
	if end < 0 {
		return nil, b, false
	}
	n := len(b) - len(opaque) + end + 2
	return b[:n], b[n:], true
}

// strongMatch compares entity tags that must stand for the same bytes, and
// weakMatch those for which the same meaning will do (RFC 9110 section 8.8.3.2).
func strongMatch(a, b []byte) bool { return len(a) > 0 && a[0] == '"' && bytes.Equal(a, b) }

func weakMatch(a, b []byte) bool {
	a, b = bytes.TrimPrefix(a, []byte("W/")), bytes.TrimPrefix(b, []byte("W/"))
	return len(a) > 0 && bytes.Equal(a, b)
}

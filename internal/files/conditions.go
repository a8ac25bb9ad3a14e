package files

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/httpdate"
)

// Validator holds the values that conditions are compared with (RFC 9110 section
// 8.8).
type Validator struct {
	ETag     []byte    // with its quotes; empty if there is none
	Modified time.Time // zero if unknown
}

// The results of EvalPreconditions, besides 0.
const (
	notModified        = 304
	preconditionFailed = 412
)

// EvalPreconditions evaluates the conditions in the fields of a GET or HEAD request
// in the order of RFC 9110 section 13.2.2, except for If-Range. It returns the status
// of the response, 304 or 412, or 0 if all conditions hold. A malformed date counts
// as no field.
func EvalPreconditions(fields *field.List, v Validator) (status int) {
	if hasField(fields, field.IfMatch) {
		if !matchesAny(fields, field.IfMatch, v.ETag, strongMatch) {
			return preconditionFailed
		}
	} else if date, ok := dateOf(fields, field.IfUnmodifiedSince); ok && !v.Modified.IsZero() && v.seconds().After(date) {
		return preconditionFailed
	}
	if hasField(fields, field.IfNoneMatch) {
		if matchesAny(fields, field.IfNoneMatch, v.ETag, weakMatch) {
			return notModified
		}
	} else if date, ok := dateOf(fields, field.IfModifiedSince); ok && !v.Modified.IsZero() && !v.seconds().After(date) {
		return notModified
	}
	return 0
}

// seconds returns the modification time with the precision of Last-Modified.
func (v Validator) seconds() time.Time { return v.Modified.Truncate(time.Second) }

// RangeApplies evaluates If-Range: the client's partial content must certainly be the
// present content (RFC 9110 section 13.1.5). So a weak entity tag never matches, nor
// does a date so recent that the content may have changed within the same second.
func RangeApplies(fields *field.List, v Validator, now time.Time) bool {
	i := fields.FindID(field.IfRange, 0)
	if i < 0 {
		return true
	}
	value := fields.Value(i)
	if tag, rest, ok := cutEntityTag(value); ok {
		return len(rest) == 0 && strongMatch(tag, v.ETag)
	}
	date, err := httpdate.Parse(value)
	return err == nil && !v.Modified.IsZero() && date.Equal(v.seconds()) && now.Sub(date) >= time.Second
}

func hasField(fields *field.List, id field.ID) bool { return fields.FindID(id, 0) >= 0 }

func dateOf(fields *field.List, id field.ID) (date time.Time, ok bool) {
	i := fields.FindID(id, 0)
	if i < 0 {
		return time.Time{}, false
	}
	date, err := httpdate.Parse(fields.Value(i))
	return date, err == nil
}

// matchesAny reports whether etag is in the list of entity tags that all lines of a
// field form. "*" matches any content. The rest of the list after a malformed tag is
// ignored.
func matchesAny(fields *field.List, id field.ID, etag []byte, match func(a, b []byte) bool) bool {
	for i := fields.FindID(id, 0); i >= 0; i = fields.FindID(id, i+1) {
		value := fields.Value(i)
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

// HasStrongTag reports whether If-None-Match has etag, a strong entity tag, and not its weak form.
func HasStrongTag(fields *field.List, etag []byte) bool {
	strong, weak := false, false
	matchesAny(fields, field.IfNoneMatch, etag, func(tag, etag []byte) bool {
		switch {
		case strongMatch(tag, etag):
			strong = true
		case weakMatch(tag, etag):
			weak = true
		}
		return false
	})
	return strong && !weak
}

// cutEntityTag cuts the entity tag at the start of b (RFC 9110 section 8.8.3). It may
// contain commas.
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

// strongMatch compares entity tags that must identify the same bytes, and weakMatch
// tags that may identify the same meaning (RFC 9110 section 8.8.3.2).
func strongMatch(a, b []byte) bool { return len(a) > 0 && a[0] == '"' && bytes.Equal(a, b) }

func weakMatch(a, b []byte) bool {
	a, b = bytes.TrimPrefix(a, []byte("W/")), bytes.TrimPrefix(b, []byte("W/"))
	return len(a) > 0 && bytes.Equal(a, b)
}

package fasthttp

import (
	"bytes"

	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/field"
	"github.com/valyala/fasthttp/internal/http1"
	"github.com/valyala/fasthttp/internal/percent"
)

// AppendHTMLEscape appends s to dst, with those characters replaced that mean
// something in HTML, and returns the extended slice. The result may stand in
// text and in quoted attributes.
func AppendHTMLEscape(dst []byte, s string) []byte {
	return AppendHTMLEscapeBytes(dst, bytesconv.Bytes(s))
}

// AppendHTMLEscapeBytes is AppendHTMLEscape for bytes.
func AppendHTMLEscapeBytes(dst, s []byte) []byte {
	for {
		i := bytes.IndexAny(s, `<>&"'`)
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(append(dst, s[:i]...), htmlEscape(s[i])...)
		s = s[i+1:]
	}
}

func htmlEscape(c byte) string {
	switch c {
	case '<':
		return "&lt;"
	case '>':
		return "&gt;"
	case '&':
		return "&amp;"
	case '"':
		return "&#34;"
	}
	return "&#39;"
}

// AppendQuotedArg appends src, encoded as a name or value of a query string, to
// dst and returns the extended slice: a space becomes '+', and all other bytes
// but letters, digits and "-._~" become escapes.
func AppendQuotedArg(dst, src []byte) []byte { return percent.AppendArg(dst, src) }

// AppendUnquotedArg appends what src, a name or value of a query string, stands
// for to dst and returns the extended slice. A percent sign that begins no
// escape is kept. dst may be src[:0], which decodes in place.
func AppendUnquotedArg(dst, src []byte) []byte { return percent.AppendDecodedArg(dst, src) }

// AppendNormalizedHeaderKey appends the name of a header field in its usual form
// to dst and returns the extended slice. The first letter and those behind a
// hyphen are in upper case, and all others in lower case: coNTENT-TYPe becomes
// Content-Type.
//
// A name that holds something else than RFC 9110 lets stand in one keeps its
// case; line breaks and NUL in it become spaces.
func AppendNormalizedHeaderKey(dst []byte, key string) []byte {
	return AppendNormalizedHeaderKeyBytes(dst, bytesconv.Bytes(key))
}

// AppendNormalizedHeaderKeyBytes is AppendNormalizedHeaderKey for bytes.
func AppendNormalizedHeaderKeyBytes(dst, key []byte) []byte {
	start := len(dst)
	dst = append(dst, key...)
	if ascii.IsToken(key) {
		field.Normalize(dst[start:])
	} else {
		http1.Clean(dst[start:])
	}
	return dst
}

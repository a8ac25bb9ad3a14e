package http1

import (
	"github.com/valyala/fasthttp/internal/ascii"
	"github.com/valyala/fasthttp/internal/field"
)

// AppendText appends text, a part of a start line or of a field, and replaces every CR, LF
// and NUL in it by a space. All such text passes through AppendText or Clean, so nothing
// that an application sets can end a line early.
func AppendText(dst, text []byte) []byte {
	from := len(dst)
	dst = append(dst, text...)
	Clean(dst[from:])
	return dst
}

// Clean replaces every CR, LF and NUL of b by a space, in place.
func Clean(b []byte) {
	if !ascii.HasControl(b) {
		return
	}
	for i := ascii.IndexLineBreak(b); i < len(b); i += ascii.IndexLineBreak(b[i:]) {
		b[i] = ' '
	}
}

// AppendField appends a field line. It appends nothing if name is not a token.
func AppendField(dst, name, value []byte) []byte {
	if !ascii.IsToken(name) {
		return dst
	}
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = AppendText(dst, value)
	return append(dst, "\r\n"...)
}

// AppendKnown appends a field line with a well-known name. It appends nothing if id
// is Unknown.
func AppendKnown(dst []byte, id field.ID, value []byte) []byte {
	if id == field.Unknown {
		return dst
	}
	dst = append(dst, id.String()...)
	dst = append(dst, ": "...)
	dst = AppendText(dst, value)
	return append(dst, "\r\n"...)
}

// AppendLine appends a field line. name must be a token, and value must have passed
// Clean.
func AppendLine(dst, name, value []byte) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// AppendStatusLine appends a status line.
func AppendStatusLine(dst, version []byte, status int, reason []byte) []byte {
	dst = AppendText(dst, version)
	dst = append(dst, ' ')
	dst = ascii.AppendUint(dst, max(status, 0))
	dst = append(dst, ' ')
	dst = AppendText(dst, reason)
	return append(dst, "\r\n"...)
}

// AppendChunkStart appends the line before a chunk of size bytes. AppendChunkEnd appends
// the line end after it. size must be positive: a chunk of no bytes is the last chunk, and
// would end the message.
func AppendChunkStart(dst []byte, size int) []byte {
	dst = ascii.AppendHex(dst, uint64(size))
	return append(dst, "\r\n"...)
}

// AppendChunkEnd appends the line end after the data of a chunk.
func AppendChunkEnd(dst []byte) []byte { return append(dst, "\r\n"...) }

// AppendLastChunk appends the last chunk. A trailer section, which may be empty, and an
// empty line follow it.
func AppendLastChunk(dst []byte) []byte { return append(dst, "0\r\n"...) }

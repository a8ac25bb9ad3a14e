package fasthttp

import (
	"github.com/valyala/fasthttp/internal/bytesconv"
	"github.com/valyala/fasthttp/internal/http1"
)

const (
	firstStatus = 100
	lastStatus  = 599
)

// statusLines holds the HTTP/1.1 status lines of all codes that are in use.
var statusLines = buildStatusLines()

func buildStatusLines() (lines [lastStatus - firstStatus + 1][]byte) {
	for i := range lines {
		code := i + firstStatus
		lines[i] = http1.AppendStatusLine(nil, strHTTP11, code, bytesconv.Bytes(StatusMessage(code)))
	}
	return lines
}

// appendStatusLine appends the HTTP/1.1 status line with the usual reason phrase.
func appendStatusLine(dst []byte, code int) []byte {
	if code >= firstStatus && code <= lastStatus {
		return append(dst, statusLines[code-firstStatus]...)
	}
	return http1.AppendStatusLine(dst, strHTTP11, code, bytesconv.Bytes(StatusMessage(code)))
}

package report

import (
	"strconv"
	"strings"
)

// JoinChunks replaces the chunks of the first message of wire by their content, between marks. A
// message without chunks, or with broken ones, stays as it is. It is for bodies that are cut by
// chance: by the size of a buffer, or where another goroutine happens to have written to.
func JoinChunks(wire string) string {
	head, body, found := strings.Cut(wire, "\r\n\r\n")
	if !found || !strings.Contains(head, "\r\nTransfer-Encoding: chunked") {
		return wire
	}
	out := head + "\r\n\r\n<chunks>"
	for {
		size, rest, found := strings.Cut(body, "\r\n")
		n, err := strconv.ParseUint(size, 16, 31)
		if !found || err != nil || int(n) > len(rest) {
			return wire
		}
		if n == 0 {
			return out + "</chunks>" + rest
		}
		out += rest[:n]
		if body, found = strings.CutPrefix(rest[n:], "\r\n"); !found {
			return wire
		}
	}
}

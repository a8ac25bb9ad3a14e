package servertest

import (
	"fmt"
	"strings"
)

// Smuggled is a request that no server must recognize inside another one.
const Smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"

const (
	// OK is a response after which the connection stays open.
	OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	// OKClose is a response after which the connection ends.
	OKClose = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
)

// Head returns the lines as the head of a message.
func Head(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }

// Get returns a request for a target.
func Get(target string, fields ...string) string {
	return Head(append([]string{"GET " + target + " HTTP/1.1", "Host: a"}, fields...)...)
}

// Post returns a request with a Content-Length.
func Post(target, body string, fields ...string) string {
	lines := append([]string{"POST " + target + " HTTP/1.1", "Host: a", fmt.Sprintf("Content-Length: %d", len(body))}, fields...)
	return Head(lines...) + body
}

// Chunked returns a request with a chunked body; the caller encodes the chunks.
func Chunked(target, coding string, fields ...string) string {
	lines := append([]string{"POST " + target + " HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"}, fields...)
	return Head(lines...) + coding
}

// Part returns a request with a Content-Length of size, and with the first sent
// bytes of its content.
func Part(target string, size, sent int) string {
	return Head("POST "+target+" HTTP/1.1", "Host: a", fmt.Sprintf("Content-Length: %d", size)) + strings.Repeat("x", sent)
}

// Echoed is the body of a handler that echoes the request.
func Echoed(method, target, body string) string {
	return fmt.Sprintf("%s %s %q", method, target, body)
}

// Package http1 implements the wire format of HTTP/1.x without I/O: it parses heads
// and bodies from bytes, and appends them to byte slices.
//
// All parsers have the same form. The caller passes the bytes received so far, and
// the parser returns how many it consumed, 0 if it needs more, or an error. A parser
// keeps its state between calls, so the bytes may come one at a time. It never
// blocks and does not allocate. Server, client, tests and fuzzers use the same code.
//
// Start with Head (head.go: start lines and fields), then framing.go (how long the
// content is: RFC 9112 section 6.3 in one function), chunked.go, body.go (content of
// any framing), encode.go (how content is sent, and what is said of the connection),
// append.go (all output, and the only sanitiser), host.go, conn.go (the phases of a
// server's connection). The package imports ascii, bytesconv and field.
package http1

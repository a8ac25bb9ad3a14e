// Package http1 parses and writes HTTP/1.x messages (RFC 9112) without doing I/O.
//
// All parsers have the same form. The caller passes the bytes received so far, and the
// parser returns how many it consumed, 0 if it needs more, or an error. A parser keeps its
// state between calls, so the bytes may arrive one by one. It never blocks and does not
// allocate. Server, client, tests and fuzzers use the same code.
//
// Start with Head (head.go: start lines and fields), then framing.go (the length of received
// content: RFC 9112 section 6.3 in one function; content of any framing; how content and
// connection options are sent), chunked.go, append.go (all output, and the only sanitiser),
// target.go (targets and hosts), conn.go (the phases of a server's connection).
package http1

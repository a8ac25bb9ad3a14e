// Package http1 is HTTP/1.x on the wire, without I/O: bytes in, heads and
// bodies out, and back again.
//
// Every reader has one shape: it is given the bytes so far, and answers how
// many it consumed, or zero for "need more", or an error. It keeps what it
// knows between calls, so it can be fed one byte at a time; it never blocks
// and does not allocate. Server, client, tests and fuzzers drive the same code.
//
// Start with Head (head.go: start lines and fields), then framing.go (how long
// the content is: RFC 9112 section 6.3 in one function), chunked.go, body.go
// (content of any framing), append.go (everything that is written, and the one
// sanitiser), host.go, conn.go (the phases of a server's connection). It imports
// ascii, bytesconv and field.
package http1

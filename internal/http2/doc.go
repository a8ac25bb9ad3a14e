// Package http2 implements HTTP/2 (RFC 9113) without doing I/O, for servers and clients:
// frames, header sections, and the states of a connection and its streams. It has no goroutine,
// lock or clock: the caller passes received bytes and the time, and takes the bytes to send.
//
// Start with Conn (conn.go). Conn.Feed takes received bytes and returns events; the types
// of frames are in frame.go, and receive.go handles DATA, RST_STREAM, PRIORITY, PING and GOAWAY,
// head.go HEADERS and CONTINUATION, which check.go checks, settings.go SETTINGS, limits.go
// WINDOW_UPDATE, priority.go PRIORITY_UPDATE. Sending is in send.go, and in output.go, which orders output by RFC 9218.
// The phases of streams and connections, each with a table of the permitted next phases,
// are in stream.go and phases.go. limits.go has the windows, and all limits; the code that handles a frame enforces
// them.
package http2

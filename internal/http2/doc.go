// Package http2 implements HTTP/2 (RFC 9113) without doing I/O, for servers and clients:
// frames, header sections, and the states of a connection and its streams. It has no goroutine,
// lock or clock: the caller passes received bytes and the time, and takes the bytes to send.
//
// Start with Conn (conn.go). Conn.Feed takes received bytes and returns events; frames are
// in frame.go and receive.go, header sections in head.go and check.go, settings in
// settings.go. Sending is in send.go, and in output.go, which orders output by RFC 9218.
// The phases of streams and connections, each with a table of the permitted next phases,
// are in stream.go and phases.go; windows in flow.go; all limits in limits.go.
package http2

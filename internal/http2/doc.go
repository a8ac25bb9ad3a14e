// Package http2 is HTTP/2 (RFC 9113) on the wire, and the states of a connection and of
// its streams, for both roles. It does no I/O, has no goroutine, lock or clock: the caller
// passes the bytes that came and the time, and takes the bytes that go out.
//
// Start with Conn (conn.go). Conn.Feed takes what has arrived and returns events; frames
// are in frame.go and receive.go, header sections in head.go and check.go, settings in
// settings.go. What is sent is in send.go, and output.go, which orders it by RFC 9218. The
// phases of streams and connections, each with a table of what may follow, are in
// stream.go and phases.go; windows in flow.go; the bounds of everything in limits.go.
//
// The package imports hpack, http1, field, bufpool and ascii.
package http2

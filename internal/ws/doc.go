// Package ws is the WebSocket protocol (RFC 6455) on the wire, and the state of a
// connection, for both roles. It does no I/O and has no goroutine, lock or clock: the
// caller passes the bytes that were received, and writes the bytes that are appended.
//
// Start with Conn (conn.go). Conn.Feed takes what was received and returns events;
// Conn.Send appends frames. Heads of frames are in head.go, masks in mask.go, the check of
// text in text.go, what a peer can make a connection do in limits.go. The phases of the
// closing handshake, with a table of moves, are in phases.go, its codes in code.go.
// Assembler (assembler.go) collects messages, Prepared (prepared.go) is a frame for many
// connections. The keys of the opening handshake are in accept.go, and the negotiation of
// permessage-deflate (RFC 7692), without the compression itself, in deflate.go.
//
// The package imports bufpool and ascii.
package ws

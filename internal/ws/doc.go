// Package ws implements the WebSocket protocol (RFC 6455) on the wire, and the state of a
// connection, for both roles. It does no I/O and has no goroutine, lock or clock: the
// caller passes the bytes that it has received, and writes the bytes that ws has appended.
//
// Start with Conn (conn.go). Conn.Feed consumes received bytes and returns events;
// Conn.Send appends frames. Heads of frames are in head.go, masks in mask.go, the check of
// text in text.go, the limits for a peer in limits.go. The phases of the closing handshake,
// with a table of moves, are in phases.go, its codes in code.go. Assembler (assembler.go)
// collects messages, Prepared (prepared.go) is a frame for many connections. The keys of
// the opening handshake are in accept.go, and the negotiation of permessage-deflate
// (RFC 7692), without the compression itself, in deflate.go.
//
// The package imports bufpool and ascii.
package ws

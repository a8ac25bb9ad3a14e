// Package engine moves the bytes of a server's connections.
//
// A [Set] holds the connections of one server. Its [Host] decides about them: which
// are admitted, what is logged, what a connection waits for at first. The [Protocol]
// of a connection is a state machine without I/O, which says step by step what it
// needs. Two engines drive it, and it does not know which:
//
//   - [Set.ServeEvents] serves sockets of Linux from event loops, with TLS or without. A
//     connection that waits for a request has no goroutine, no buffer and no Protocol.
//   - [Set.Serve] and [Set.ServeConn] serve any net.Conn by a goroutine.
//
// A Set also knows how its connections end when the server shuts down.
package engine

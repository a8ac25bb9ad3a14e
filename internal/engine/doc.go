// Package engine accepts a server's connections and does their I/O: with event loops on
// Linux, or with a goroutine per connection.
//
// A [Set] holds the connections of one server. Its [Host] makes the decisions: which
// connections are admitted, what is logged, how a connection waits for its first request.
// The [Protocol] of a connection is a state machine without I/O: each step returns the
// action that it needs next. Either of two engines drives it, and it does not know which:
//
//   - [Set.ServeEvents] serves Linux sockets from event loops, with TLS or without. A
//     connection that waits for a request has no goroutine, no buffer and no Protocol.
//   - [Set.Serve] and [Set.ServeConn] serve any net.Conn with a goroutine per connection.
//
// A Set also ends its connections when the server shuts down.
package engine

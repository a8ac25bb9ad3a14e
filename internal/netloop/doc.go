// Package netloop implements event loops: epoll, pollers, a timing wheel, and
// connections as raw descriptors. It knows nothing of HTTP. It exists on Linux
// only.
//
// A Loop is an epoll set with the goroutines that serve it, its pollers. A
// handler that serves an event may block for as long as it likes: poller.go says
// how other pollers take over. A Conn is one descriptor with one owner at a time:
// see conn.go. Start with Group, which spreads connections over loops.
//
// It imports clock and rawsys.
package netloop

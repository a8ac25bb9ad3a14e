// Package netloop serves connections from epoll event loops instead of one goroutine each.
// It works on raw descriptors, has a timing wheel for deadlines, and does not depend on
// HTTP. It exists only on Linux.
//
// A Loop is an epoll set with the goroutines that serve it, its pollers. A handler that serves
// an event may block for as long as it likes: poller.go describes how other pollers take over.
// A Conn is one descriptor with at most one owner: see conn.go. Start with Group, which spreads
// connections over loops.
package netloop

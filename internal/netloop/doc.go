// Package netloop is the event engine's lower half: epoll, pollers, timing
// wheel, and connections as raw descriptors. It knows nothing of HTTP. It
// exists on Linux only.
//
// A Loop is an epoll set with the goroutines that serve it, its pollers.
// Whoever serves an event may block as long as it likes: see poller.go for how
// the others take over. A Conn is one descriptor with one owner at a time: see
// conn.go. Start with Group, which spreads connections over loops.
//
// It imports rawsys.
package netloop

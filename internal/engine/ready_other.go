//go:build !linux

package engine

// isReady returns false: on this system it does not ask the socket.
func isReady(any) bool { return false }

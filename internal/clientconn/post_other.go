//go:build !linux

package clientconn

const canPost = false

// write is not called: all writing waits.
func (p *asyncWriter) write(uintptr) bool { return true }

//go:build !unix

package connpool

const canPeek = false

func peek(uintptr) State { return Unknown }

func hungUp(uintptr) bool { return false }

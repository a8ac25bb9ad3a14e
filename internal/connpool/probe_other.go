//go:build !unix

package connpool

const canPeek = false

func peek(uintptr) State { return Unknown }

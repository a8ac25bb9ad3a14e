//go:build !unix

package clientconn

import "syscall"

const canPeek = false

// The rest is not called.

func ready(uintptr) (bool, syscall.Errno) { return false, 0 }

func peekInto(uintptr, []byte) (n int, errno syscall.Errno) { return 0, 0 }

func hungUp(uintptr) bool { return false }

//go:build darwin || dragonfly || netbsd || openbsd

package tcplisten

import "golang.org/x/sys/unix"

const reusePort = unix.SO_REUSEPORT

//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package tcplisten

import "errors"

func setReusePort(uintptr) error { return errors.ErrUnsupported }

func setDeferAccept(uintptr) error { return errors.ErrUnsupported }

func setFastOpen(uintptr) error { return errors.ErrUnsupported }

func setBacklog(uintptr, int) error { return errors.ErrUnsupported }

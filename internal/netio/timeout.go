package netio

import (
	"errors"
	"net"
)

// IsTimeout reports whether err, or an error that it wraps, is a timeout.
func IsTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

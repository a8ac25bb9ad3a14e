package neterr

import (
	"errors"
	"net"
)

// IsTimeout reports whether err, or an error that it wraps, says that a time was
// up.
func IsTimeout(err error) bool {
	t, ok := errors.AsType[net.Error](err)
	return ok && t.Timeout()
}

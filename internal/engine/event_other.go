//go:build !linux

package engine

import (
	"net"

	"github.com/valyala/fasthttp/internal/tlswire"
)

// ServeEvents does nothing: there are no event loops on this system.
func (s *Set) ServeEvents(net.Listener, tlswire.Layer) (served bool, err error) { return false, nil }

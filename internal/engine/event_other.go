//go:build !linux

package engine

import (
	"crypto/tls"
	"net"
)

// ServeEvents does nothing: there are no event loops on this system.
func (s *Set) ServeEvents(net.Listener, *tls.Config) (served bool, err error) { return false, nil }

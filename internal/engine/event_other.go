//go:build !linux

package engine

import "net"

// ServeEvents does nothing: there are no event loops on this system.
func (s *Set) ServeEvents(net.Listener) (served bool, err error) { return false, nil }

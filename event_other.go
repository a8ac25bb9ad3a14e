//go:build !linux

package fasthttp

import "net"

// serveEvents tells that there is no event engine on this system.
func (s *Server) serveEvents(net.Listener) (served bool, err error) { return false, nil }

package fasthttp

import (
	"net"
	"os"
)

// Engine selects how a Server moves the bytes of its connections.
type Engine int

const (
	// EngineAuto is EngineEvent if the system and the listener allow it, and
	// EnginePortable otherwise.
	EngineAuto Engine = iota

	// EnginePortable runs a goroutine for each connection. It works on every system and
	// with every net.Conn, such as a connection from tls.NewListener.
	EnginePortable

	// EngineEvent serves TCP and Unix sockets of Linux from event loops, with TLS of
	// the server or without: an idle connection has no goroutine, and no buffers except
	// inside crypto/tls. Handlers may block, as they may on the portable engine.
	EngineEvent
)

// engineVariable overrides Server.Engine for all servers of a process, to hunt
// a fault or to compare: "portable" or "event".
const engineVariable = "FASTHTTP_ENGINE"

// wantsEvents reports whether connections of ln should be served by the event engine if
// possible.
func (s *Server) wantsEvents(ln net.Listener) bool {
	engine := s.Engine
	switch os.Getenv(engineVariable) {
	case "portable":
		engine = EnginePortable
	case "event":
		engine = EngineEvent
	}
	if engine == EnginePortable {
		return false
	}
	switch ln.(type) {
	case *net.TCPListener, *net.UnixListener, *unixListener:
		return true
	}
	return false
}

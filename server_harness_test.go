package fasthttp

import (
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

type (
	testServer = servertest.Running[*Server]
	starter    = servertest.Starter[*Server]
)

func forEachEngine(t *testing.T, test func(t *testing.T, start starter)) {
	servertest.ForEachEngine(t, prepare, test)
}

func startServer(t testing.TB, e servertest.Engine, s *Server) *testServer {
	t.Helper()
	return servertest.Start(t, e, s, prepare)
}

// prepare sets the engine of s, and gives it a log unless it has a Logger.
func prepare(s *Server, e servertest.Engine) (log *servertest.Log) {
	switch e.Kind {
	case servertest.Portable:
		s.Engine = EnginePortable
	case servertest.Event:
		s.Engine = EngineEvent
	}
	if s.Logger == nil {
		log = &servertest.Log{}
		s.Logger = log
	}
	return log
}

// echo and passing are handlers.
var (
	echo    = servertest.Echo[*RequestCtx]
	passing = servertest.Passing[*RequestCtx]
)

func TestMain(m *testing.M) {
	// a handshake may take longer than that on a busy machine
	refuseTimeout = servertest.Patience
	servertest.Main(m)
}

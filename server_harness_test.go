package fasthttp

import (
	"fmt"
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

// echo responds with a description of the request: see servertest.Echoed.
func echo(ctx *RequestCtx) {
	fmt.Fprintf(ctx, "%s %s %q", ctx.Method(), ctx.RequestURI(), ctx.Request.Body())
}

// passing is a handler that waits at the gate.
func passing(g *servertest.Gate) RequestHandler {
	return func(ctx *RequestCtx) {
		g.Pass(string(ctx.Path()))
		ctx.SetBodyString("through")
	}
}

func TestMain(m *testing.M) { servertest.Main(m) }

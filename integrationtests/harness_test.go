package integrationtests

import (
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/roottest"
	"github.com/valyala/fasthttp/internal/servertest"
)

type (
	testServer = servertest.Running[*fasthttp.Server]
	starter    = servertest.Starter[*fasthttp.Server]
)

func forEachEngine(t *testing.T, test func(t *testing.T, start starter)) {
	servertest.ForEachEngine(t, prepare, test)
}

func startServer(t testing.TB, e servertest.Engine, s *fasthttp.Server) *testServer {
	t.Helper()
	return servertest.Start(t, e, s, prepare)
}

// prepare sets the engine of a server.
var prepare = roottest.Prepare

// echo and passing are handlers.
var (
	echo    = servertest.Echo[*fasthttp.RequestCtx]
	passing = servertest.Passing[*fasthttp.RequestCtx]
)

func TestMain(m *testing.M) { servertest.Main(m) }

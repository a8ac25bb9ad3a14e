package integrationtests

import (
	"os"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// serveHTTP2 starts a server that speaks HTTP/2 and HTTP/1.1.
func serveHTTP2(t testing.TB, e servertest.Engine, s *fasthttp.Server) *testServer {
	t.Helper()
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	return startServer(t, e, s)
}

func forEachHTTP2(t *testing.T, test func(t *testing.T, e servertest.Engine)) {
	for _, e := range servertest.OfEachKind(t, servertest.Engines) {
		t.Run(e.Name, func(t *testing.T) { test(t, e) })
	}
}

// http2Engines returns the engines of a row of a table: they take turns, with TLS and without,
// unless it is a soak.
func http2Engines(row int) []servertest.Engine {
	if isSoak() {
		return servertest.Engines
	}
	return servertest.Engines[1+row%2 : 2+row%2]
}

// isSoak reports whether tests may take long.
func isSoak() bool { return os.Getenv(servertest.SoakVariable) != "" }

// The HTTP/2 harness of servertest, for both sides.
type (
	h2Conn    = servertest.H2Conn
	frameConn = servertest.H2Conn // of dialFrames
	h2Side    = servertest.H2Side
	h2Request = servertest.H2Stream
	h2Stream  = servertest.H2Stream
)

const (
	endStream      = servertest.EndStream
	endHeaders     = servertest.EndHeaders
	whole          = servertest.Whole
	priorityUpdate = servertest.PriorityUpdate
)

var (
	words         = servertest.H2Words
	requestFields = servertest.H2Request
	fieldOf       = servertest.FieldOf
	dialHTTP2     = servertest.DialH2[*fasthttp.Server]
	greetHTTP2    = servertest.GreetH2[*fasthttp.Server]
)

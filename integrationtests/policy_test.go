package integrationtests

import (
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/policytest"
	"github.com/valyala/fasthttp/internal/servertest"
)

// TestPolicy has the tables of policytest, over HTTP/1.1 and HTTP/2, by both engines, with TLS and
// without. Package http3 has them over HTTP/3.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, table := range policytest.Tables() {
		t.Run(table, func(t *testing.T) { policytest.Run(t, table, policyTransports()) })
	}
}

func policyTransports() (all []policytest.Transport) {
	for _, e := range servertest.SocketEngines {
		start := func(dial func(ts *testServer) policytest.Client) func(*testing.T, *fasthttp.Server) *policytest.Server {
			return func(t *testing.T, s *fasthttp.Server) *policytest.Server {
				ts := serveHTTP2(t, e, s)
				return &policytest.Server{
					Log: ts.Log, Dial: func() policytest.Client { return dial(ts) },
					Hold: func(target, content string) { ts.Dial().Send(servertest.Post(target, content)) },
				}
			}
		}
		all = append(all,
			policytest.Transport{Name: e.Name + "/HTTP1", Start: start(func(ts *testServer) policytest.Client { return policytest.NewHTTP1(ts.Dial()) })},
			policytest.Transport{Name: e.Name + "/HTTP2", Streams: true, Start: start(policytest.NewHTTP2)})
	}
	return all
}

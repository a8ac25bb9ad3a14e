// Package roottest has helpers for tests of packages on top of the root package: its servers on each
// engine, with both versions of HTTP.
//
// Package servertest has the rest. It does not import the root package, whose own tests use it.
package roottest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// Prepare sets the engine of a server, and gives it a log unless it has a Logger. It is a
// servertest.Prepare.
func Prepare(s *fasthttp.Server, e servertest.Engine) (log *servertest.Log) {
	switch e.Kind {
	case servertest.Portable:
		s.Engine = fasthttp.EnginePortable
	case servertest.Event:
		s.Engine = fasthttp.EngineEvent
	}
	if s.Logger == nil {
		log = &servertest.Log{}
		s.Logger = log
	}
	return log
}

// Server is a running server, with a client of net/http that speaks one version of HTTP.
type Server struct {
	*servertest.Running[*fasthttp.Server]
	HTTP2  bool         // the version of Client
	Client *http.Client // follows no redirects
}

// Everywhere runs a test with both versions of HTTP, on both engines, with TLS and without, in
// parallel.
func Everywhere(t *testing.T, test func(t *testing.T, start func(s *fasthttp.Server) *Server)) {
	t.Parallel()
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		for version, http2 := range map[string]bool{"HTTP1": false, "HTTP2": true} {
			t.Run(e.Name+"/"+version, func(t *testing.T) {
				t.Parallel()
				test(t, func(s *fasthttp.Server) *Server { return Start(t, e, http2, s) })
			})
		}
	}
}

// Start starts a server, which is shut down when the test ends.
func Start(t testing.TB, e servertest.Engine, http2 bool, s *fasthttp.Server) *Server {
	t.Helper()
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	ts := &Server{Running: servertest.Start(t, e, s, Prepare), HTTP2: http2}
	var p http.Protocols
	switch {
	case !http2:
		p.SetHTTP1(true)
	case e.TLS:
		p.SetHTTP2(true)
	default:
		p.SetUnencryptedHTTP2(true)
	}
	tr := &http.Transport{Protocols: &p, TLSClientConfig: servertest.TrustCertificate(), DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	ts.Client = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return ts
}

// URL returns the URL of a path.
func (s *Server) URL(path string) string {
	scheme := "http://"
	if s.Engine.TLS {
		scheme = "https://"
	}
	return scheme + s.Listener.Addr().String() + path
}

// Ask sends a request, and returns its response with the body. It returns an error if there is no
// response, or it is cut off. Fields are names and values in turn.
func (s *Server) Ask(t testing.TB, method, path, body string, fields ...string) (resp *http.Response, content string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL(path), strings.NewReader(body))
	servertest.Must(t, err)
	for i := 0; i < len(fields); i += 2 {
		req.Header.Add(fields[i], fields[i+1])
	}
	resp, err = s.Client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return resp, string(all), err
}

// MustAsk is Ask for a request that must get a whole response.
func (s *Server) MustAsk(t testing.TB, method, path, body string, fields ...string) (resp *http.Response, content string) {
	t.Helper()
	resp, content, err := s.Ask(t, method, path, body, fields...)
	servertest.Must(t, err)
	return resp, content
}

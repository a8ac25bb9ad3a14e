package accesslog_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/accesslog"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// server is a running server, with a client of net/http that speaks one version of HTTP.
type server struct {
	*servertest.Running[*fasthttp.Server]
	http2  bool
	client *http.Client
}

// everywhere runs a test with both versions of HTTP, on both engines, with TLS and without.
func everywhere(t *testing.T, test func(t *testing.T, start func(s *fasthttp.Server) *server)) {
	t.Parallel()
	for _, e := range servertest.Engines {
		if !e.Sockets {
			continue
		}
		for version, http2 := range map[string]bool{"HTTP1": false, "HTTP2": true} {
			t.Run(e.Name+"/"+version, func(t *testing.T) {
				t.Parallel()
				test(t, func(s *fasthttp.Server) *server { return start(t, e, http2, s) })
			})
		}
	}
}

func start(t testing.TB, e servertest.Engine, http2 bool, s *fasthttp.Server) *server {
	t.Helper()
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	ts := &server{Running: servertest.Start(t, e, s, prepare), http2: http2}
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
	ts.client = &http.Client{Transport: tr, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return ts
}

func prepare(s *fasthttp.Server, e servertest.Engine) (log *servertest.Log) {
	switch e.Kind {
	case servertest.Portable:
		s.Engine = fasthttp.EnginePortable
	case servertest.Event:
		s.Engine = fasthttp.EngineEvent
	}
	log = &servertest.Log{}
	s.Logger = log
	return log
}

// ask sends a request, and returns the status; 0 if there is no response, or it is cut off.
func (s *server) ask(t *testing.T, method, path, body string, fields ...string) int {
	t.Helper()
	scheme := "http://"
	if s.Engine.TLS {
		scheme = "https://"
	}
	req, err := http.NewRequestWithContext(t.Context(), method, scheme+s.Listener.Addr().String()+path, strings.NewReader(body))
	servertest.Must(t, err)
	for i := 0; i < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0
	}
	return resp.StatusCode
}

// output is where a log is written.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// take returns the lines that were written since the last call.
func (o *output) take() (lines []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines = strings.SplitAfter(o.text.String(), "\n")
	o.text.Reset()
	return lines[:len(lines)-1]
}

// next waits for a line, which must be the only one.
func (o *output) next(t *testing.T, l *accesslog.Log) string {
	t.Helper()
	var all []string
	servertest.Eventually(t, "a line", func() bool {
		servertest.Must(t, l.Flush(context.Background()))
		all = append(all, o.take()...)
		return len(all) > 0
	})
	if len(all) != 1 {
		t.Errorf("got the lines %q, want one", all)
	}
	return all[0]
}

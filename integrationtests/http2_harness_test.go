package integrationtests

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// http2Server is a server that speaks HTTP/2 and HTTP/1, with a net/http client that speaks
// only HTTP/2.
type http2Server struct {
	*testServer
	client *http.Client
}

type http2Starter func(s *fasthttp.Server) *http2Server

// overHTTP2 runs a test on both engines, with TLS and without.
func overHTTP2(t *testing.T, test func(t *testing.T, start http2Starter)) {
	t.Parallel()
	forEachHTTP2Client(t, test)
}

// forEachHTTP2Client is overHTTP2 for a test that is parallel already.
func forEachHTTP2Client(t *testing.T, test func(t *testing.T, start http2Starter)) {
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			test(t, func(s *fasthttp.Server) *http2Server { return startHTTP2(t, e, s) })
		})
	}
}

// forEachHTTP2ClientInTime is forEachHTTP2Client with runInTime.
func forEachHTTP2ClientInTime(t *testing.T, test func(t testing.TB, start http2Starter)) {
	t.Helper()
	for _, e := range servertest.OfEachKind(t, servertest.SocketEngines) {
		runInTime(t, e.Name, func(t testing.TB) {
			test(t, func(s *fasthttp.Server) *http2Server { return startHTTP2(t, e, s) })
		})
	}
}

// overHTTP2Time is overTime for HTTP/2.
func overHTTP2Time(t *testing.T, test func(t testing.TB, start http2Starter)) {
	t.Parallel()
	overTimeOn(t, func(t testing.TB, e servertest.Engine) {
		test(t, func(s *fasthttp.Server) *http2Server { return startHTTP2(t, e, s) })
	})
}

func startHTTP2(t testing.TB, e servertest.Engine, s *fasthttp.Server) *http2Server {
	t.Helper()
	h := &http2Server{testServer: serveHTTP2(t, e, s)}
	h.client = &http.Client{Transport: h.transport(t), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return h
}

// transport returns a transport whose idle connections are closed at the end of the test.
func (s *http2Server) transport(t testing.TB) *http.Transport {
	var p http.Protocols
	if s.Engine.TLS {
		p.SetHTTP2(true)
	} else {
		p.SetUnencryptedHTTP2(true)
	}
	tr := &http.Transport{
		Protocols: &p, TLSClientConfig: servertest.TrustCertificate(),
		ExpectContinueTimeout: servertest.Never, DisableCompression: true,
	}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// url returns the URL of a path.
func (s *http2Server) url(path string) string {
	if s.Engine.TLS {
		return "https://" + s.Listener.Addr().String() + path
	}
	return "http://" + s.Listener.Addr().String() + path
}

// request makes a request. Fields are names and values in turn.
func (s *http2Server) request(t testing.TB, method, path string, body io.Reader, fields ...string) *http.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, s.url(path), body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		req.Header.Add(fields[i], fields[i+1])
	}
	return req
}

// open sends a request, and returns the response before its content.
func (s *http2Server) open(t testing.TB, req *http.Request) *http.Response {
	t.Helper()
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", req.Method, req.URL.Path, err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.Proto != "HTTP/2.0" {
		t.Errorf("%s %s: answered with %s", req.Method, req.URL.Path, resp.Proto)
	}
	return resp
}

// do sends a request, and reads the response.
func (s *http2Server) do(t testing.TB, req *http.Request) servertest.Response {
	t.Helper()
	resp := s.open(t, req)
	content, err := servertest.ReadContent(resp)
	if err != nil {
		t.Fatalf("%s %s: %v after %d bytes of content", req.Method, req.URL.Path, err, len(content))
	}
	return servertest.Response{Response: resp, Content: content}
}

// ask sends a request, and checks the response.
func (s *http2Server) ask(t testing.TB, method, path, body string, status int, content string, fields ...string) servertest.Response {
	t.Helper()
	var sent io.Reader
	if body != "" {
		sent = strings.NewReader(body)
	}
	resp := s.do(t, s.request(t, method, path, sent, fields...))
	if resp.StatusCode != status || resp.Content != content {
		t.Errorf("%s %s: got %d %.200q, want %d %.200q", method, path, resp.StatusCode, resp.Content, status, content)
	}
	return resp
}

// get is ask for a GET, with status 200.
func (s *http2Server) get(t testing.TB, path, content string) servertest.Response {
	t.Helper()
	return s.ask(t, "GET", path, "", 200, content)
}

// informed returns a request that records informational responses.
func informed(req *http.Request) (*http.Request, func() []string) {
	var mu sync.Mutex
	var got []string
	trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, strings.TrimSpace(fmt.Sprint(code, " ", strings.Join(h["Link"], ", "))))
		return nil
	}}
	return req.WithContext(httptrace.WithClientTrace(req.Context(), trace)), func() []string {
		mu.Lock()
		defer mu.Unlock()
		return got
	}
}

// resetWith reports whether the error of a net/http client is a stream reset by the server
// with a code. The type of the error is not exported.
func resetWith(err error, code http2.ErrCode) bool {
	return err != nil && strings.Contains(err.Error(), "stream error: stream ID ") && strings.Contains(err.Error(), "; "+code.String()+"; received from peer")
}

// dialFrames connects, and sends the preface with settings.
func (s *http2Server) dialFrames(t testing.TB, settings ...http2.Setting) *h2Conn {
	t.Helper()
	c := dialHTTP2(s.testServer)
	c.T = t
	var pairs []uint32
	for _, one := range settings {
		pairs = append(pairs, uint32(one.ID), one.Val)
	}
	c.Raw(http2.ClientPreface).Settings(pairs...).Flush()
	return c
}

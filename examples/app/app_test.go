package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
)

// service is the app in memory.
type service struct {
	*app
	t             *testing.T
	public, admin *fasthttputil.InmemoryListener
	roots         *x509.CertPool
	log           *lines
	stop          func() error
}

// start serves an app until the test ends. change may change it before.
func start(t *testing.T, change func(a *app)) *service {
	t.Helper()
	log := new(lines)
	a, err := newApp(config{data: t.TempDir(), rate: 1e6, grace: time.Minute}, slog.New(slog.NewJSONHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	s := &service{
		app:    a,
		t:      t,
		public: fasthttputil.NewInmemoryListener(),
		admin:  fasthttputil.NewInmemoryListener(),
		roots:  x509.NewCertPool(),
		log:    log,
	}
	if change != nil {
		change(s.app)
	}
	cert, key, err := fasthttp.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	s.roots.AppendCertsFromPEM(cert)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- s.serve(ctx, &tls.Config{Certificates: []tls.Certificate{pair}}, s.public, s.admin)
	}()
	s.stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Errorf("serve returned %v", err)
		}
	})
	return s
}

// browser is a client with a cookie jar. It speaks HTTP/2, or only HTTP/1.1.
type browser struct {
	t *testing.T
	*http.Client
}

func (s *service) browser(old bool) *browser {
	s.t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(old)
	protocols.SetHTTP2(!old)
	transport := &http.Transport{
		Protocols:       protocols,
		TLSClientConfig: &tls.Config{RootCAs: s.roots},
		DialContext:     func(context.Context, string, string) (net.Conn, error) { return s.public.Dial() },
	}
	s.t.Cleanup(transport.CloseIdleConnections)
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &browser{s.t, &http.Client{Transport: transport, Jar: jar}}
}

// user returns a browser whose user has logged in.
func (s *service) user(name string, old bool) *browser {
	s.t.Helper()
	b := s.browser(old)
	b.want("POST", "/api/session", `{"name":"`+name+`"}`, 201, `{"name":"`+name+`"}`)
	return b
}

func newRequest(ctx context.Context, t *testing.T, method, path, kind string, body []byte) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "https://localhost"+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	return req
}

// ask sends a request with JSON and returns the response with its body.
func (b *browser) ask(method, path, body string) (*http.Response, string) {
	b.t.Helper()
	return b.send(newRequest(b.t.Context(), b.t, method, path, "application/json", []byte(body)))
}

func (b *browser) send(req *http.Request) (*http.Response, string) {
	b.t.Helper()
	resp, err := b.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp, strings.TrimSpace(string(text))
}

// want sends a request whose response must have a status and contain a text.
func (b *browser) want(method, path, body string, status int, text string) *http.Response {
	b.t.Helper()
	resp, got := b.ask(method, path, body)
	if resp.StatusCode != status || !strings.Contains(got, text) {
		b.t.Errorf("%s %s: %d %s, want %d %s", method, path, resp.StatusCode, got, status, text)
	}
	return resp
}

// operator sends a request to the server for operators.
func (s *service) operator(path string) (status int, body string) {
	s.t.Helper()
	client := &fasthttp.Client{Dial: func(string) (net.Conn, error) { return s.admin.Dial() }}
	defer client.CloseIdleConnections()
	status, text, err := client.Get(nil, "http://admin"+path)
	if err != nil {
		s.t.Fatal(err)
	}
	return status, string(text)
}

// lines has the logged lines.
type lines struct {
	mu  sync.Mutex
	all []map[string]any
}

// Write implements io.Writer. It is called for each line.
func (l *lines) Write(p []byte) (int, error) {
	var line map[string]any
	if err := json.Unmarshal(p, &line); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
	return len(p), nil
}

// find returns the first line with a message and an id.
func (l *lines) find(message, id string) map[string]any {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if line["msg"] == message && line["id"] == id {
			return line
		}
	}
	return nil
}

func TestNotes(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"HTTP/1.1": true, "HTTP/2.0": false} {
		t.Run(name, func(t *testing.T) {
			s := start(t, nil)
			ada, bob := s.user("ada", old), s.user("bob", old)
			steps := []struct {
				who                *browser
				method, path, body string
				status             int
				want               string
			}{
				{ada, "GET", "/api/notes", "", 200, "[]"},
				{ada, "POST", "/api/notes", `{"text": "first"}`, 201, `"id":1,"author":"ada","text":"first"`},
				{bob, "POST", "/api/notes", `{"text": "second"}`, 201, `"id":2,"author":"bob","text":"second"`},
				{ada, "GET", "/api/notes", "", 200, `[{"id":2,`},
				{ada, "GET", "/api/notes?before=2", "", 200, `[{"id":1,`},
				{ada, "GET", "/api/notes?before=x", "", 400, "must be a number"},
				{bob, "GET", "/api/notes/1", "", 200, `"text":"first"`},
				{bob, "HEAD", "/api/notes/1", "", 200, ""},
				{bob, "DELETE", "/api/notes/1", "", 403, "somebody else"},
				{ada, "DELETE", "/api/notes/1", "", 204, ""},
				{ada, "DELETE", "/api/notes/1", "", 404, "no such note"},
				{ada, "GET", "/api/notes/1", "", 404, "no such note"},
				{ada, "GET", "/api/notes/x", "", 404, "no such note"},
				{ada, "GET", "/api/notes/2/picture", "", 404, "no picture"},
				{ada, "GET", "/api/nothing", "", 404, "nothing here"},
				{ada, "PUT", "/api/notes", "", 405, "method"},
				{ada, "POST", "/api/notes", `{"text": ""}`, 422, "1 to 2000"},
				{ada, "POST", "/api/notes", `{"text": "a"} {}`, 400, "not the expected JSON"},
				{ada, "POST", "/api/notes", `{"txet": "a"}`, 400, `unknown field \"txet\"`},
				{ada, "POST", "/api/notes", `{"text": "` + strings.Repeat("a", maxBody) + `"}`, 413, "Request Entity Too Large"},
				{ada, "GET", "/", "", 200, "<title>board</title>"},
			}
			for _, step := range steps {
				resp := step.who.want(step.method, step.path, step.body, step.status, step.want)
				if resp.Proto != name {
					t.Errorf("%s %s: the protocol is %s", step.method, step.path, resp.Proto)
				}
			}
			if allow := ada.want("PUT", "/api/notes/1", "", 405, "").Header.Get("Allow"); allow != "DELETE, GET" {
				t.Errorf("Allow is %q", allow)
			}
			resp, _ := ada.send(newRequest(t.Context(), t, "POST", "/api/notes", "text/plain", []byte("x")))
			if resp.StatusCode != http.StatusUnsupportedMediaType {
				t.Errorf("plain text is answered with %s", resp.Status)
			}
		})
	}
}

// blocked is a store whose List waits until the test lets it continue, or the context ends.
type blocked struct {
	store
	begun, goOn chan struct{}
	ended       chan error
}

func newBlocked() *blocked {
	return &blocked{newMemory(), make(chan struct{}), make(chan struct{}), make(chan error, 1)}
}

func (b *blocked) List(ctx context.Context, before, limit int) ([]note, error) {
	b.begun <- struct{}{}
	select {
	case <-b.goOn:
	case <-ctx.Done():
		b.ended <- ctx.Err()
		return nil, ctx.Err()
	}
	return b.store.List(ctx, before, limit)
}

func TestRequestsInProgressAreAnsweredAtShutdown(t *testing.T) {
	t.Parallel()
	b := newBlocked()
	s := start(t, func(a *app) { a.store = b })
	ada := s.user("ada", false)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		resp, err := ada.Get("https://localhost/api/notes")
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("the request is answered with %s", resp.Status)
		}
	}()
	servertest.Receive(t, "the request", b.begun)
	stopped := make(chan error, 1)
	go func() { stopped <- s.stop() }()
	// Done ends with the server, the context of the store does not
	for phase(s.phase.Load()) != leaving {
		if status, body := s.operator("/readyz"); status != 200 && status != 503 {
			t.Fatalf("readiness is %d %s", status, body)
		}
	}
	if status, _ := s.operator("/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("while it leaves, readiness is %d", status)
	}
	select {
	case err := <-stopped:
		t.Fatalf("serve has returned %v before the request was answered", err)
	default:
	}
	close(b.goOn)
	servertest.Receive(t, "the response", answered)
	if err := servertest.Receive(t, "the end of the program", stopped); err != nil {
		t.Error(err)
	}
}

func TestCallsEndWithTheirClient(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"HTTP/1.1": true, "HTTP/2.0": false} {
		t.Run(name, func(t *testing.T) {
			b := newBlocked()
			s := start(t, func(a *app) { a.store = b })
			ada := s.user("ada", old)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				servertest.Receive(t, "the request", b.begun)
				cancel()
			}()
			_, err := ada.Do(newRequest(ctx, t, "GET", "/api/notes", "", nil))
			if !errors.Is(err, context.Canceled) {
				t.Errorf("the client got %v", err)
			}
			if err := servertest.Receive(t, "the end of the call of the store", b.ended); !errors.Is(err, context.Canceled) {
				t.Errorf("the store got %v", err)
			}
		})
	}
}

// failing is a store that fails, or panics.
type failing struct {
	store
	fail func() error
}

func (f failing) List(context.Context, int, int) ([]note, error) { return nil, f.fail() }

func TestFailuresAreLoggedAndNotTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fail          func() error
		status        int
		message, text string
	}{
		"error":    {func() error { return errors.New("secret of db7") }, 500, "request failed", "something went wrong"},
		"panic":    {func() error { panic("secret of db7") }, 500, "handler panics", "something went wrong"},
		"deadline": {func() error { return context.DeadlineExceeded }, 503, "request", "too long"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, func(a *app) { a.store = failing{newMemory(), test.fail} })
			ada := s.user("ada", false)
			req := newRequest(t.Context(), t, "GET", "/api/notes", "", nil)
			req.Header.Set("X-Request-Id", "the-client-decides")
			resp, body := ada.send(req)
			if resp.StatusCode != test.status || !strings.Contains(body, test.text) || strings.Contains(body, "secret") {
				t.Errorf("got %d %s", resp.StatusCode, body)
			}
			id := resp.Header.Get("X-Request-Id")
			if len(id) != 26 || !strings.Contains(body, id) {
				t.Errorf("the id is %q, and the body %s", id, body)
			}
			if err := s.stop(); err != nil {
				t.Error(err)
			}
			if s.log.find(test.message, id) == nil {
				t.Errorf("nothing was logged: %v", s.log.all)
			}
		})
	}
}

func TestPagesOfOtherSitesChangeNothing(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	ada := s.user("ada", false)
	for site, status := range map[string]int{"cross-site": 403, "same-origin": 201} {
		req := newRequest(t.Context(), t, "POST", "/api/notes", "application/json", []byte(`{"text":"a"}`))
		req.Header.Set("Sec-Fetch-Site", site)
		if resp, body := ada.send(req); resp.StatusCode != status {
			t.Errorf("%s: %d %s", site, resp.StatusCode, body)
		}
	}
}

func TestHandlersAreLimited(t *testing.T) {
	t.Parallel()
	b := newBlocked()
	s := start(t, func(a *app) { a.store = b })
	ada := s.user("ada", false)
	for range maxHandlers {
		s.slots <- struct{}{}
	}
	ada.want("GET", "/api/notes/1", "", 503, "too much to do")
	for range maxHandlers {
		servertest.Receive(t, "a place for a handler", s.slots)
	}
	ada.want("GET", "/api/notes/1", "", 404, "")
}

func TestOperatorsSeeWhatGoesOn(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	ada := s.user("ada", false)
	ada.want("GET", "/api/notes/5", "", 404, "")
	ada.want("GET", "/no/such/file?secret", "", 404, "")
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/healthz", 200, "ok"},
		{"/readyz", 200, "ready"},
		{"/metrics", 200, `http_requests_total{path="/api/notes/{id}",status="404"} 1`},
		{"/metrics", 200, `http_requests_total{path="other",status="404"} 1`},
		{"/metrics", 200, "app_sessions 1\n"},
		{"/metrics", 200, "http_request_duration_seconds_count 3\n"},
		{"/debug/pprof/cmdline", 200, ".test"},
		{"/no/such/path", 404, ""},
	} {
		if status, body := s.operator(c.path); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %d %s", c.path, status, body, c.status, c.want)
		}
	}
	// other clients do not
	ada.want("GET", "/metrics", "", 404, "")
}

func TestRefusedRequestsAreLogged(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	c, err := s.public.Dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	secure := tls.Client(c, &tls.Config{RootCAs: s.roots, ServerName: "localhost"})
	if _, err := io.WriteString(secure, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(secure), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 400 || !strings.Contains(string(body), `{"error":"Bad Request"`) {
		t.Errorf("got %s %s, %v", resp.Status, body, err)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if line := s.log.find("request", resp.Header.Get("X-Request-Id")); line == nil || resp.Header.Get("X-Content-Type-Options") != "nosniff" || line["status"] != 400.0 || line["refused"] == nil {
		t.Errorf("logged is %v", s.log.all)
	}
}

// program returns the program with settings for tests.
func program(c config) servertest.Program {
	c.addr, c.admin, c.grace = "127.0.0.1:0", "127.0.0.1:0", time.Minute
	return func(ctx context.Context, stdout io.Writer) error { return run(ctx, c, stdout, io.Discard) }
}

func TestRunServesUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	p := program(config{rate: 10}).Start(t)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	resp, err := (&http.Client{Transport: transport}).Get("https://" + p.Words[3] + "/app.js")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if resp.StatusCode != 200 || resp.ProtoMajor != 2 || resp.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("got %s over %s with %v", resp.Status, resp.Proto, resp.Header)
	}
	transport.CloseIdleConnections()
	p.End()
}

func TestRunFailsWhereItCannotServe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]config{
		"address":       {addr: "127.0.0.1:none", admin: "127.0.0.1:0"},
		"admin address": {addr: "127.0.0.1:0", admin: "127.0.0.1:none"},
		"certificate":   {addr: "127.0.0.1:0", admin: "127.0.0.1:0", cert: "none", key: "none"},
		"half of one":   {addr: "127.0.0.1:0", admin: "127.0.0.1:0", cert: "none"},
		"data":          {addr: "127.0.0.1:0", admin: "127.0.0.1:0", data: filepath.Join(t.TempDir(), "none")},
	} {
		if err := run(t.Context(), c, io.Discard, io.Discard); err == nil {
			t.Errorf("%s: run returned no error", name)
		}
	}
}

// broken is a listener that fails.
type broken struct{ net.Listener }

func (broken) Accept() (net.Conn, error) { return nil, errors.New("broken") }

// One server without the other is of no use.
func TestServeEndsWithEitherListener(t *testing.T) {
	t.Parallel()
	certs := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return nil, errors.New("none") }}
	for i := range 2 {
		a, err := newApp(config{rate: 1, grace: time.Minute}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		listeners := [2]net.Listener{fasthttputil.NewInmemoryListener(), fasthttputil.NewInmemoryListener()}
		listeners[i] = broken{listeners[i]}
		if err := a.serve(t.Context(), certs, listeners[0], listeners[1]); err == nil || err.Error() != "broken" {
			t.Errorf("serve returned %v", err)
		}
	}
}

// A signal may arrive before the servers have begun.
func TestServeEndsAtOnce(t *testing.T) {
	t.Parallel()
	program(config{}).EndsAtOnce(t)
}

func TestCertificatesAreRenewed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := config{cert: filepath.Join(dir, "cert"), key: filepath.Join(dir, "key")}
	issue := func(host string) {
		cert, key, err := fasthttp.GenerateTestCertificate(host)
		if err := errors.Join(err, os.WriteFile(c.cert, cert, 0o600), os.WriteFile(c.key, key, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	issue("old.example")
	certs, err := certificates(&c)
	if err != nil {
		t.Fatal(err)
	}
	issue("renewed.example")
	if err := certs.Reload(); err != nil {
		t.Fatal(err)
	}
	pair, err := certs.GetCertificate(&tls.ClientHelloInfo{ServerName: "renewed.example"})
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil || leaf.VerifyHostname("renewed.example") != nil {
		t.Errorf("the certificate is for %v, %v", leaf.DNSNames, err)
	}
}

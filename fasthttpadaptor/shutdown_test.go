package fasthttpadaptor

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// stoppable is a server of a net/http handler, which a test shuts down, and its client.
type stoppable struct {
	*http.Client
	url string
	// stop begins to shut the server down, and returns once a fasthttp handler knows of it. over
	// gets the result.
	stop func() (over chan error)
}

// eachStoppable runs a test with servers on both engines, and with a net/http server, whose
// Shutdown looks for idle connections of HTTP/2 once in a while. start serves a handler.
func eachStoppable(t *testing.T, test func(t *testing.T, start func(h http.Handler) *stoppable)) {
	t.Helper()
	for _, name := range []string{"net/http", "event", "portable"} {
		for _, secure := range []bool{false, true} {
			for _, http2 := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, TLS %v, HTTP/2 %v", name, secure, http2), func(t *testing.T) {
					t.Parallel()
					test(t, func(h http.Handler) *stoppable { return startStoppable(t, name, secure, http2, h) })
				})
			}
		}
	}
}

func startStoppable(t *testing.T, name string, secure, http2 bool, h http.Handler) *stoppable {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	switch {
	case !http2:
		protocols.SetHTTP1(true)
	case secure:
		protocols.SetHTTP2(true)
	default:
		protocols.SetUnencryptedHTTP2(true)
	}
	tr := &http.Transport{Protocols: protocols, TLSClientConfig: servertest.TrustCertificate()}
	t.Cleanup(tr.CloseIdleConnections)
	s := &stoppable{Client: &http.Client{Transport: tr, Timeout: servertest.Patience}, url: "http://" + ln.Addr().String()}
	if secure {
		s.url = "https://" + ln.Addr().String()
	}
	if name == "net/http" {
		s.stop = serveStoppableNet(t, ln, h, protocols, secure)
	} else {
		engine := map[string]fasthttp.Engine{"event": fasthttp.EngineAuto, "portable": fasthttp.EnginePortable}[name]
		s.stop = serveStoppable(t, ln, h, engine, secure)
	}
	return s
}

func serveStoppableNet(t *testing.T, ln net.Listener, h http.Handler, protocols *http.Protocols, secure bool) func() chan error {
	server := httptest.NewUnstartedServer(h)
	_ = server.Listener.Close()
	server.Listener = ln
	server.Config.Protocols = protocols
	server.EnableHTTP2 = protocols.HTTP2()
	stopping := make(chan struct{})
	server.Config.RegisterOnShutdown(func() { close(stopping) })
	if secure {
		pair, err := tls.X509KeyPair(servertest.Certificate())
		if err != nil {
			t.Fatal(err)
		}
		server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return func() chan error {
		over := make(chan error, 1)
		go func() { over <- server.Config.Shutdown(t.Context()) }()
		servertest.Receive(t, "the beginning of the shutdown", stopping)
		return over
	}
}

func serveStoppable(t *testing.T, ln net.Listener, h http.Handler, engine fasthttp.Engine, secure bool) func() chan error {
	inner := NewFastHTTPHandler(h)
	stopping := make(chan (<-chan struct{}), 10)
	s := &fasthttp.Server{Engine: engine, StreamRequestBody: true, Logger: testLogger{t}, Handler: func(ctx *fasthttp.RequestCtx) {
		stopping <- ctx.Done()
		inner(ctx)
	}}
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	served := make(chan error, 1)
	go func() {
		if secure {
			cert, key := servertest.Certificate()
			served <- s.ServeTLSEmbed(ln, cert, key)
			return
		}
		served <- s.Serve(ln)
	}()
	t.Cleanup(func() {
		servertest.ShutDown(t, s)
		_ = ln.Close()
		if err := servertest.Receive(t, "the end of Serve", served); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return func() chan error {
		over := make(chan error, 1)
		done := servertest.Receive(t, "a request", stopping)
		go func() { over <- s.ShutdownWithContext(t.Context()) }()
		servertest.Receive(t, "the end of the context of fasthttp", done)
		return over
	}
}

// TestShutdownLeavesContextsOfHandlers has a net/http reverse proxy, whose backend answers when
// the proxy shuts down.
func TestShutdownLeavesContextsOfHandlers(t *testing.T) {
	t.Parallel()
	eachStoppable(t, func(t *testing.T, start func(h http.Handler) *stoppable) {
		asked, answer := make(chan bool, 1), make(chan bool, 1)
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			asked <- true
			<-answer
			_, _ = io.WriteString(w, "answer")
		}))
		defer backend.Close()
		target, err := url.Parse(backend.URL)
		if err != nil {
			t.Fatal(err)
		}
		s := start(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }})
		got := make(chan string, 1)
		go func() { got <- askFor(s) }()
		servertest.Receive(t, "the request", asked)
		over := s.stop()
		answer <- true
		if text := servertest.Receive(t, "the response", got); text != "200 answer" {
			t.Errorf("the response is %s", text)
		}
		if err := servertest.Receive(t, "the end of the shutdown", over); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

func askFor(s *stoppable) string {
	resp, err := s.Get(s.url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(resp.StatusCode, " ", string(b))
}

// TestContextEndsWithTheClientAtAShutdown has clients that disconnect while the server is shutting
// down, before and after the handler has called Done.
func TestContextEndsWithTheClientAtAShutdown(t *testing.T) {
	t.Parallel()
	for _, asksLate := range []bool{false, true} {
		eachStoppable(t, func(t *testing.T, start func(h http.Handler) *stoppable) {
			testClientLeavesAtAShutdown(t, asksLate, start)
		})
	}
}

func testClientLeavesAtAShutdown(t *testing.T, asksLate bool, start func(h http.Handler) *stoppable) {
	entered, ask, asked, ended := make(chan bool, 1), make(chan bool, 1), make(chan bool, 1), make(chan error, 1)
	gone := make(chan bool, 1)
	s := start(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if !asksLate {
			r.Context().Done()
		}
		entered <- true
		<-ask
		done := r.Context().Done()
		if err := r.Context().Err(); err != nil {
			t.Errorf("the context has ended with the server: %v", err)
		}
		asked <- true
		<-done
		ended <- r.Context().Err()
		// a client that is about to close its connection would still take a response
		servertest.Receive(t, "the end of the client", gone)
	}))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, "GET", s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		resp, err := s.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		failed <- err
	}()
	servertest.Receive(t, "the request", entered)
	over := s.stop()
	ask <- true
	servertest.Receive(t, "the question for the context", asked)
	leave()
	if err := servertest.Receive(t, "the end of the context", ended); err != context.Canceled {
		t.Errorf("Err is %v", err)
	}
	if err := servertest.Receive(t, "the end of the request", failed); err == nil {
		t.Error("the request that was given up has a response")
	}
	gone <- true
	if err := servertest.Receive(t, "the end of the shutdown", over); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

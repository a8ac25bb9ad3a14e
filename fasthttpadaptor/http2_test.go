package fasthttpadaptor

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// http2Server is a way to serve HTTP/2 to a net/http handler.
type http2Server struct {
	name     string
	tls, net bool
	engine   fasthttp.Engine
	streams  bool
}

// http2Servers are a net/http server, with which the others are compared, and the adaptor on
// both engines, with and without TLS and streamed bodies.
var http2Servers = []http2Server{
	{name: "net/http", net: true},
	{name: "event", streams: true},
	{name: "event, TLS", streams: true, tls: true},
	{name: "portable", engine: fasthttp.EnginePortable, streams: true},
	{name: "portable, TLS", engine: fasthttp.EnginePortable, streams: true, tls: true},
	{name: "buffered"},
}

// overHTTP2 runs a test with a handler on each server, and a client that speaks only HTTP/2.
// streams is set if bodies arrive while the handler reads them.
func overHTTP2(t *testing.T, h http.Handler, test func(t *testing.T, c *http.Client, url string, streams bool)) {
	t.Helper()
	for _, s := range http2Servers {
		t.Run(s.name, func(t *testing.T) {
			c, url := s.start(t, h)
			test(t, c, url, s.streams || s.net)
		})
	}
}

// start serves a handler until the test ends.
func (s http2Server) start(t *testing.T, h http.Handler) (c *http.Client, url string) {
	t.Helper()
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	url = "http://" + ln.Addr().String()
	if s.tls {
		url = "https://" + ln.Addr().String()
		protocols.SetHTTP2(true)
	} else {
		protocols.SetUnencryptedHTTP2(true)
	}
	if s.net {
		ns := &http.Server{Handler: h, Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0)}
		go func() { _ = ns.Serve(ln) }()
		t.Cleanup(func() { _ = ns.Close() })
	} else {
		fs := &fasthttp.Server{Handler: NewFastHTTPHandler(h), Engine: s.engine, StreamRequestBody: s.streams, Logger: testLogger{t}}
		fs.Protocols.SetHTTP2(true)
		fs.Protocols.SetUnencryptedHTTP2(true)
		serve := func() error { return fs.Serve(ln) }
		if s.tls {
			cert, key := servertest.Certificate()
			serve = func() error { return fs.ServeTLSEmbed(ln, cert, key) }
		}
		served := make(chan error, 1)
		go func() { served <- serve() }()
		t.Cleanup(func() {
			servertest.ShutDown(t, fs)
			// a test may end before Serve has begun
			_ = ln.Close()
			if err := servertest.Receive(t, "the end of Serve", served); err != nil {
				t.Errorf("Serve: %v", err)
			}
		})
	}
	tr := &http.Transport{Protocols: protocols, TLSClientConfig: servertest.TrustCertificate(), DisableCompression: true, ExpectContinueTimeout: servertest.Patience}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: servertest.Patience}, url
}

// unsized hides the length of a body.
type unsized struct{ io.Reader }

// TestHandlersGetTheRequestsOfHTTP2 compares requests with net/http's.
func TestHandlersGetTheRequestsOfHTTP2(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method, path string
		body               io.Reader
		fields             []string
		trailer            http.Header
	}{
		{name: "GET", path: "/a/b?c=d%20e&f"},
		{name: "HEAD", method: "HEAD", path: "/a"},
		{name: "OPTIONS", method: "OPTIONS", path: "/x"},
		{name: "own method", method: "BREW"},
		{name: "fields", fields: []string{"X-A", "1", "X-A", "2", "User-Agent", "me", "Te", "trailers", "Connection", "close"}},
		{name: "cookies", fields: []string{"Cookie", "a=1; b=2"}},
		{name: "body", method: "POST", body: strings.NewReader("hello"), fields: []string{"Content-Type", "text/x"}},
		{name: "no body", method: "POST"},
		{name: "empty body", method: "POST", body: http.NoBody},
		{name: "body of unknown length", method: "POST", body: unsized{strings.NewReader("hello")}},
		{name: "empty body of unknown length", method: "POST", body: unsized{strings.NewReader("")}},
		{name: "trailers", method: "POST", body: unsized{strings.NewReader("hello")}, trailer: http.Header{"X-Sum": {"5", "6"}, "X-Other": {"y"}}},
		{name: "form", method: "POST", path: "/?a=1", body: strings.NewReader("a=2&b=3"), fields: []string{"Content-Type", "application/x-www-form-urlencoded"}},
		{name: "continue", method: "POST", body: strings.NewReader("hello"), fields: []string{"Expect", "100-continue"}},
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		if r.ContentLength == 0 {
			r.Header.Del("Content-Length")
		}
		dumpRequest(&b, r)
		// with HTTP/2, net/http has a different body if it is empty
		text := strings.ReplaceAll(b.String(), "has body true", "has body false")
		w.Header()["X-Dump"] = []string{fmt.Sprintf("%q", text)}
	})
	want := make(map[string]string)
	overHTTP2(t, handler, func(t *testing.T, c *http.Client, url string, streams bool) {
		for _, tc := range tests {
			if !streams && tc.name == "empty body of unknown length" {
				// it is known to be empty
				continue
			}
			if seeker, ok := tc.body.(io.Seeker); ok {
				_, _ = seeker.Seek(0, io.SeekStart)
			}
			body := tc.body
			if u, ok := body.(unsized); ok {
				_, _ = u.Reader.(io.Seeker).Seek(0, io.SeekStart)
			}
			req, err := http.NewRequest(tc.method, url+tc.path, body)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = "example.com"
			for i := 0; i < len(tc.fields); i += 2 {
				req.Header.Add(tc.fields[i], tc.fields[i+1])
			}
			req.Trailer = tc.trailer.Clone()
			resp, err := c.Do(req)
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			_ = resp.Body.Close()
			got := strings.ReplaceAll(resp.Header.Get("X-Dump"), "tls true", "tls false")
			if want[tc.name] == "" {
				want[tc.name] = got
			}
			if got != want[tc.name] {
				t.Errorf("%s: the request is\n%s\nthat of net/http\n%s", tc.name, strings.ReplaceAll(got, `\n`, "\n"), strings.ReplaceAll(want[tc.name], `\n`, "\n"))
			}
		}
	})
}

// TestHandlersAnswerOverHTTP2 compares responses with net/http's.
func TestHandlersAnswerOverHTTP2(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("0123456789", 20_000)
	mux := http.NewServeMux()
	mux.HandleFunc("/small", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "small") })
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, large) })
	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-A", "1")
		w.WriteHeader(418)
	})
	mux.HandleFunc("/twice", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "one")
		// without effect, as any status would be
		w.WriteHeader(0)
		_, _ = io.WriteString(w, "two")
	})
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) })
	mux.HandleFunc("/trailers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		n, _ := io.Copy(w, r.Body)
		w.Header().Set("X-Sum", fmt.Sprint(n))
		w.Header().Set(http.TrailerPrefix+"X-More", r.Trailer.Get("X-In"))
	})
	mux.HandleFunc("/alone", func(w http.ResponseWriter, _ *http.Request) {
		// as gRPC answers a call that fails
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", "5")
		w.WriteHeader(200)
	})
	mux.HandleFunc("/hints", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</a.css>; rel=preload")
		w.WriteHeader(103)
		w.WriteHeader(102)
		_, _ = io.WriteString(w, "hinted")
	})
	mux.HandleFunc("/flush", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "piece %d\n", i)
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("/abort", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "part")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "5")
	})
	mux.HandleFunc("/hijack", func(w http.ResponseWriter, _ *http.Request) {
		_, _, err := http.NewResponseController(w).Hijack()
		_, _ = fmt.Fprint(w, errors.Is(err, http.ErrNotSupported))
	})
	want := make(map[string]string)
	overHTTP2(t, mux, func(t *testing.T, c *http.Client, url string, _ bool) {
		for _, tc := range []struct{ method, path string }{
			{"GET", "/small"}, {"HEAD", "/small"}, {"GET", "/large"}, {"GET", "/status"}, {"GET", "/twice"}, {"GET", "/none"}, {"POST", "/trailers"},
			{"GET", "/alone"}, {"GET", "/hints"}, {"GET", "/flush"}, {"GET", "/abort"}, {"GET", "/short"}, {"GET", "/hijack"}, {"GET", "/missing"},
		} {
			var informed []string
			trace := &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
				informed = append(informed, fmt.Sprint(code, h["Link"]))
				return nil
			}}
			var body io.Reader
			if tc.method == "POST" {
				body = unsized{strings.NewReader("hello")}
			}
			req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), tc.method, url+tc.path, body)
			if err != nil {
				t.Fatal(err)
			}
			if body != nil {
				req.Trailer = http.Header{"X-In": {"in"}}
			}
			got := "failed"
			if resp, err := c.Do(req); err == nil {
				content, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				for _, name := range []string{"Date", "Server", "Trailer"} {
					resp.Header.Del(name)
				}
				if len(resp.Trailer) > 0 {
					// a body with trailers need not announce its length
					resp.Header.Del("Content-Length")
					resp.ContentLength = -1
				}
				got = fmt.Sprintf("%s %v %v %.40q %d %v %v %v", resp.Status, informed, resp.Header, content, len(content), err == nil, resp.Trailer, resp.ContentLength)
			}
			key := tc.method + tc.path
			if want[key] == "" {
				want[key] = got
			}
			if got != want[key] {
				t.Errorf("%s: the response is\n%s\nthat of net/http\n%s", key, got, want[key])
			}
		}
	})
}

// TestHandlersSendAndReceiveAtOnceOverHTTP2 has pieces that are sent after the answer to the
// one before has arrived.
func TestHandlersSendAndReceiveAtOnceOverHTTP2(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		_ = control.EnableFullDuplex()
		lines := bufio.NewReader(r.Body)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(w, strings.ToUpper(line))
			_ = control.Flush()
		}
	})
	overHTTP2(t, handler, func(t *testing.T, c *http.Client, url string, streams bool) {
		if !streams {
			t.Skip("the handler gets the body when it has arrived")
		}
		in, out := io.Pipe()
		go func() { _, _ = io.WriteString(out, "first\n") }()
		resp, err := c.Post(url, "text/plain", in)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answers := bufio.NewReader(resp.Body)
		for i, want := range []string{"FIRST\n", "PIECE 1\n", "PIECE 2\n", "PIECE 3\n"} {
			if got, err := answers.ReadString('\n'); got != want || err != nil {
				t.Fatalf("got %q, %v, want %q", got, err, want)
			}
			if i < 3 {
				_, _ = fmt.Fprintf(out, "piece %d\n", i+1)
			}
		}
		_ = out.Close()
		if rest, err := io.ReadAll(answers); len(rest) > 0 || err != nil {
			t.Errorf("at the end: %q, %v", rest, err)
		}
	})
}

// TestContextEndsWithItsStream has clients that cancel requests, but keep the connection.
func TestContextEndsWithItsStream(t *testing.T) {
	t.Parallel()
	entered, ended := make(chan string, 10), make(chan error, 10)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hang":
			entered <- r.URL.Path
			<-r.Context().Done()
			ended <- r.Context().Err()
		case "/write":
			entered <- r.URL.Path
			for {
				if _, err := io.WriteString(w, strings.Repeat("x", 10_000)); err != nil {
					<-r.Context().Done()
					ended <- r.Context().Err()
					return
				}
			}
		}
	})
	overHTTP2(t, handler, func(t *testing.T, c *http.Client, url string, _ bool) {
		for _, path := range []string{"/hang", "/write"} {
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan struct{})
			go func() {
				defer close(failed)
				req, _ := http.NewRequestWithContext(ctx, "GET", url+path, nil)
				if resp, err := c.Do(req); err == nil {
					<-ctx.Done()
					_ = resp.Body.Close()
				}
			}()
			servertest.Receive(t, "the request", entered)
			resp, err := c.Get(url + "/")
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			cancel()
			if err := servertest.Receive(t, "the end of the context", ended); err != context.Canceled {
				t.Errorf("%s: Err is %v", path, err)
			}
			servertest.Receive(t, "the end of the call", failed)
		}
	})
}

// TestFastHTTPHandlersOverHTTP2OfNetHTTP is the opposite: a net/http server that calls a
// fasthttp handler.
func TestFastHTTPHandlersOverHTTP2OfNetHTTP(t *testing.T) {
	t.Parallel()
	entered, ended := make(chan struct{}), make(chan error, 1)
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	cert, key := servertest.Certificate()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Protocols: protocols, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}}, Handler: NewHTTPHandler(func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/hang":
			close(entered)
			r := NetHTTPRequest(ctx)
			<-r.Context().Done()
			ended <- r.Context().Err()
		case "/back":
			ctx.SetBodyStream(ctx.RequestBodyStream(), -1)
		case "/empty":
			fmt.Fprint(ctx, ctx.Request.IsBodyStream(), ctx.Request.Header.ContentLength())
		default:
			_ = ctx.Response.Header.SetTrailer("X-End")
			ctx.Response.Header.Set("X-End", "yes")
			fmt.Fprintf(ctx, "%s %v %s", ctx.Host(), ctx.IsTLS(), ctx.URI().Scheme())
		}
	})}
	go func() { _ = s.ServeTLS(ln, "", "") }()
	defer s.Close()
	tr := &http.Transport{Protocols: protocols, TLSClientConfig: servertest.TrustCertificate()}
	defer tr.CloseIdleConnections()
	c, url := &http.Client{Transport: tr, Timeout: servertest.Patience}, "https://"+ln.Addr().String()

	resp, err := c.Get(url + "/")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if want := ln.Addr().String() + " true https"; string(got) != want || err != nil || resp.ProtoMajor != 2 || !slices.Equal(resp.Trailer["X-End"], []string{"yes"}) {
		t.Errorf("got %s %q, %v, trailers %v, want %q", resp.Proto, got, err, resp.Trailer, want)
	}

	// a body of unknown size would be forwarded in chunks
	if resp, err = c.Get(url + "/empty"); err != nil {
		t.Fatal(err)
	}
	got, err = io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if want := "false 0"; string(got) != want || err != nil {
		t.Errorf("a request without a body has %q, %v, want %q", got, err, want)
	}

	// each piece is echoed at once
	in, out := io.Pipe()
	go func() { _, _ = io.WriteString(out, "first\n") }()
	if resp, err = c.Post(url+"/back", "text/plain", in); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(resp.Body)
	for _, piece := range []string{"first\n", "second\n", "third\n"} {
		if piece != "first\n" {
			_, _ = io.WriteString(out, piece)
		}
		if got, err := answers.ReadString('\n'); got != piece || err != nil {
			t.Fatalf("got %q, %v, want %q", got, err, piece)
		}
	}
	_ = out.Close()
	_ = resp.Body.Close()

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		req, _ := http.NewRequestWithContext(ctx, "GET", url+"/hang", nil)
		if resp, err := c.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	servertest.Receive(t, "the request", entered)
	cancel()
	if err := servertest.Receive(t, "the end of the context", ended); err != context.Canceled {
		t.Errorf("Err is %v", err)
	}
}

package fasthttp

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/internal/servertest"
	"github.com/valyala/fasthttp/internal/servertls"
	"github.com/valyala/fasthttp/internal/tlswire"
)

// dialTLS opens a connection with a given client configuration.
func dialTLS(ts *testServer, config *tls.Config) (*servertest.Conn, error) {
	ts.T.Helper()
	if config.RootCAs == nil && !config.InsecureSkipVerify {
		config.RootCAs = servertest.TrustCertificate().RootCAs
	}
	nc, err := tls.Dial("tcp4", ts.Listener.Addr().String(), config)
	if err != nil {
		return nil, err
	}
	return ts.Wrap(nc), nil
}

func TestTLSIsSeenByHandlers(t *testing.T) { servertest.ForEachTLSEngine(t, testTLSIsSeenByHandlers) }

func testTLSIsSeenByHandlers(t *testing.T, e servertest.Engine) {
	ts := startServer(t, e, &Server{Handler: func(ctx *RequestCtx) {
		state := ctx.TLSConnectionState()
		if !ctx.IsTLS() || state == nil || !state.HandshakeComplete {
			t.Errorf("IsTLS %v, state %+v", ctx.IsTLS(), state)
		}
		c, ok := ctx.Conn().(*tls.Conn)
		if !ok {
			t.Errorf("the connection is a %T", ctx.Conn())
			return
		}
		if _, ok := transportOf(c).(*net.TCPConn); !ok && e.Kind == servertest.Portable {
			t.Errorf("its transport is a %T", transportOf(c))
		}
		raw, err := c.NetConn().(syscall.Conn).SyscallConn()
		if err == nil {
			err = raw.Control(func(uintptr) {})
		}
		if err != nil {
			t.Errorf("its socket: %v", err)
		}
		_, _ = ctx.WriteString(tls.VersionName(state.Version) + " " + string(ctx.URI().FullURI()))
	}})
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		c, err := dialTLS(ts, &tls.Config{MinVersion: version, MaxVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		c.Get("/a?b")
		c.Expect(200, tls.VersionName(version)+" https://a/a?b")
	}
}

func TestServeTLSTakesCertificatesFrom(t *testing.T) {
	cert, key := servertest.Certificate()
	files := newCertFiles(t, "a.test")
	files.write(t, cert, key)
	fromConfig := func(t *testing.T) *Server {
		s := &Server{}
		if err := s.AppendCertEmbed(cert, key); err != nil {
			t.Fatal(err)
		}
		return s
	}
	empty := func(*testing.T) *Server { return &Server{} }
	for name, tc := range map[string]struct {
		server func(t *testing.T) *Server
		serve  func(s *Server, ln net.Listener) error
	}{
		"files":    {empty, func(s *Server, ln net.Listener) error { return s.ServeTLS(ln, files.cert, files.key) }},
		"memory":   {empty, func(s *Server, ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, key) }},
		"config":   {fromConfig, func(s *Server, ln net.Listener) error { return s.ServeTLS(ln, "", "") }},
		"config 2": {fromConfig, func(s *Server, ln net.Listener) error { return s.ServeTLSEmbed(ln, nil, nil) }},
		// only one of the two files is named
		"config 3": {fromConfig, func(s *Server, ln net.Listener) error { return s.ServeTLS(ln, "nowhere", "") }},
		"AppendCert": {func(t *testing.T) *Server {
			s := &Server{}
			if err := s.AppendCert(files.cert, files.key); err != nil {
				t.Fatal(err)
			}
			return s
		}, func(s *Server, ln net.Listener) error { return s.ServeTLS(ln, "", "") }},
		"a listener of crypto/tls": {empty, func(s *Server, ln net.Listener) error {
			pair, err := tls.X509KeyPair(cert, key)
			if err != nil {
				return err
			}
			return s.Serve(tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{pair}}))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.server(t)
			s.Handler, s.Logger = echo, &servertest.Log{}
			ln, dial := servertest.ListenTLS(t)
			served := make(chan error, 1)
			go func() { served <- tc.serve(s, ln) }()
			nc, err := dial()
			if err != nil {
				t.Fatal(err)
			}
			c := &servertest.Conn{Conn: nc, T: t, R: bufio.NewReader(nc)}
			for range 3 {
				c.Send(servertest.Post("/", "body") + servertest.Get("/second"))
				c.Expect(200, servertest.Echoed("POST", "/", "body"))
				c.Expect(200, servertest.Echoed("GET", "/second", ""))
				c.Get("/third")
				c.Expect(200, servertest.Echoed("GET", "/third", ""))
			}
			servertest.ShutDown(t, s)
			if err := servertest.Receive(t, "return of Serve", served); err != nil {
				t.Errorf("serving ended with %v", err)
			}
			c.ExpectEnd()
		})
	}
}

func TestServeTLSFunctions(t *testing.T) {
	t.Parallel()
	cert, key := servertest.Certificate()
	files := newCertFiles(t, "a.test")
	files.write(t, cert, key)
	for name, serve := range map[string]func(ln net.Listener) error{
		"ServeTLS":      func(ln net.Listener) error { return ServeTLS(ln, files.cert, files.key, echo) },
		"ServeTLSEmbed": func(ln net.Listener) error { return ServeTLSEmbed(ln, cert, key, echo) },
	} {
		ln, dial := servertest.ListenTLS(t)
		served := make(chan error, 1)
		go func() { served <- serve(ln) }()
		nc, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		c := &servertest.Conn{Conn: nc, T: t, R: bufio.NewReader(nc)}
		c.Send(servertest.Get("/", "Connection: close"))
		c.Expect(200, servertest.Echoed("GET", "/", ""))
		c.ExpectEnd()
		_ = ln.Close()
		if err := servertest.Receive(t, "return of "+name, served); err != nil {
			t.Errorf("%s returned %v", name, err)
		}
	}
	// an invalid address
	for name, err := range map[string]error{
		"ListenAndServeTLS":      ListenAndServeTLS("127.0.0.1:no", files.cert, files.key, echo),
		"ListenAndServeTLSEmbed": ListenAndServeTLSEmbed("127.0.0.1:no", cert, key, echo),
	} {
		if _, ok := errors.AsType[*net.OpError](err); !ok {
			t.Errorf("%s returned %v", name, err)
		}
	}
}

func TestServeTLSWithoutCertificate(t *testing.T) {
	cert, _ := servertest.Certificate()
	for name, serve := range map[string]func(s *Server, ln net.Listener) error{
		"none":           func(s *Server, ln net.Listener) error { return s.ServeTLS(ln, "", "") },
		"none in memory": func(s *Server, ln net.Listener) error { return s.ServeTLSEmbed(ln, nil, nil) },
		"no key":         func(s *Server, ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, nil) },
		"missing files":  func(s *Server, ln net.Listener) error { return s.ServeTLS(ln, "no-cert", "no-key") },
		"a broken pair":  func(s *Server, ln net.Listener) error { return s.ServeTLSEmbed(ln, cert, []byte("no key")) },
		"without listening": func(s *Server, ln net.Listener) error {
			_ = ln.Close()
			return s.ListenAndServeTLS("127.0.0.1:0", "", "")
		},
	} {
		ln, _ := servertest.ListenTCP(t)
		s := &Server{Handler: echo, TLSConfig: &tls.Config{NextProtos: []string{"x"}}}
		err := serve(s, ln)
		switch name {
		case "missing files", "a broken pair":
			if err == nil || !strings.HasPrefix(err.Error(), "fasthttp: ") {
				t.Errorf("%s: got %v", name, err)
			}
		default:
			if err == nil || err.Error() != "cert or key has not provided" {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if err := s.AppendCert("", ""); err != servertls.ErrNone {
			t.Errorf("AppendCert: %v", err)
		}
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: the listener is open: %v", name, err)
		}
	}
	s := &Server{}
	if err := s.AppendCert("no-cert", "no-key"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("AppendCert: %v", err)
	}
	if err := s.AppendCertEmbed(cert, cert); err == nil || s.TLSConfig != nil {
		t.Errorf("AppendCertEmbed: %v, config %v", err, s.TLSConfig)
	}
}

func TestServeTLSLeavesTheConfigAlone(t *testing.T) {
	cert, key := servertest.Certificate()
	s := &Server{Handler: echo, TLSConfig: &tls.Config{NextProtos: []string{protoHTTP2}}}
	config, err := s.servingConfig(servertls.Source{Cert: string(cert), Key: string(key)})
	if err != nil {
		t.Fatal(err)
	}
	if len(config.Certificates) != 1 || !slices.Equal(config.NextProtos, []string{protoHTTP1}) {
		t.Errorf("serving with %d certificates and %q", len(config.Certificates), config.NextProtos)
	}
	if s.TLSConfig.Certificates != nil || !slices.Equal(s.TLSConfig.NextProtos, []string{protoHTTP2}) {
		t.Errorf("TLSConfig has become %d certificates and %q", len(s.TLSConfig.Certificates), s.TLSConfig.NextProtos)
	}
}

func TestServerChoosesCertificateByHost(t *testing.T) {
	s := &Server{Handler: echo}
	for _, host := range []string{"a.test", "*.b.test"} {
		cert, key, err := GenerateTestCertificate(host)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.AppendCertEmbed(cert, key); err != nil {
			t.Fatal(err)
		}
	}
	config, err := s.servingConfig(servertls.Source{})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{"a.test": "a.test", "x.b.test": "*.b.test", "c.test": "a.test"} {
		if got := certificateHost(t, config, host); got != want {
			t.Errorf("%q gets the certificate of %q, want %q", host, got, want)
		}
	}
}

func TestGenerateTestCertificate(t *testing.T) {
	for host, name := range map[string]string{
		"localhost": "localhost", "localhost:8443": "localhost", "*.a.test": "b.a.test",
		"127.0.0.1": "127.0.0.1", "127.0.0.1:443": "127.0.0.1", "::1": "::1", "[::1]:443": "::1", "[fe80::1%lo]": "fe80::1",
	} {
		certData, keyData, err := GenerateTestCertificate(host)
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(certData, keyData)
		if err != nil {
			t.Fatalf("%q: %v", host, err)
		}
		roots := x509.NewCertPool()
		roots.AddCert(pair.Leaf)
		for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
			if _, err := pair.Leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: roots, KeyUsages: []x509.ExtKeyUsage{use}}); err != nil {
				t.Errorf("%q: %v", host, err)
			}
		}
		if pair.Leaf.VerifyHostname("other.test") == nil {
			t.Errorf("%q: the certificate is for others, too", host)
		}
		if block, rest := pem.Decode(keyData); block.Type != "PRIVATE KEY" || len(rest) > 0 {
			t.Errorf("%q: the key is a %q followed by %q", host, block.Type, rest)
		}
		if left := time.Until(pair.Leaf.NotAfter); left < 364*24*time.Hour || left > 366*24*time.Hour {
			t.Errorf("%q: the certificate is valid for %v", host, left)
		}
	}
	if certData, _, err := GenerateTestCertificate(""); err != nil || len(certData) == 0 {
		t.Errorf("without a host: %v", err)
	}
}

func TestMutualTLS(t *testing.T) { servertest.ForEachTLSEngine(t, testMutualTLS) }

func testMutualTLS(t *testing.T, e servertest.Engine) {
	trusted, trustedKey, err := GenerateTestCertificate("client.test")
	if err != nil {
		t.Fatal(err)
	}
	stranger, strangerKey, err := GenerateTestCertificate("stranger.test")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	ts := startServer(t, e, &Server{
		TLSConfig: &tls.Config{ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots},
		Handler: func(ctx *RequestCtx) {
			_, _ = ctx.WriteString(ctx.TLSConnectionState().VerifiedChains[0][0].DNSNames[0])
		},
	})
	pair := func(cert, key []byte) []tls.Certificate {
		c, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{c}
	}
	c, err := dialTLS(ts, &tls.Config{Certificates: pair(trusted, trustedKey)})
	if err != nil {
		t.Fatal(err)
	}
	c.Get("/")
	c.Expect(200, "client.test")

	for name, certs := range map[string][]tls.Certificate{"no certificate": nil, "a stranger's": pair(stranger, strangerKey)} {
		c, err := dialTLS(ts, &tls.Config{
			// a client sends no certificate that the server does not accept
			GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				if certs == nil {
					return new(tls.Certificate), nil
				}
				return &certs[0], nil
			},
		})
		if err == nil {
			// in TLS 1.3 the client gets the alert when it reads
			_, err = c.R.ReadByte()
		}
		if _, ok := errors.AsType[*net.OpError](err); !ok {
			t.Errorf("%s: got %v", name, err)
		}
	}
	ts.Log.WaitFor(t, "tls handshake", "client didn't provide a certificate")
	ts.Log.WaitFor(t, "tls handshake", "certificate signed by unknown authority")
}

func TestTLSConnectionsAreResumed(t *testing.T) {
	servertest.ForEachTLSEngine(t, testTLSConnectionsAreResumed)
}

func testTLSConnectionsAreResumed(t *testing.T, e servertest.Engine) {
	ts := startServer(t, e, &Server{Handler: func(ctx *RequestCtx) {
		if ctx.TLSConnectionState().DidResume {
			_, _ = ctx.WriteString("resumed")
		}
	}})
	cache := tls.NewLRUClientSessionCache(0)
	for _, want := range []string{"", "resumed", "resumed"} {
		c, err := dialTLS(ts, &tls.Config{ClientSessionCache: cache})
		if err != nil {
			t.Fatal(err)
		}
		c.Get("/")
		c.Expect(200, want)
	}
}

// A client may connect to any listener of a server.
func TestTLSSessionsAreThoseOfAllListeners(t *testing.T) {
	servertest.ForEachTLSEngine(t, testTLSSessionsAreThoseOfAllListeners)
}

func testTLSSessionsAreThoseOfAllListeners(t *testing.T, e servertest.Engine) {
	ts := startServer(t, e, &Server{Handler: func(ctx *RequestCtx) {
		if ctx.TLSConnectionState().DidResume {
			_, _ = ctx.WriteString("resumed")
		}
	}})
	cache := tls.NewLRUClientSessionCache(0)
	ask := func(want string) {
		t.Helper()
		c, err := dialTLS(ts, &tls.Config{ClientSessionCache: cache, ServerName: "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		c.Get("/")
		c.Expect(200, want)
	}
	ask("")
	for range 3 {
		first := ts.Listener
		ts.Serve()
		defer first.Close()
		ask("resumed")
	}
}

func TestTLSOnUnixSockets(t *testing.T) { servertest.ForEachTLSEngine(t, testTLSOnUnixSockets) }

func testTLSOnUnixSockets(t *testing.T, e servertest.Engine) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of sockets are too long for Windows")
	}
	dir, err := os.MkdirTemp("", "tls")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	addr := filepath.Join(dir, "socket")
	e.Listen = func(t testing.TB) (net.Listener, func() (net.Conn, error)) {
		ln, err := net.Listen("unix", addr)
		if err != nil {
			t.Fatal(err)
		}
		return ln, func() (net.Conn, error) { return tls.Dial("unix", addr, &tls.Config{InsecureSkipVerify: true}) }
	}
	ts := startServer(t, e, &Server{Handler: echo})
	c := ts.Dial()
	for range 3 {
		c.Get("/")
		c.Expect(200, servertest.Echoed("GET", "/", ""))
	}
}

func TestTLSOverMemory(t *testing.T) { servertest.ForEachTLSEngine(t, testTLSOverMemory) }

func testTLSOverMemory(t *testing.T, e servertest.Engine) {
	e.Listen = func(t testing.TB) (net.Listener, func() (net.Conn, error)) {
		ln := fasthttputil.NewInmemoryListener()
		return ln, func() (net.Conn, error) {
			nc, err := ln.Dial()
			if err != nil {
				return nil, err
			}
			return tls.Client(nc, &tls.Config{InsecureSkipVerify: true}), nil
		}
	}
	ts := startServer(t, e, &Server{Handler: echo})
	c := ts.Dial()
	body := strings.Repeat("x", 100_000)
	for range 3 {
		go c.Send(servertest.Post("/", body))
		c.Expect(200, servertest.Echoed("POST", "/", body))
	}
}

func TestServeConnOverTLS(t *testing.T) {
	cert, key := servertest.Certificate()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	s := &Server{Handler: echo, Logger: &servertest.Log{}}
	serve := func() (client net.Conn, served chan error) {
		near, far := net.Pipe()
		served = make(chan error, 1)
		go func() { served <- s.ServeConn(tls.Server(far, config)) }()
		return near, served
	}
	near, served := serve()
	client := tls.Client(near, &tls.Config{InsecureSkipVerify: true})
	c := &servertest.Conn{Conn: client, T: t, R: bufio.NewReader(client)}
	c.Send(servertest.Get("/", "Connection: close"))
	c.Expect(200, servertest.Echoed("GET", "/", ""))
	c.ExpectEnd()
	_ = client.Close()
	if err := servertest.Receive(t, "return of ServeConn", served); err != nil {
		t.Errorf("ServeConn: %v", err)
	}

	near, served = serve()
	_ = near.Close()
	if err := servertest.Receive(t, "return of ServeConn", served); !errors.Is(err, io.EOF) {
		t.Errorf("ServeConn without a handshake: %v", err)
	}
}

// A truncated response must not look complete, even if the end of the connection
// frames it.
func TestTLSResponseThatBreaksOffDoesNotEndInOrder(t *testing.T) {
	servertest.ForEachTLSEngine(t, testTLSResponseThatBreaksOffDoesNotEndInOrder)
}

func testTLSResponseThatBreaksOffDoesNotEndInOrder(t *testing.T, e servertest.Engine) {
	ts := startServer(t, e, &Server{Handler: func(ctx *RequestCtx) {
		ctx.SetBodyStream(io.MultiReader(strings.NewReader(strings.Repeat("x", 200_000)), failingReader{}), -1)
	}})
	c := ts.Dial()
	c.Send(servertest.Head("GET / HTTP/1.0", "Host: a"))
	if b, err := io.ReadAll(c.R); err == nil || len(b) == 0 {
		t.Errorf("got %d bytes and %v", len(b), err)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("no more of this") }

// writeCounter counts the calls of Write on its connections.
type writeCounter struct {
	net.Listener
	n atomic.Int64
}

func (l *writeCounter) Accept() (net.Conn, error) {
	nc, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countedConn{nc, &l.n}, nil
}

type countedConn struct {
	net.Conn
	n *atomic.Int64
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.n.Add(1)
	return c.Conn.Write(p)
}

func TestTLSResponsesTakeFewWrites(t *testing.T) {
	servertest.ForEachTLSEngine(t, testTLSResponsesTakeFewWrites)
}

func testTLSResponsesTakeFewWrites(t *testing.T, e servertest.Engine) {
	var counter *writeCounter
	e.Listen = func(t testing.TB) (net.Listener, func() (net.Conn, error)) {
		ln, dial := servertest.ListenTLS(t)
		counter = &writeCounter{Listener: ln}
		return counter, dial
	}
	small, large := strings.Repeat("s", 4000), strings.Repeat("l", 1<<20)
	ts := startServer(t, e, &Server{Handler: func(ctx *RequestCtx) {
		switch string(ctx.Path()) {
		case "/small":
			ctx.SetBodyString(small)
		case "/large":
			ctx.SetBodyString(large)
		case "/stream":
			ctx.SetBodyStream(strings.NewReader(large), -1)
		}
	}})
	c := ts.Dial()
	c.Get("/small") // the response shows that the handshake is over
	c.Expect(200, small)
	for _, tc := range []struct {
		path, body string
		writes     int64
	}{{"/small", small, 1}, {"/large", large, 1<<20/tlswire.GatherSize*3/2 + 1}, {"/stream", large, 1<<20/tlswire.GatherSize*2 + 3}} {
		before := counter.n.Load()
		c.Get(tc.path)
		c.Expect(200, tc.body)
		if n := counter.n.Load() - before; n > tc.writes {
			t.Errorf("%s took %d writes, want %d at most", tc.path, n, tc.writes)
		}
	}
}

func TestPlainHTTPOnATLSPort(t *testing.T) { servertest.ForEachTLSEngine(t, testPlainHTTPOnATLSPort) }

func testPlainHTTPOnATLSPort(t *testing.T, e servertest.Engine) {
	ts := startServer(t, e, &Server{Handler: echo})
	for _, request := range []string{
		servertest.Get("/"), servertest.Head("HEAD / HTTP/1.1", "Host: a"), servertest.Head("OPTIONS * HTTP/1.1", "Host: a"), servertest.Head("GET http://a/ HTTP/1.1", "Host: a"),
		// the client is still sending
		servertest.Post("/", strings.Repeat("x", 20_000)), servertest.Post("/", "")[:10],
		"PUT / HTTP/1.1\r\n", "DELETE / HTTP/1.1\r\n", "PATCH / HTTP/1.1\r\n", "CONNECT a:443 HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		c := ts.DialPlain()
		c.Send(request)
		resp := c.Next("GET")
		if resp.StatusCode != 400 || resp.Content != "Client sent an HTTP request to an HTTPS server.\n" || !resp.Close {
			t.Errorf("%.20q: got %d %q, close %v", request, resp.StatusCode, resp.Content, resp.Close)
		}
		c.ExpectEnd()
		_ = c.Close()
	}
	ts.Log.WaitFor(t, "tls handshake", "an http request to an https server")
	// anything else is cut off
	c := ts.DialPlain()
	c.Send("SSH-2.0-OpenSSH\r\n")
	if b, err := io.ReadAll(c.R); bytes.Contains(b, []byte("HTTP/")) || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %q, %v", b, err)
	}
	ts.Log.WaitFor(t, "tls handshake", "does not look like a TLS handshake")
}

// The client of net/http negotiates a protocol by itself.
func TestTLSWithClientsOfNetHTTP(t *testing.T) {
	servertest.ForEachTLSEngine(t, testTLSWithClientsOfNetHTTP)
}

func testTLSWithClientsOfNetHTTP(t *testing.T, e servertest.Engine) {
	ts := startServer(t, e, &Server{Handler: echo})
	transport := &http.Transport{TLSClientConfig: servertest.TrustCertificate(), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: servertest.Patience}
	for range 3 {
		resp, err := client.Get("https://" + ts.Listener.Addr().String() + "/x")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(body) != servertest.Echoed("GET", "/x", "") || resp.TLS.NegotiatedProtocol != "http/1.1" {
			t.Errorf("got %q, %v over %q", body, err, resp.TLS.NegotiatedProtocol)
		}
	}
}

// sizedReads reports the size of each Read before the Read waits.
type sizedReads struct {
	net.Conn
	sizes chan int
}

func (c *sizedReads) Read(p []byte) (int, error) {
	c.sizes <- len(p)
	return c.Conn.Read(p)
}

// An idle TLS connection holds no read buffer, whatever connection is below TLS.
func TestIdleTLSConnectionHoldsNoReadBuffer(t *testing.T) {
	cert, key := servertest.Certificate()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	sized := &sizedReads{far, make(chan int, 1000)}
	s := &Server{Handler: echo}
	done := make(chan error, 1)
	go func() {
		done <- s.ServeConn(tlswire.Server(sized, sized, &tls.Config{Certificates: []tls.Certificate{pair}, SessionTicketsDisabled: true}))
	}()
	client := tls.Client(near, &tls.Config{InsecureSkipVerify: true})
	for range 3 {
		if _, err := io.WriteString(client, servertest.Get("/")); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 4096)
		if _, err := client.Read(b); err != nil {
			t.Fatal(err)
		}
		// nothing else arrives, so the last Read is the one that waits
		last := 0
		servertest.Eventually(t, "a small read", func() bool {
			for len(sized.sizes) > 0 {
				last = <-sized.sizes
			}
			return last == tlswire.HeaderSize
		})
	}
	_ = client.Close()
	servertest.Receive(t, "return of ServeConn", done)
}

package integrationtests

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// tlsKeys are a certificate for 127.0.0.1 for each type of key that clients accept.
func tlsKeys(t *testing.T) map[string]tls.Certificate {
	t.Helper()
	ofRSA, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ofECDSA, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	made := make(map[string]tls.Certificate)
	for name, pair := range map[string][2]any{"RSA": {&ofRSA.PublicKey, ofRSA}, "ECDSA": {&ofECDSA.PublicKey, ofECDSA}} {
		der, err := x509.CreateCertificate(rand.Reader, template, template, pair[0], pair[1])
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		made[name] = tls.Certificate{Certificate: [][]byte{der}, PrivateKey: pair[1], Leaf: leaf}
	}
	return made
}

// piecewise is a connection that writes in pieces of a size.
type piecewise struct {
	net.Conn
	size int
}

func (c *piecewise) Write(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var k int
		k, err = c.Conn.Write(p[n:min(n+c.size, len(p))])
		n += k
	}
	return n, err
}

// dialInPieces opens a TLS connection whose client writes in pieces of a size.
func dialInPieces(ts *testServer, config *tls.Config, size int) (*tls.Conn, *servertest.Conn, error) {
	nc, err := net.Dial("tcp4", ts.Listener.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	config = config.Clone()
	config.ServerName = "127.0.0.1"
	over := tls.Client(&piecewise{nc, size}, config)
	c := ts.Wrap(over)
	return over, c, over.Handshake()
}

// TestTLSOfAnyKind tries versions, keys and groups, with records that arrive whole and byte by
// byte.
func TestTLSOfAnyKind(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, testTLSOfAnyKind)
}

func testTLSOfAnyKind(t *testing.T, e servertest.Engine) {
	t.Parallel()
	for name, cert := range tlsKeys(t) {
		roots := x509.NewCertPool()
		roots.AddCert(cert.Leaf)
		chosen := &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequestClientCert}
		for server, config := range map[string]*tls.Config{
			"":                   {Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequestClientCert},
			"GetConfigForClient": {GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return chosen, nil }},
		} {
			ts := &testServer{T: t, S: &fasthttp.Server{Handler: tellTLS, TLSConfig: config, StreamRequestBody: server == ""}, Engine: e}
			ts.Log = prepare(ts.S, e)
			t.Cleanup(ts.Stop)
			ts.Listener, _ = e.Listen(t)
			go func() { _ = ts.S.ServeTLS(ts.Listener, "", "") }()
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				for _, group := range []tls.CurveID{tls.X25519MLKEM768, tls.X25519, tls.CurveP256} {
					if version == tls.VersionTLS12 && group == tls.X25519MLKEM768 {
						continue
					}
					for _, size := range []int{1, 1000, 1 << 20} {
						t.Run(fmt.Sprintf("%s %s, %s, %v, %d bytes", name, server, tls.VersionName(version), group, size), func(t *testing.T) {
							config := &tls.Config{
								RootCAs: roots, MinVersion: version, MaxVersion: version, CurvePreferences: []tls.CurveID{group},
								ClientSessionCache: tls.NewLRUClientSessionCache(0), Certificates: []tls.Certificate{cert},
							}
							checkTLSOfAKind(t, ts, config, size)
						})
					}
				}
			}
		}
	}
}

// checkTLSOfAKind makes a connection, and one that resumes its session.
func checkTLSOfAKind(t *testing.T, ts *testServer, config *tls.Config, size int) {
	version := tls.VersionName(config.MaxVersion)
	for _, resumed := range []bool{false, true} {
		nc, c, err := dialInPieces(ts, config, size)
		if err != nil {
			t.Fatal(err)
		}
		if state := nc.ConnectionState(); state.DidResume != resumed || state.CurveID != config.CurvePreferences[0] {
			t.Errorf("resumed %v with %v, want %v with %v", state.DidResume, state.CurveID, resumed, config.CurvePreferences[0])
		}
		body := string(servertest.SampleText(2000))
		want := func(path, body string) string {
			return strings.Join([]string{version, "HTTP/1.1", path, body}, " ") + "\n"
		}
		c.Get("/1")
		c.Expect(200, want("/1", ""))
		c.Send(servertest.Post("/2", body) + servertest.Get("/3") + servertest.Post("/4", "x"))
		c.Expect(200, want("/2", body))
		c.Expect(200, want("/3", ""))
		c.Expect(200, want("/4", "x"))
		_ = nc.Close()
	}
}

// TestCloseNotifyMeetsRequestsAndResponses has clients that send close_notify while requests
// or responses are on their way. They get the response to each request, and then the server's
// close_notify.
func TestCloseNotifyMeetsRequestsAndResponses(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, testCloseNotifyMeetsRequestsAndResponses)
}

func testCloseNotifyMeetsRequestsAndResponses(t *testing.T, e servertest.Engine) {
	t.Parallel()
	large := servertest.SampleText(3 << 20)
	ts := startServer(t, e, &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Path()) {
		case "/large":
			ctx.SetBody(large)
		case "/stream":
			ctx.SetBodyStream(struct{ io.Reader }{bytes.NewReader(large)}, -1)
		default:
			ctx.SetBody(ctx.PostBody())
		}
	}})
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := servertest.TrustCertificate()
		config.MinVersion, config.MaxVersion = version, version
		for name, requests := range map[string][]string{
			"nothing":   nil,
			"one":       {servertest.Get("/")},
			"pipelined": {servertest.Get("/"), servertest.Post("/", "body"), servertest.Get("/")},
			"large":     {servertest.Get("/large"), servertest.Get("/stream"), servertest.Get("/large")},
		} {
			for _, size := range []int{1, 1 << 20} {
				nc, c, err := dialInPieces(ts, config, size)
				if err != nil {
					t.Fatal(err)
				}
				for _, request := range requests {
					c.Send(request)
				}
				if err := nc.CloseWrite(); err != nil {
					t.Fatal(err)
				}
				for _, request := range requests {
					resp, err := http.ReadResponse(c.R, nil)
					if err != nil {
						t.Fatalf("%s, %d bytes: %v", name, size, err)
					}
					body, err := io.ReadAll(resp.Body)
					_, want, _ := strings.Cut(request, "\r\n\r\n")
					if strings.Contains(request, "/large") || strings.Contains(request, "/stream") {
						want = string(large)
					}
					if err != nil || string(body) != want {
						t.Errorf("%s, %d bytes: a body of %d bytes, %v", name, size, len(body), err)
					}
				}
				if _, err := c.R.ReadByte(); err != io.EOF {
					t.Errorf("%s, %d bytes: the connection ends with %v", name, size, err)
				}
				_ = nc.Close()
			}
		}
	}
	ts.Log.CheckEmpty(t)
}

// TestClosingClientsAndShutdownEndInOrder has a server and its clients end connections at
// the same time.
func TestClosingClientsAndShutdownEndInOrder(t *testing.T) {
	t.Parallel()
	servertest.ForEachTLSEngine(t, func(t *testing.T, e servertest.Engine) {
		for round := range servertest.Times(20) {
			ts := startServer(t, e, &fasthttp.Server{Handler: tellTLS})
			var clients []*tls.Conn
			for range 8 {
				nc, c, err := dialInPieces(ts, servertest.TrustCertificate(), 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				c.Get("/")
				c.Expect(200, "TLS 1.3 HTTP/1.1 / \n")
				clients = append(clients, nc)
			}
			stopped := make(chan error, 1)
			go func() { stopped <- ts.S.Shutdown() }()
			for i, nc := range clients {
				if (i+round)%2 == 0 {
					_ = nc.CloseWrite()
				}
			}
			for _, nc := range clients {
				if n, err := nc.Read(make([]byte, 1)); n > 0 || err != io.EOF {
					t.Errorf("a connection ends with %v", err)
				}
			}
			if err := servertest.Receive(t, "the end of Shutdown", stopped); err != nil {
				t.Error(err)
			}
			ts.Log.CheckEmpty(t)
		}
	})
}

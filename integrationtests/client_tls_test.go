package integrationtests

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

func TestClientTLS(t *testing.T) {
	cert, roots := servertest.CertificateFor(t, []string{"example.test"}, net.IPv4(127, 0, 0, 1))
	addr, _ := servertest.SecureServer(t, cert)
	client := &fasthttp.Client{
		TLSConfig: &tls.Config{RootCAs: roots},
		Dial:      func(string) (net.Conn, error) { return net.Dial("tcp4", addr) },
	}
	defer client.CloseIdleConnections()
	for uri, name := range map[string]string{
		"https://example.test/":      "example.test",
		"https://EXAMPLE.test:8443/": "example.test",
		"https://" + addr + "/":      "", // an address is not sent as a server name
	} {
		status, body, err := client.Get(nil, uri)
		if err != nil || status != 200 || string(body) != name {
			t.Errorf("%s: got %d %q, %v", uri, status, body, err)
		}
	}
}

// Known failure 38: the certificate must match the host, for every form of an address.
func TestClientTLSIsVerified(t *testing.T) {
	t.Parallel()
	cert, roots := servertest.CertificateFor(t, []string{"example.test"})
	addr, _ := servertest.SecureServer(t, cert)
	dial := func(string) (net.Conn, error) { return net.Dial("tcp4", addr) }
	for _, host := range []string{
		"other.test:443", "other.test", addr, "::1", "[::1", "a:b:c", ":443", "example.test:443:443", "*",
	} {
		hc := &fasthttp.HostClient{Addr: host, IsTLS: true, Dial: dial, TLSConfig: &tls.Config{RootCAs: roots}}
		req := requestTo(t, fasthttp.MethodGet, "/")
		req.Header.SetHost("example.test")
		if err := hc.Do(req, nil); err == nil {
			t.Errorf("%q was taken for example.test", host)
		}
	}
	// an unknown root
	hc := &fasthttp.HostClient{Addr: "example.test", IsTLS: true, Dial: dial}
	err := hc.Do(requestTo(t, fasthttp.MethodGet, "https://example.test/"), nil)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("got %v, want a CertificateVerificationError", err)
	}
	// a program may turn verification off
	hc = &fasthttp.HostClient{Addr: "other.test", IsTLS: true, Dial: dial, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	defer hc.CloseIdleConnections()
	servertest.Must(t, hc.Do(requestTo(t, fasthttp.MethodGet, "https://other.test/"), nil))
}

func TestClientTLSResumesSessions(t *testing.T) {
	cert, roots := servertest.CertificateFor(t, []string{"example.test"})
	addr, resumed := servertest.SecureServer(t, cert)
	config := &tls.Config{RootCAs: roots}
	hc := &fasthttp.HostClient{
		Addr: "example.test", IsTLS: true, TLSConfig: config,
		Dial: func(string) (net.Conn, error) { return net.Dial("tcp4", addr) },
	}
	defer hc.CloseIdleConnections()
	for range 4 {
		servertest.Must(t, hc.Do(requestTo(t, fasthttp.MethodGet, "https://example.test/close"), nil))
	}
	if n := resumed.Load(); n != 3 {
		t.Errorf("%d of 3 sessions were resumed", n)
	}
	if config.ServerName != "" || config.ClientSessionCache != nil {
		t.Error("the configuration of the caller was changed")
	}
}

// Known failure 29, with TLS: the client notices that the server has closed an idle
// connection. It reuses a connection on which only TLS messages have arrived.
func TestClientTLSIdleConnections(t *testing.T) {
	cert, roots := servertest.CertificateFor(t, []string{"example.test"})
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns atomic.Int32
	s := &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }),
		ConnState: func(_ net.Conn, state http.ConnState) { conns.Add(map[http.ConnState]int32{http.StateNew: 1}[state]) },
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}},
		ErrorLog:  log.New(io.Discard, "", 0),
	}
	go func() { _ = s.ServeTLS(ln, "", "") }()
	defer s.Close()
	hc := &fasthttp.HostClient{
		Addr: "example.test", IsTLS: true, TLSConfig: &tls.Config{RootCAs: roots},
		Dial: func(string) (net.Conn, error) { return net.Dial("tcp4", ln.Addr().String()) },
	}
	defer hc.CloseIdleConnections()
	req, resp := requestTo(t, fasthttp.MethodPost, "https://example.test/"), responseFor(t)
	req.SetBodyString("body")
	for range 10 {
		servertest.Must(t, hc.Do(req, resp))
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for 10 requests", n)
	}
	_ = s.Shutdown(t.Context())
	if err := hc.Do(req, resp); err == nil {
		t.Error("a call to a closed server succeeded")
	} else if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Errorf("got %v, want the error of dialing", err)
	}
}

func TestClientTLSHandshakeTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		hc := clientInBubble(t, func(c *servertest.PeerConn) { c.UntilClosed() })
		hc.IsTLS = true
		begun := time.Now()
		err := hc.DoTimeout(requestTo(t, fasthttp.MethodGet, "https://example.test/"), nil, 5*time.Second)
		if took := time.Since(begun); err != fasthttp.ErrTLSHandshakeTimeout || took != 5*time.Second {
			t.Errorf("got %v after %v, want ErrTLSHandshakeTimeout after 5 s", err, took)
		}
	})
}

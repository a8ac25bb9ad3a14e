package fasthttp

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// certificateFor returns a certificate for names and addresses, and the pool of
// roots that it is verified with.
func certificateFor(t testing.TB, names []string, ips ...net.IP) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: names, IPAddresses: ips,
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(cert)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// secureServer is an https server of net/http. resumed counts its handshakes
// that resumed a session.
func secureServer(t testing.TB, cert tls.Certificate) (addr string, resumed *atomic.Int32) {
	resumed = new(atomic.Int32)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS.DidResume {
			resumed.Add(1)
		}
		if r.URL.Path == "/close" {
			w.Header().Set("Connection", "close")
		}
		_, _ = w.Write([]byte(r.TLS.ServerName))
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), resumed
}

func TestClientTLS(t *testing.T) {
	cert, roots := certificateFor(t, []string{"example.test"}, net.IPv4(127, 0, 0, 1))
	addr, _ := secureServer(t, cert)
	client := &Client{
		TLSConfig: &tls.Config{RootCAs: roots},
		Dial:      func(string) (net.Conn, error) { return net.Dial("tcp4", addr) },
	}
	defer client.CloseIdleConnections()
	for uri, name := range map[string]string{
		"https://example.test/":      "example.test",
		"https://EXAMPLE.test:8443/": "example.test",
		"https://" + addr + "/":      "", // no name is sent for an address
	} {
		status, body, err := client.Get(nil, uri)
		if err != nil || status != 200 || string(body) != name {
			t.Errorf("%s: got %d %q, %v", uri, status, body, err)
		}
	}
}

// Known failure 38: whatever the address looks like, the certificate must be
// that of the host.
func TestClientTLSIsVerified(t *testing.T) {
	cert, roots := certificateFor(t, []string{"example.test"})
	addr, _ := secureServer(t, cert)
	dial := func(string) (net.Conn, error) { return net.Dial("tcp4", addr) }
	for _, host := range []string{
		"other.test:443", "other.test", addr, "::1", "[::1", "a:b:c", ":443", "example.test:443:443", "*",
	} {
		hc := &HostClient{Addr: host, IsTLS: true, Dial: dial, TLSConfig: &tls.Config{RootCAs: roots}}
		req := requestTo(t, MethodGet, "/")
		req.Header.SetHost("example.test")
		if err := hc.Do(req, nil); err == nil {
			t.Errorf("%q was taken for example.test", host)
		}
		if config, err := hc.tlsConfig(host); err == nil && config.InsecureSkipVerify {
			t.Errorf("%q: verification is off", host)
		}
	}
	// unknown roots
	hc := &HostClient{Addr: "example.test", IsTLS: true, Dial: dial}
	err := hc.Do(requestTo(t, MethodGet, "https://example.test/"), nil)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("got %v, want a CertificateVerificationError", err)
	}
	// who asks for it gets no verification
	hc = &HostClient{Addr: "other.test", IsTLS: true, Dial: dial, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
	defer hc.CloseIdleConnections()
	mustDo(t, hc.Do(requestTo(t, MethodGet, "https://other.test/"), nil))
}

func TestClientTLSResumesSessions(t *testing.T) {
	cert, roots := certificateFor(t, []string{"example.test"})
	addr, resumed := secureServer(t, cert)
	config := &tls.Config{RootCAs: roots}
	hc := &HostClient{
		Addr: "example.test", IsTLS: true, TLSConfig: config,
		Dial: func(string) (net.Conn, error) { return net.Dial("tcp4", addr) },
	}
	defer hc.CloseIdleConnections()
	for range 4 {
		mustDo(t, hc.Do(requestTo(t, MethodGet, "https://example.test/close"), nil))
	}
	if n := resumed.Load(); n != 3 {
		t.Errorf("%d of 3 sessions were resumed", n)
	}
	if config.ServerName != "" || config.ClientSessionCache != nil {
		t.Error("the configuration of the caller was changed")
	}
}

// Known failure 29, with TLS: an idle connection that the server ended is found
// out, and one on which only TLS has spoken is used.
func TestClientTLSIdleConnections(t *testing.T) {
	cert, roots := certificateFor(t, []string{"example.test"})
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
	hc := &HostClient{
		Addr: "example.test", IsTLS: true, TLSConfig: &tls.Config{RootCAs: roots},
		Dial: func(string) (net.Conn, error) { return net.Dial("tcp4", ln.Addr().String()) },
	}
	defer hc.CloseIdleConnections()
	req, resp := requestTo(t, MethodPost, "https://example.test/"), responseFor(t)
	req.SetBodyString("body")
	for range 10 {
		mustDo(t, hc.Do(req, resp))
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for 10 requests", n)
	}
	_ = s.Shutdown(t.Context())
	if err := hc.Do(req, resp); err == nil {
		t.Error("a call to a server that is gone succeeded")
	} else if _, ok := errors.AsType[*net.OpError](err); !ok {
		t.Errorf("got %v, want the error of dialing", err)
	}
}

func TestClientTLSHandshakeTimeout(t *testing.T) {
	p := silent(t)
	hc := p.host()
	hc.IsTLS = true
	err := hc.DoTimeout(requestTo(t, MethodGet, "https://example.test/"), nil, short)
	if err != ErrTLSHandshakeTimeout {
		t.Errorf("got %v, want ErrTLSHandshakeTimeout", err)
	}
}

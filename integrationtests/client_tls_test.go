package integrationtests

import (
	"crypto/tls"
	"errors"
	"net"
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

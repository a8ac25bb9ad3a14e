package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

// program is the server of a test.
var program servertest.Program = func(ctx context.Context, stdout io.Writer) error {
	return run(ctx, "127.0.0.1:0", stdout)
}

func TestEachDomainHasItsSiteAndItsCertificate(t *testing.T) {
	p := program.Start(t)

	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, p.Addr())
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	defer client.CloseIdleConnections()
	for _, c := range []struct {
		url, certificate string
		status           int
		body             string
	}{
		{"https://shop.example/", "shop.example", 200, "Welcome to the shop.\n"},
		{"https://BLOG.example.:443/x", "blog.example", 200, "Nothing was written today.\n"},
		{"https://other.example/", "", 421, "There is no such site here."},
	} {
		resp, err := client.Get(c.url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || string(body) != c.body {
			t.Errorf("%s: %d %q, %v", c.url, resp.StatusCode, body, err)
		}
		if cert := resp.TLS.PeerCertificates[0]; c.certificate != "" && cert.VerifyHostname(c.certificate) != nil {
			t.Errorf("%s: the certificate is for %v", c.url, cert.DNSNames)
		}
	}
	p.End()
}

func TestDomain(t *testing.T) {
	for host, want := range map[string]string{"a.example": "a.example", "A.Example:80": "a.example", "a.example.": "a.example", "": "", "[::1]:80": "[::1]"} {
		if got := domain([]byte(host)); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) { program.EndsAtOnce(t) }

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/valyala/fasthttp/internal/servertest"
)

func TestEachDomainHasItsSiteAndItsCertificate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stdout, w := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- run(ctx, "127.0.0.1:0", w) }()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(line)
	addr := words[len(words)-1]

	client := &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
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
	cancel()
	if err := servertest.Receive(t, "the end of run", done); err != nil {
		t.Error(err)
	}
}

func TestDomain(t *testing.T) {
	for host, want := range map[string]string{"a.example": "a.example", "A.Example:80": "a.example", "a.example.": "a.example", "": "", "[::1]:80": "[::1]"} {
		if got := domain([]byte(host)); got != want {
			t.Errorf("%q: %q, want %q", host, got, want)
		}
	}
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, "127.0.0.1:0", io.Discard); err != nil {
		t.Errorf("run returned %v", err)
	}
}

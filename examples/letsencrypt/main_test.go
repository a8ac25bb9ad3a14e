package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/acme"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

const host = "example.test"

// program returns the program with a folder for certificates.
func program(cache, directory string) servertest.Program {
	return func(ctx context.Context, stdout io.Writer) error {
		return run(ctx, options{https: "127.0.0.1:0", http: "127.0.0.1:0", cache: cache, hosts: []string{host}, directory: directory}, stdout)
	}
}

// startExample runs the example with a certificate in its cache, so that it does not
// request one. It returns the addresses of the listeners and the roots to trust.
func startExample(t *testing.T) (secure, plain string, roots *x509.CertPool) {
	t.Helper()
	cert, key, err := fasthttp.GenerateTestCertificate(host)
	if err != nil {
		t.Fatal(err)
	}
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	cache := t.TempDir()
	if err := os.WriteFile(filepath.Join(cache, host), bytes.Join([][]byte{key, cert}, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	words := program(cache, "http://127.0.0.1:1/never-requested").Start(t).Words
	return words[3], words[5], roots
}

func TestRunServesHTTPSAndSendsBrowsersThere(t *testing.T) {
	secure, plain, roots := startExample(t)
	addrs := map[string]string{"80": plain}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots},
		// connect to this machine for every name
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(addr)
			if err != nil {
				return nil, err
			}
			target, ok := addrs[port]
			if !ok {
				target = secure
			}
			return new(net.Dialer).DialContext(ctx, network, target)
		},
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: time.Minute}

	resp, err := client.Get("http://" + host + "/a?b=c")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(secure)
	if got, want := resp.Request.URL.String(), "https://"+host+":"+port+"/a?b=c"; got != want {
		t.Errorf("ended at %s, want %s", got, want)
	}
	if resp.StatusCode != 200 || !strings.HasPrefix(string(body), "Hello over TLS 1.3, "+host) {
		t.Errorf("got %d %q", resp.StatusCode, body)
	}
	if resp.Header.Get("Strict-Transport-Security") == "" {
		t.Error("no Strict-Transport-Security")
	}
}

func TestTheCertificateAuthorityIsAnswered(t *testing.T) {
	secure, _, _ := startExample(t)
	// no certificate was ordered, so there is none to present; but the protocol is
	// supported
	_, err := tls.Dial("tcp", secure, &tls.Config{ServerName: host, InsecureSkipVerify: true, NextProtos: []string{acme.ALPNProto}})
	if err == nil || strings.Contains(err.Error(), "no application protocol") {
		t.Errorf("got %v", err)
	}
	c, err := tls.Dial("tcp", secure, &tls.Config{ServerName: host, InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.ConnectionState().NegotiatedProtocol; got != "http/1.1" {
		t.Errorf("negotiated %q", got)
	}
}

func TestRedirectorKeepsToItsHosts(t *testing.T) {
	for _, tc := range []struct {
		host   string
		port   int
		status int
		target string
	}{
		{"a.test", 443, 308, "https://a.test/x?y"},
		{"a.test:80", 443, 308, "https://a.test/x?y"},
		{"b.test", 8443, 308, "https://b.test:8443/x?y"},
		{"evil.test", 443, 421, ""},
		{"a.test.evil.test", 443, 421, ""},
	} {
		var ctx fasthttp.RequestCtx
		ctx.Request.SetRequestURI("/x?y")
		ctx.Request.Header.SetHost(tc.host)
		redirector([]string{"a.test", "b.test"}, &net.TCPAddr{Port: tc.port})(&ctx)
		if got := string(ctx.Response.Header.Peek("Location")); got != tc.target || ctx.Response.StatusCode() != tc.status {
			t.Errorf("%s: got %d %q, want %d %q", tc.host, ctx.Response.StatusCode(), got, tc.status, tc.target)
		}
	}
}

func TestRunNeedsHostsAndAddresses(t *testing.T) {
	for name, o := range map[string]options{
		"no hosts":  {https: "127.0.0.1:0", http: "127.0.0.1:0"},
		"bad https": {https: "127.0.0.1:no-port", http: "127.0.0.1:0", hosts: []string{host}},
		"bad http":  {https: "127.0.0.1:0", http: "127.0.0.1:no-port", hosts: []string{host}},
	} {
		if err := run(t.Context(), o, io.Discard); err == nil {
			t.Errorf("%s: run returned no error", name)
		}
	}
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) { program(t.TempDir(), "").EndsAtOnce(t) }

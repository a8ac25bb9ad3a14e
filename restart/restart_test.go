//go:build unix

package restart

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"

	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func TestEnvironmentIsValidated(t *testing.T) {
	for _, tc := range []struct {
		env  map[string]string
		want string
		ok   bool
	}{
		{nil, "[]", true},
		{map[string]string{listenersEnv: "tcp+%3A80&unix+%2Fa%26b"}, "[{tcp :80 false} {unix /a&b false}]", true},
		{map[string]string{listenersEnv: "*tcp+%3A80&unix+%2A"}, "[{tcp :80 true} {unix * false}]", true},
		{map[string]string{listenersEnv: "tcp"}, "[]", false},
		{map[string]string{listenersEnv: "tcp+%zz"}, "[]", false},
		{map[string]string{listenersEnv: "unix+"}, "[]", false},
		{map[string]string{listenersEnv: strings.Repeat("tcp+a&", maxInherited) + "tcp+a"}, "[]", false},
		{map[string]string{"LISTEN_FDS": "2", "LISTEN_PID": "7"}, "[{ true} { true}]", true},
		{map[string]string{"LISTEN_FDS": "2", "LISTEN_PID": "8"}, "[]", true},
		{map[string]string{"LISTEN_FDS": "2"}, "[]", true},
		{map[string]string{"LISTEN_FDS": "-1", "LISTEN_PID": "7"}, "[]", false},
		{map[string]string{"LISTEN_FDS": "9999", "LISTEN_PID": "7"}, "[]", false},
		{map[string]string{"LISTEN_FDS": "x", "LISTEN_PID": "7"}, "[]", false},
	} {
		got, err := inheritedNames(func(name string) string { return tc.env[name] }, 7)
		if fmt.Sprint(got) != tc.want || (err == nil) != tc.ok {
			t.Errorf("%v: %v, %v", tc.env, got, err)
		}
	}
}

func TestListenTakesTheSocketOfTheAddress(t *testing.T) {
	open := func(network, addr string) net.Listener {
		ln, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		return ln
	}
	loop, anywhere := open("tcp4", "127.0.0.1:0"), open("tcp4", "0.0.0.0:0")
	_, port, _ := net.SplitHostPort(anywhere.Addr().String())
	h := &heirloom{read: true, listeners: []inherited{{loop, legacyName{lent: true}}, {ln: anywhere}}}
	if ln, err := h.listen("tcp", ":"+port); err != nil || ln != anywhere {
		t.Errorf("%v, %v", ln, err)
	}
	if ln, err := h.listen("tcp4", loop.Addr().String()); err != nil || ln != loop {
		t.Errorf("%v, %v", ln, err)
	}
	if _, err := h.handedOver([]net.Listener{open("tcp", "127.0.0.1:0")}); err == nil {
		t.Error("a listener that is not of Listen has a name")
	}
	if names, err := h.handedOver([]net.Listener{anywhere, loop}); err != nil || names[0] != "tcp+%3A"+port || names[1] != "*tcp4+"+url.QueryEscape(loop.Addr().String()) {
		t.Errorf("%q, %v", names, err)
	}
	if _, err := Listen("udp", ":0"); err == nil {
		t.Error("a listener of udp")
	}
}

func TestDescriptorsThatDoNotListenAreRefused(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := listenerOf(int(f.Fd())); err == nil {
		t.Error("a file is a listener")
	}
}

func TestNotifyValidatesItsSocket(t *testing.T) {
	for _, name := range []string{"relative", "@", "/"} {
		t.Setenv("NOTIFY_SOCKET", name)
		if Notify("READY=1") == nil {
			t.Errorf("no error with %q", name)
		}
	}
}

func TestWatchdogTime(t *testing.T) {
	for _, tc := range []struct {
		usec, pid string
		want      time.Duration
		ok        bool
	}{
		{"", "", 0, true},
		{"4000000", "", 2 * time.Second, true},
		{"4000000", strconv.Itoa(os.Getpid()), 2 * time.Second, true},
		{"4000000", "1", 0, true},
		{"-1", "", 0, false},
		{"x", "", 0, false},
	} {
		t.Setenv("WATCHDOG_USEC", tc.usec)
		t.Setenv("WATCHDOG_PID", tc.pid)
		if d, err := watchdogTime(); d != tc.want || (err == nil) != tc.ok {
			t.Errorf("%q, %q: %v, %v", tc.usec, tc.pid, d, err)
		}
	}
}

func TestRunReturnsTheErrorOfReady(t *testing.T) {
	ln, err := Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	reason := errors.New("not today")
	r := &Runner{Server: &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}, Ready: func(context.Context) error { return reason }}
	if err := r.Run(t.Context(), ln); !errors.Is(err, reason) {
		t.Errorf("Run returns %v", err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener: %v", err)
	}
}

func TestReadyDoesNotWaitForAServerThatHasEnded(t *testing.T) {
	ln, err := Listen("tcp", "127.0.0.1:0")
	servertest.Must(t, err)
	r := &Runner{Server: &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}}, Ready: func(ctx context.Context) error {
		_ = ln.Close()
		<-ctx.Done()
		return ctx.Err()
	}}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(context.WithoutCancel(t.Context()), ln) }()
	if err := servertest.Receive(t, "the end of Run", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Run returns %v", err)
	}
}

// TestCertificates has a configuration with a certificate of its own, which comes first, and files
// that change while the server runs.
func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	plant := func(host string) {
		cert, key, err := fasthttp.GenerateTestCertificate(host)
		servertest.Must(t, errors.Join(err, os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)))
	}
	own, _ := servertest.CertificateFor(t, []string{"own.example"})
	servertest.Bubble(t, func(t *testing.T) {
		plant("old.example")
		r := &Runner{Server: &fasthttp.Server{TLSConfig: &tls.Config{Certificates: []tls.Certificate{own}}}}
		servertest.Must(t, r.secure(certFile, keyFile))
		for _, tc := range []struct{ server, want string }{
			{"own.example", "own.example"}, {"old.example", "old.example"}, {"", "old.example"},
			{"own.example", "own.example"}, {"new.example", "new.example"},
		} {
			if tc.want == "new.example" {
				plant("new.example")
				time.Sleep(time.Minute)
			}
			cert, err := r.Server.TLSConfig.GetCertificate(&tls.ClientHelloInfo{
				ServerName: tc.server, SupportedVersions: []uint16{tls.VersionTLS13},
				SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256, tls.PSSWithSHA256},
			})
			if err != nil || cert.Leaf.VerifyHostname(tc.want) != nil {
				t.Errorf("for %q: %v, %v", tc.server, cert.Leaf.DNSNames, err)
			}
		}
	})
	if err := (&Runner{Server: &fasthttp.Server{}}).secure("", ""); err == nil {
		t.Error("TLS without a certificate")
	}
	if err := (&Runner{Server: &fasthttp.Server{}}).secure(certFile, certFile); err == nil {
		t.Error("TLS with a file that has no key")
	}
}

// TestProgramKeepsItsName has names by which a process may have been started.
func TestProgramKeepsItsName(t *testing.T) {
	self, err := os.Executable()
	servertest.Must(t, err)
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	servertest.Must(t, errors.Join(os.Symlink(self, link), os.Symlink("/nonexistent", filepath.Join(dir, "broken"))))
	t.Setenv("PATH", dir)
	for _, tc := range []struct {
		name, want string
	}{
		{link, link}, {"link", link}, {self, self}, {dir + "/../" + filepath.Base(dir) + "/link", link},
		{"/bin/sh", self}, {filepath.Join(dir, "broken"), self}, {"-link", self}, {"", self},
	} {
		if got, err := programOf([]string{tc.name}); got != tc.want || err != nil {
			t.Errorf("%q: %q, %v, want %q", tc.name, got, err, tc.want)
		}
	}
	if got, err := programOf(nil); got != self || err != nil {
		t.Errorf("without a name: %q, %v", got, err)
	}
	t.Chdir(dir)
	if got, err := programOf([]string{"./link"}); got != link || err != nil {
		t.Errorf("a relative name: %q, %v", got, err)
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// start runs the program until the test ends. It returns the URL from the first line of
// its output, the lines that follow, and a function that stops it.
func start(t *testing.T, args ...string) (url string, lines <-chan string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stdout, w := io.Pipe()
	said := make(chan string, 100)
	go func() {
		defer close(said)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			said <- scanner.Text()
		}
	}()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, append([]string{"-addr", "127.0.0.1:0"}, args...), w)
		w.Close()
	}()
	t.Cleanup(cancel)
	first := servertest.Receive(t, "the first line", said)
	_, url, ok := strings.Cut(first, " on ")
	if !ok {
		cancel()
		t.Fatalf("it begins with %q, and ends with %v", first, servertest.Receive(t, "the end of run", done))
	}
	return url, said, func() error {
		cancel()
		return servertest.Receive(t, "the end of run", done)
	}
}

func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": strings.Repeat("some text ", 100), "sub/b.html": "<p>"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func fetch(t *testing.T, client *http.Client, url string, fields ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		req.Header.Set(fields[i], fields[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestItServesTheDirectoryAndSaysSo(t *testing.T) {
	dir := tree(t)
	url, lines, stop := start(t, dir)
	for _, c := range []struct {
		path   string
		fields []string
		status int
		body   string
		line   string
	}{
		{"a.txt", []string{"Range", "bytes=5-8"}, 206, "text", `"GET /a.txt" 206 4 -`},
		{"sub/b.html", nil, 200, "<p>", `"GET /sub/b.html" 200 3 -`},
		{"sub/", nil, 200, "./b.html", `"GET /sub/" 200 `},
		{"nothing", nil, 404, "Cannot open", `"GET /nothing" 404 `},
		{"a.txt", []string{"Accept-Encoding", "gzip"}, 200, "", ` gzip`},
	} {
		resp, body := fetch(t, http.DefaultClient, url+c.path, c.fields...)
		if resp.StatusCode != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: got %d %q", c.path, resp.StatusCode, body)
		}
		if line := servertest.Receive(t, "the line of the log", lines); !strings.Contains(line, c.line) || !strings.HasPrefix(line, "127.0.0.1 ") {
			t.Errorf("%s: the log says %q, want %q", c.path, line, c.line)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if err := stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.fasthttp*")); err != nil || len(left) > 0 {
		t.Errorf("it has left %q, %v", left, err)
	}
}

func TestItSpeaksTLS(t *testing.T) {
	cert, key, err := fasthttp.GenerateTestCertificate("localhost")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	if err := errors.Join(os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)); err != nil {
		t.Fatal(err)
	}
	url, _, stop := start(t, "-quiet", "-max-age", "1h", "-cert", certFile, "-key", keyFile, tree(t))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, body := fetch(t, client, url+"sub/b.html")
	if body != "<p>" || resp.TLS == nil || resp.Header.Get("Cache-Control") != "public, max-age=3600" {
		t.Errorf("got %q with %v", body, resp.Header)
	}
	client.CloseIdleConnections()
	if err := stop(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestItRefusesWhatMakesNoSense(t *testing.T) {
	file := filepath.Join(tree(t), "a.txt")
	for _, args := range [][]string{
		{"-cert", "x"}, {"a", "b"}, {"-no-such-option"}, {file}, {file + "/nothing"}, {"-addr", "127.0.0.1:no-port", "."},
	} {
		if err := run(t.Context(), args, io.Discard); err == nil || errors.Is(err, flag.ErrHelp) {
			t.Errorf("%q: %v", args, err)
		}
	}
	var help bytes.Buffer
	if err := run(t.Context(), []string{"-h"}, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "usage: fileserver") {
		t.Errorf("%v with %q", err, help.String())
	}
}

// A signal may arrive before the server has begun.
func TestRunEndsAtOnce(t *testing.T) {
	servertest.Program(func(ctx context.Context, stdout io.Writer) error {
		return run(ctx, []string{"-addr", "127.0.0.1:0", t.TempDir()}, stdout)
	}).EndsAtOnce(t)
}

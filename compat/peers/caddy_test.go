package peers

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
)

const caddyfile = `
{
	admin off
	auto_https disable_redirects
	local_certs
	skip_install_trust
}
(site) {
	root * files
	encode gzip
	header X-Port {remote_port}
	redir /redirect /text 302
	redir /redirect308 /echo 308
	respond /204 204
	respond /echo {http.request.body}
	respond /proto {http.request.proto}
	file_server
}
http://127.0.0.1:PLAIN {
	import site
}
https://localhost:SECURE {
	import site
}
`

// caddy starts a Caddy that serves the file text, 100 lines, and the file large, 3
// MiB, over HTTP and TLS. It returns the addresses of both, and the folder of
// Caddy's certificates.
func caddy(t *testing.T) (plain, secure, data string) {
	cmd := process.Command(t, "a peer", "caddy", "run", "--config", "Caddyfile", "--adapter", "caddyfile")
	cmd.Dir = t.TempDir()
	plain, secure = process.FreePort(t), process.FreePort(t)
	process.WriteFiles(t, cmd.Dir, map[string]string{
		"Caddyfile":   strings.NewReplacer("PLAIN", plain, "SECURE", secure).Replace(caddyfile),
		"files/text":  strings.Repeat("a line of text\n", 100),
		"files/large": string(largeFile()),
	})
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "XDG_DATA_HOME="+cmd.Dir, "XDG_CONFIG_HOME="+cmd.Dir)
	process.Launch(t, cmd)
	plain, secure = "127.0.0.1:"+plain, "localhost:"+secure
	process.AwaitListener(t, plain)
	process.AwaitListener(t, secure)
	return plain, secure, filepath.Join(cmd.Dir, "caddy")
}

// askCaddy sends the same requests over HTTP and TLS, all of them on one connection.
func askCaddy(t *testing.T, c *caller) {
	text := strings.Repeat("a line of text\n", 100)
	ports := make(map[string]bool)
	ask := func(client doer) {
		t.Helper()
		c.do(client)
		ports[string(c.resp.Header.Peek("X-Port"))] = true
	}
	for range 3 {
		c.prepare("GET", "/text")
		ask(c.client)
		c.is(200, text)
		tag := string(c.resp.Header.Peek("Etag"))

		c.prepare("HEAD", "/text")
		ask(c.client)
		c.is(200, "")
		if n := c.resp.Header.ContentLength(); n != len(text) {
			t.Errorf("Content-Length of HEAD is %d, want %d", n, len(text))
		}

		c.prepare("GET", "/text")
		c.req.Header.Set("If-None-Match", tag)
		ask(c.client)
		c.is(304, "")

		c.prepare("GET", "/text")
		c.req.Header.Set("Range", "bytes=2-5")
		ask(c.client)
		c.is(206, "line")

		c.prepare("GET", "/text")
		c.req.Header.Set("Accept-Encoding", "gzip")
		ask(c.client)
		c.hasField("Content-Encoding", "gzip")
		if body, err := c.resp.BodyUncompressed(); err != nil || string(body) != text {
			t.Errorf("got %d bytes, %v, want the %d of the text", len(body), err, len(text))
		}

		c.prepare("GET", "/204")
		ask(c.client)
		c.is(204, "")

		c.prepare("GET", "/large")
		ask(c.client)
		c.is(200, string(largeFile()))

		c.prepare("GET", "/redirect")
		if err := c.client.DoRedirects(c.req, c.resp, 2); err != nil {
			t.Fatal(err)
		}
		c.is(200, text)

		c.prepare("POST", "/redirect308")
		c.req.SetBodyString("moved along")
		if err := c.client.DoRedirects(c.req, c.resp, 2); err != nil {
			t.Fatal(err)
		}
		c.is(200, "moved along")

		for framing, set := range map[string]func(){
			"length":  func() { c.req.SetBody(largeFile()[:1<<18]) },
			"chunked": func() { c.req.SetBodyStream(bytes.NewReader(largeFile()[:1<<18]), -1) },
		} {
			for _, expect := range []string{"", "100-continue"} {
				c.prepare("PUT", "/echo")
				if expect != "" {
					c.req.Header.Set("Expect", expect)
				}
				set()
				ask(c.client)
				if c.resp.StatusCode() != 200 || !bytes.Equal(c.resp.Body(), largeFile()[:1<<18]) {
					t.Errorf("%s, Expect %q: got %d and %d bytes", framing, expect, c.resp.StatusCode(), len(c.resp.Body()))
				}
			}
		}

		c.prepare("GET", "/large")
		c.resp.StreamBody = true
		ask(c.client)
		if body, err := io.ReadAll(c.resp.BodyStream()); err != nil || !bytes.Equal(body, largeFile()) {
			t.Errorf("the stream has %d bytes, %v", len(body), err)
		}
		if err := c.resp.CloseBodyStream(); err != nil {
			t.Error(err)
		}
		c.resp.StreamBody = false
	}
	if len(ports) != 1 {
		t.Errorf("the requests went out on %d connections, want one", len(ports))
	}
}

func TestCaddyAnswersOnOneConnection(t *testing.T) {
	plain, _, _ := caddy(t)
	askCaddy(t, newCaller(t, plain))
}

// Caddy uses HTTP/2 over TLS with clients that support it, and makes its certificate
// itself.
func TestCaddyAnswersOverTLS(t *testing.T) {
	_, secure, data := caddy(t)
	roots := caddyRoots(t, data)
	c := newCaller(t, secure)
	c.scheme = "https"
	c.client.TLSConfig = &tls.Config{RootCAs: roots}
	awaitCertificate(t, secure, c.client.TLSConfig)
	c.prepare("GET", "/proto")
	c.do(c.client)
	c.is(200, "HTTP/1.1")
	askCaddy(t, c)

	untrusting := &fasthttp.Client{}
	if err := untrusting.Do(c.req, c.resp); err == nil {
		t.Error("a certificate of an unknown authority was accepted")
	}
	other := &fasthttp.Client{TLSConfig: &tls.Config{RootCAs: roots, ServerName: "example.com"}}
	if err := other.Do(c.req, c.resp); err == nil {
		t.Error("a certificate for another name was taken")
	}
}

// caddyRoots returns the authority of Caddy's certificate.
func caddyRoots(t *testing.T, data string) *x509.CertPool {
	t.Helper()
	name := filepath.Join(data, "pki", "authorities", "local", "root.crt")
	roots := x509.NewCertPool()
	process.Await(t, "the root certificate of Caddy", func() error {
		pem, err := os.ReadFile(name)
		if err == nil && !roots.AppendCertsFromPEM(pem) {
			err = errors.New("it is not whole")
		}
		return err
	})
	return roots
}

// awaitCertificate waits until a server has its certificate.
func awaitCertificate(t *testing.T, addr string, config *tls.Config) {
	t.Helper()
	process.Await(t, "TLS with "+addr, func() error {
		c, err := tls.Dial("tcp4", addr, config)
		if err == nil {
			_ = c.Close()
		}
		return err
	})
}

func TestCaddyAnswersPipelines(t *testing.T) {
	addr, _, _ := caddy(t)
	client := &fasthttp.PipelineClient{Addr: addr, ReadTimeout: process.Patience, WriteTimeout: process.Patience}
	pipeline(t, addr, client, 300, func(i int, req *fasthttp.Request) {
		req.Header.SetMethod("PUT")
		req.SetRequestURI("http://" + addr + "/echo")
		req.SetBodyString(fmt.Sprint("body ", i))
	}, func(i int, resp *fasthttp.Response) string {
		if got := string(resp.Body()); got != fmt.Sprint("body ", i) {
			return fmt.Sprintf("got %q", got)
		}
		return ""
	})
}

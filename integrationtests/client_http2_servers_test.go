package integrationtests

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/internal/servertest"
)

// h2Origin is a third-party server that answers these requests itself, or forwards them:
//
//	/text/N     N bytes of numbered, with their length
//	/stream/N the same, possibly without
//	/echo       the content
//	/trailers   the content, and the trailer X-End
type h2Origin struct {
	name string
	// start starts it at a port, in a folder that has key.pem and cert.pem.
	start func(t *testing.T, dir, port string, secure bool)
	// trailers is set if the server sends trailers.
	trailers bool
}

var h2Origins = []h2Origin{
	{"net/http", startNetHTTP, true},
	{"nghttpd", startNghttpd, true},
	{"nginx", startNginx, false},
	{"h2o", startH2O, false},
	{"Node", startNode, true},
	{"Caddy", startCaddy, false},
}

// TestHTTP2ClientMeetsOtherServers calls third-party servers, with TLS and without.
func TestHTTP2ClientMeetsOtherServers(t *testing.T) {
	t.Parallel()
	for _, origin := range h2Origins {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprint(origin.name, " TLS ", secure), func(t *testing.T) {
				t.Parallel()
				if origin.name == "h2o" && !secure {
					t.Skip("h2o has HTTP/2 without TLS only by an upgrade")
				}
				dir, port := t.TempDir(), freePort(t)
				cert, key := servertest.Certificate()
				servertest.Must(t, os.WriteFile(filepath.Join(dir, "cert.pem"), cert, 0o600))
				servertest.Must(t, os.WriteFile(filepath.Join(dir, "key.pem"), key, 0o600))
				origin.start(t, dir, port, secure)
				hc := &fasthttp.HostClient{Addr: "127.0.0.1:" + port, IsTLS: secure, MaxConns: 2, TLSConfig: servertest.TrustCertificate()}
				hc.Protocols.SetHTTP2(true)
				hc.Protocols.SetUnencryptedHTTP2(true)
				servertest.Eventually(t, "a listener", func() bool {
					nc, err := net.Dial("tcp4", hc.Addr)
					if err == nil {
						_ = nc.Close()
					}
					return err == nil
				})
				o := &originCalls{t: t, hc: hc, base: "http://" + hc.Addr}
				if secure {
					o.base = "https://" + hc.Addr
				}
				o.run(origin.trailers)
				hc.CloseIdleConnections()
				servertest.Eventually(t, "the end of all connections", func() bool { return hc.ConnsCount() == 0 })
			})
		}
	}
}

// originCalls makes calls to an h2Origin.
type originCalls struct {
	t    *testing.T
	hc   *fasthttp.HostClient
	base string
}

// ask makes a call, and checks the response.
func (o *originCalls) ask(method, path, want string, set ...func(*fasthttp.Request, *fasthttp.Response)) *fasthttp.Response {
	o.t.Helper()
	req, resp := requestTo(o.t, method, o.base+path), responseFor(o.t)
	for _, f := range set {
		f(req, resp)
	}
	if err := o.hc.DoTimeout(req, resp, servertest.Patience); err != nil {
		o.t.Errorf("%s %s with %d bytes %s: %v", method, path, len(want), req.Header.String(), err)
		return resp
	}
	content, err := io.ReadAll(streamOf(resp))
	if string(content) != want || err != nil || resp.StatusCode() != 200 {
		o.t.Errorf("%s %s: %d, %d bytes %.40q, %v, want %d", method, path, resp.StatusCode(), len(content), content, err, len(want))
	}
	if got := string(resp.Header.Protocol()); got != "HTTP/2.0" {
		o.t.Errorf("%s %s: answered with %s", method, path, got)
	}
	_ = resp.CloseBodyStream()
	return resp
}

func (o *originCalls) run(trailers bool) {
	large := numbered(http2PeerSize)
	o.ask("GET", "/text/10", large[:10])
	if resp := o.ask("HEAD", "/text/1000", ""); resp.Header.ContentLength() != 1000 {
		o.t.Errorf("HEAD: the length is %d", resp.Header.ContentLength())
	}
	for _, set := range []func(*fasthttp.Request, *fasthttp.Response){withBody(""), asStream} {
		o.ask("GET", fmt.Sprint("/text/", http2PeerSize), large, set)
		o.ask("GET", fmt.Sprint("/stream/", http2PeerSize), large, set)
		for form, send := range h2Contents {
			text := large
			if form == "byte by byte" {
				text = large[:1000]
			}
			o.ask("POST", "/echo", text, set, func(req *fasthttp.Request, _ *fasthttp.Response) { send(req, text) })
		}
	}
	o.ask("POST", "/echo", large[:100_000], withBody(large[:100_000]), func(req *fasthttp.Request, _ *fasthttp.Response) {
		req.Header.Set("Expect", "100-continue")
	})
	for i := range 3 { // left in the middle
		resp := responseFor(o.t)
		resp.StreamBody = true
		if err := o.hc.Do(requestTo(o.t, "GET", o.base+fmt.Sprint("/stream/", http2PeerSize)), resp); err != nil {
			o.t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.BodyStream(), make([]byte, 1+1000*i)); err != nil {
			o.t.Error(err)
		}
		servertest.Must(o.t, resp.CloseBodyStream())
	}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
			defer fasthttp.ReleaseRequest(req)
			defer fasthttp.ReleaseResponse(resp)
			req.Header.SetMethod("POST")
			req.SetRequestURI(o.base + "/echo")
			req.SetBodyString(large[:1+10*i])
			if err := o.hc.DoTimeout(req, resp, servertest.Patience); err != nil || string(resp.Body()) != large[:1+10*i] {
				o.t.Errorf("200 at a time: %d bytes, %v", len(resp.Body()), err)
			}
		})
	}
	all.Wait()
	if n := o.hc.ConnsCount(); n > 2 {
		o.t.Errorf("there are %d connections", n)
	}
	if trailers {
		resp := o.ask("POST", "/trailers", "abc", withBody("abc"), func(req *fasthttp.Request, _ *fasthttp.Response) {
			servertest.Must(o.t, req.Header.AnnounceTrailer("X-Sum"))
			servertest.Must(o.t, req.Header.AddTrailerField("X-Sum", "yes"))
		})
		if got := string(resp.Header.PeekTrailer("X-End")); got != "yes" {
			o.t.Errorf("the trailer is %q", got)
		}
	}
}

// handleOrigin answers the requests that an h2Origin forwards.
func handleOrigin(ctx *fasthttp.RequestCtx) {
	kind, size, _ := strings.Cut(string(ctx.Path())[1:], "/")
	n, _ := strconv.Atoi(size)
	switch kind {
	case "text":
		ctx.SetBodyString(numbered(n))
	case "stream":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) { _, _ = w.WriteString(numbered(n)) })
	default:
		ctx.SetBody(ctx.PostBody())
	}
}

// originBehind starts an HTTP/1.1 server for an h2Origin that forwards requests, and returns
// its port.
func originBehind(t *testing.T) string {
	ts := startServer(t, servertest.Engines[0], &fasthttp.Server{Handler: handleOrigin, MaxRequestBodySize: 2 * http2PeerSize})
	_, port, err := net.SplitHostPort(ts.Listener.Addr().String())
	servertest.Must(t, err)
	return port
}

// portsGiven counts the ports that freePort has tried.
var portsGiven atomic.Uint32

// freePort returns a port on which nothing has listened a moment ago, and which it has returned to
// no other test: the programs that get the ports begin to listen later. It is below the ports that
// systems assign. Other processes begin elsewhere.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		n := uint32(os.Getpid())*64 + portsGiven.Add(1)
		ln, err := net.Listen("tcp4", fmt.Sprint("127.0.0.1:", 10_000+n%20_000))
		if err != nil {
			continue
		}
		defer func() { _ = ln.Close() }()
		_, port, err := net.SplitHostPort(ln.Addr().String())
		servertest.Must(t, err)
		return port
	}
	t.Fatal("no port is free")
	return ""
}

// launch runs a program in a folder until the test ends.
func launch(t *testing.T, dir, path string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir = dir
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	servertest.Must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s says:\n%s", path, said.String())
		}
	})
}

// configure writes a file in which each NAME of values is replaced by the value after it.
func configure(t *testing.T, dir, name, text string, values ...string) {
	t.Helper()
	servertest.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.NewReplacer(values...).Replace(text)), 0o600))
}

func startNetHTTP(t *testing.T, dir, port string, secure bool) {
	s := &http.Server{Addr: "127.0.0.1:" + port, ErrorLog: log.New(io.Discard, "", 0), Protocols: new(http.Protocols), TLSConfig: new(tls.Config)}
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, size, _ := strings.Cut(r.URL.Path[1:], "/")
		n, _ := strconv.Atoi(size)
		switch kind {
		case "text":
			w.Header().Set("Content-Length", size)
			_, _ = io.WriteString(w, numbered(n))
		case "stream":
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, numbered(n))
		case "trailers":
			w.Header().Set("Trailer", "X-End")
			_, _ = io.Copy(w, r.Body)
			w.Header().Set("X-End", r.Trailer.Get("X-Sum"))
		default:
			// echoes while it arrives
			_, _ = io.Copy(w, r.Body)
		}
	})
	go func() {
		if secure {
			_ = s.ListenAndServeTLS(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
		} else {
			_ = s.ListenAndServe()
		}
	}()
	t.Cleanup(func() { _ = s.Close() })
}

func startNghttpd(t *testing.T, dir, port string, secure bool) {
	nghttpd := program(t, "nghttpd")
	for _, name := range []string{"text/10", "text/1000", fmt.Sprint("text/", http2PeerSize), fmt.Sprint("stream/", http2PeerSize)} {
		n, _ := strconv.Atoi(filepath.Base(name))
		servertest.Must(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
		servertest.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(numbered(n)), 0o600))
	}
	args := []string{"-a", "127.0.0.1", "-d", dir, "--echo-upload", "--trailer=x-end: yes"}
	if secure {
		args = append(args, port, "key.pem", "cert.pem")
	} else {
		args = append(args, "--no-tls", port)
	}
	launch(t, dir, nghttpd, args...)
}

const nginxH2Conf = `
daemon off;
master_process off;
pid nginx.pid;
error_log stderr error;
events { worker_connections 1000; }
http {
	access_log off;
	client_body_temp_path temp;
	proxy_temp_path temp;
	fastcgi_temp_path temp;
	uwsgi_temp_path temp;
	scgi_temp_path temp;
	client_max_body_size 16m;
	upstream behind { server 127.0.0.1:BEHIND; keepalive 16; }
	server {
		listen 127.0.0.1:PORT SECURE http2;
		ssl_certificate cert.pem;
		ssl_certificate_key key.pem;
		location / {
			proxy_pass http://behind;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
		}
	}
}
`

func startNginx(t *testing.T, dir, port string, secure bool) {
	nginx := program(t, "nginx")
	ssl := ""
	if secure {
		ssl = "ssl"
	}
	configure(t, dir, "nginx.conf", nginxH2Conf, "PORT", port, "BEHIND", originBehind(t), "SECURE", ssl)
	launch(t, dir, nginx, "-e", "stderr", "-p", dir, "-c", "nginx.conf")
}

const h2oConf = `
hosts:
  default:
    listen:
      host: 127.0.0.1
      port: PORT
      ssl:
        certificate-file: DIR/cert.pem
        key-file: DIR/key.pem
    paths:
      /:
        proxy.reverse.url: http://127.0.0.1:BEHIND/
num-threads: 1
limit-request-body: 16777216
`

func startH2O(t *testing.T, dir, port string, _ bool) {
	h2o := program(t, "h2o")
	configure(t, dir, "h2o.conf", h2oConf, "PORT", port, "BEHIND", originBehind(t), "DIR", dir)
	launch(t, dir, h2o, "-c", "h2o.conf")
}

func startNode(t *testing.T, dir, port string, secure bool) {
	script, err := filepath.Abs("testdata/http2server.js")
	servertest.Must(t, err)
	args := []string{script, port}
	if secure {
		args = append(args, "key.pem", "cert.pem")
	}
	launch(t, dir, program(t, "node", "nodejs"), args...)
}

const caddyH2File = `
{
	admin off
	auto_https off
	servers {
		protocols h1 h2 h2c
	}
}
SCHEME://127.0.0.1:PORT {
	TLS
	reverse_proxy 127.0.0.1:BEHIND
}
`

func startCaddy(t *testing.T, dir, port string, secure bool) {
	caddy := program(t, "caddy")
	scheme, files := "http", ""
	if secure {
		scheme, files = "https", "tls cert.pem key.pem"
	}
	configure(t, dir, "Caddyfile", caddyH2File, "PORT", port, "BEHIND", originBehind(t), "SCHEME", scheme, "TLS", files)
	launch(t, dir, caddy, "run", "--config", "Caddyfile", "--adapter", "caddyfile")
}

package peers

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/process"
	"github.com/valyala/fasthttp/compat/internal/serving"
)

const nginxConf = process.NginxHead + `
	access_log off;
	keepalive_requests 100000;
	gzip on;
	gzip_types text/plain;
	server {
		listen 127.0.0.1:PORT backlog=1024;
		root files;
		default_type text/plain;
		add_header X-Connection $connection;
		add_header X-Number $connection_requests;
		location /number/ { return 200 "$request_uri"; }
		location /limited/ { keepalive_requests 7; return 200 "$request_uri"; }
		location /redirect { return 302 /number/redirected; }
		location /204 { return 204; }
		location /upload/ { dav_methods PUT DELETE; }
	}
}
`

// nginx starts an nginx that serves the file text, 100 lines, and the file large,
// 3 MiB, and returns its address.
func nginx(t *testing.T) string {
	cmd := process.Command(t, "a peer", "nginx", process.NginxArgs...)
	cmd.Dir = t.TempDir()
	addr := "127.0.0.1:" + process.FreePort(t)
	process.WriteFiles(t, cmd.Dir, map[string]string{
		"conf":          strings.Replace(nginxConf, "127.0.0.1:PORT", addr, 1),
		"files/text":    strings.Repeat("a line of text\n", 100),
		"files/large":   string(largeFile()),
		"files/upload/": "",
		"temp/":         "",
	})
	process.Launch(t, cmd)
	process.AwaitListener(t, addr)
	return addr
}

func largeFile() []byte { return bytes.Repeat([]byte("0123456789ab"), 1<<18) }

func TestNginxServesFiles(t *testing.T) {
	c := newCaller(t, nginx(t))
	text := strings.Repeat("a line of text\n", 100)

	c.prepare("GET", "/text")
	c.do(c.client)
	c.is(200, text)
	first, tag := c.number("X-Connection"), string(c.resp.Header.Peek("Etag"))

	c.prepare("HEAD", "/text")
	c.do(c.client)
	c.is(200, "")
	if n := c.resp.Header.ContentLength(); n != len(text) {
		t.Errorf("Content-Length of HEAD is %d, want %d", n, len(text))
	}

	c.prepare("GET", "/text")
	c.req.Header.Set("If-None-Match", tag)
	c.do(c.client)
	c.is(304, "")

	// nginx encodes while it sends, in chunks
	c.prepare("GET", "/text")
	c.req.Header.Set("Accept-Encoding", "gzip")
	c.do(c.client)
	c.hasField("Content-Encoding", "gzip")
	if body, err := c.resp.BodyUncompressed(); err != nil || string(body) != text {
		t.Errorf("got %d bytes, %v, want the %d of the text", len(body), err, len(text))
	}

	c.prepare("GET", "/204")
	c.do(c.client)
	c.is(204, "")

	c.prepare("GET", "/large")
	c.do(c.client)
	c.is(200, string(largeFile()))

	c.prepare("GET", "/redirect")
	if err := c.client.DoRedirects(c.req, c.resp, 2); err != nil {
		t.Fatal(err)
	}
	c.is(200, "/number/redirected")
	if n := c.number("X-Connection"); n != first {
		t.Errorf("the last request went out on connection %d, the first on %d", n, first)
	}

	c.prepare("GET", "/large")
	c.resp.StreamBody = true
	c.do(c.client)
	if body, err := io.ReadAll(c.resp.BodyStream()); err != nil || !bytes.Equal(body, largeFile()) {
		t.Errorf("the stream has %d bytes, %v", len(body), err)
	}
	if err := c.resp.CloseBodyStream(); err != nil {
		t.Error(err)
	}
}

func TestNginxTakesUploads(t *testing.T) {
	c := newCaller(t, nginx(t))
	for framing, set := range map[string]func(){
		"length":  func() { c.req.SetBody(largeFile()) },
		"chunked": func() { c.req.SetBodyStream(bytes.NewReader(largeFile()), -1) },
	} {
		c.prepare("PUT", "/upload/"+framing)
		set()
		c.do(c.client)
		if got := c.resp.StatusCode(); got != 201 {
			t.Errorf("%s: got %d, want 201", framing, got)
		}
		c.prepare("GET", "/upload/"+framing)
		c.do(c.client)
		c.is(200, string(largeFile()))
	}
}

func TestNginxAnswersPipelines(t *testing.T) {
	addr := nginx(t)
	client := &fasthttp.PipelineClient{Addr: addr, ReadTimeout: process.Patience, WriteTimeout: process.Patience}
	connections := make([]string, 300)
	pipeline(t, addr, client, len(connections), func(i int, req *fasthttp.Request) {
		req.SetRequestURI(fmt.Sprintf("http://%s/number/%d", addr, i))
	}, func(i int, resp *fasthttp.Response) string {
		connections[i] = string(resp.Header.Peek("X-Connection"))
		if got := string(resp.Body()); got != fmt.Sprintf("/number/%d", i) {
			return fmt.Sprintf("got %q", got)
		}
		return ""
	})
	for i, n := range connections {
		if n != connections[0] {
			t.Fatalf("call %d went out on connection %s, call 0 on %s", i, n, connections[0])
		}
	}
}

// nginx ends each connection after seven requests, while the other requests of the
// pipeline are on their way.
func TestNginxMayEndPipelines(t *testing.T) {
	serving.SkipOriginal(t, "v1.77.0 fails the calls after the end")
	addr := nginx(t)
	client := &fasthttp.PipelineClient{Addr: addr, ReadTimeout: process.Patience, WriteTimeout: process.Patience}
	pipeline(t, addr, client, 100, func(i int, req *fasthttp.Request) {
		req.SetRequestURI(fmt.Sprintf("http://%s/limited/%d", addr, i))
	}, func(i int, resp *fasthttp.Response) string {
		if got := string(resp.Body()); got != fmt.Sprintf("/limited/%d", i) {
			return fmt.Sprintf("got %q", got)
		}
		return ""
	})
}

// Command app is a small application, written as the documentation of v1.77.0 suggests:
// routes, sessions in cookies, a form with files, an API, static files, a proxy to a second
// server. It is served over TCP, used through a client, and prints the client's observations.
package main

import (
	"bytes"
	"fmt"
	"log"
	"mime/multipart"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

func main() {
	defer report.Flush()
	dir, err := os.MkdirTemp("", "app")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := plant(dir); err != nil {
		log.Fatal(err)
	}
	backend := &fasthttp.Server{Handler: backendHandler, Name: "backend"}
	backendAddr := start(backend)
	app := &application{sessions: newSessions(), uploads: dir, backend: "http://" + backendAddr}
	app.files = (&fasthttp.FS{Root: filepath.Join(dir, "static"), IndexNames: []string{"index.html"}, PathRewrite: fasthttp.NewPathSlashesStripper(1), AcceptByteRange: true}).NewRequestHandler()
	server := &fasthttp.Server{Handler: fasthttp.CompressHandler(app.handle), Name: "app", MaxRequestBodySize: 1 << 20, ReadTimeout: time.Minute}
	u := &user{base: "http://" + start(server), client: &fasthttp.Client{Name: "browser", ReadTimeout: time.Minute}}

	visit(u)
	report.Run("shutdown", func(c *report.Case) {
		u.client.CloseIdleConnections()
		app.client.CloseIdleConnections()
		c.Err("app", server.Shutdown())
		c.Err("backend", backend.Shutdown())
		c.Val("open", server.GetOpenConnectionsCount())
	})
}

func plant(dir string) error {
	old := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	for name, text := range map[string]string{"static/index.html": "<h1>welcome</h1>", "static/app.css": strings.Repeat("body { margin: 0 }\n", 40), "static/data/list.json": `{"list":[1,2,3]}`} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
		if err := os.Chtimes(path, old, old); err != nil {
			return err
		}
	}
	return nil
}

// start serves on a free port and returns the address.
func start(s *fasthttp.Server) string {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		if err := s.Serve(ln); err != nil {
			log.Fatal(err)
		}
	}()
	return ln.Addr().String()
}

// user is a client that keeps its cookies.
type user struct {
	base    string
	client  *fasthttp.Client
	cookies map[string]string
}

// do sends a request and prints the response.
func (u *user) do(name, method, path string, set func(req *fasthttp.Request)) {
	report.Run(name, func(c *report.Case) {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.SetRequestURI(u.base + path)
		req.Header.SetMethod(method)
		for key, value := range report.Sorted(u.cookies) {
			req.Header.SetCookie(key, value)
		}
		if set != nil {
			set(req)
		}
		if err := u.client.DoTimeout(req, resp, time.Minute); err != nil {
			c.Err("err", err)
			return
		}
		c.Val("status", resp.StatusCode())
		if strings.HasPrefix(path, "/static/") {
			c.Bytes("Last-Modified", resp.Header.Peek("Last-Modified"))
		}
		for _, field := range []string{"Content-Type", "Content-Encoding", "Content-Length", "Content-Range", "Allow", "Server", "X-Request", "Location"} {
			c.Str(field, strings.ReplaceAll(string(resp.Header.Peek(field)), u.base, "BASE"))
		}
		body, err := resp.BodyUncompressed()
		c.Err("body-err", err)
		c.Str("body", strings.ReplaceAll(string(body), u.base, "BASE"))
		for _, value := range resp.Header.Cookies() {
			u.keep(c, value)
		}
	})
}

// keep handles a cookie as a browser does.
func (u *user) keep(c *report.Case, value []byte) {
	cookie := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(cookie)
	if err := cookie.ParseBytes(value); err != nil {
		c.Err("cookie-err", err)
		return
	}
	c.Str("cookie", fmt.Sprintf("%s path=%s httponly=%v samesite=%v expired=%v", cookie.Key(), cookie.Path(), cookie.HTTPOnly(), cookie.SameSite(), cookie.Expire().Equal(fasthttp.CookieExpireDelete)))
	if cookie.Expire().Equal(fasthttp.CookieExpireDelete) {
		delete(u.cookies, string(cookie.Key()))
		return
	}
	if u.cookies == nil {
		u.cookies = map[string]string{}
	}
	u.cookies[string(cookie.Key())] = string(cookie.Value())
}

// visit uses all parts of the application.
func visit(u *user) {
	form := func(pairs ...string) func(*fasthttp.Request) {
		return func(req *fasthttp.Request) {
			req.Header.SetContentType("application/x-www-form-urlencoded")
			for i := 0; i < len(pairs); i += 2 {
				req.PostArgs().Add(pairs[i], pairs[i+1])
			}
		}
	}
	field := func(name, value string) func(*fasthttp.Request) {
		return func(req *fasthttp.Request) { req.Header.Set(name, value) }
	}
	u.do("home", "GET", "/", nil)
	u.do("home/head", "HEAD", "/", nil)
	u.do("home/gzip", "GET", "/about", field("Accept-Encoding", "gzip"))
	u.do("hello", "GET", "/hello/w%C3%B6rld?greeting=good+day&times=2", nil)
	u.do("hello/bad", "GET", "/hello/x?times=many", nil)
	u.do("missing", "GET", "/missing", nil)
	u.do("wrong-method", "DELETE", "/login", nil)
	u.do("private/before", "GET", "/private", nil)
	u.do("login/wrong", "POST", "/login", form("user", "ann", "password", "guess"))
	u.do("login", "POST", "/login", form("user", "ann", "password", "secret & safe"))
	u.do("private", "GET", "/private", nil)
	u.do("private/again", "GET", "/private", nil)
	u.do("upload", "POST", "/upload", upload(map[string]string{"a.txt": "first", "b.bin": "\x00\x01\x02", "empty": ""}))
	u.do("upload/none", "POST", "/upload", upload(nil))
	u.do("upload/no-form", "POST", "/upload", form("a", "b"))
	u.do("uploaded", "GET", "/uploaded/a.txt", nil)
	u.do("uploaded/escape", "GET", "/uploaded/..%2f..%2fetc%2fpasswd", nil)
	u.do("json", "PUT", "/api/items/7", func(req *fasthttp.Request) {
		req.Header.SetContentType("application/json")
		req.SetBodyString(`{"name":"seven"}`)
	})
	u.do("json/get", "GET", "/api/items/7", nil)
	u.do("json/none", "GET", "/api/items/8", nil)
	u.do("json/bad", "PUT", "/api/items/x", nil)
	u.do("static", "GET", "/static/", nil)
	u.do("static/css", "GET", "/static/app.css", field("Accept-Encoding", "gzip"))
	u.do("static/json", "GET", "/static/data/list.json", nil)
	u.do("static/range", "GET", "/static/app.css", field("Range", "bytes=5-14"))
	u.do("static/no-range", "GET", "/static/app.css", field("Range", "bytes=99999-"))
	u.do("static/fresh", "GET", "/static/app.css", field("If-Modified-Since", "Mon, 06 May 2024 07:08:09 GMT"))
	u.do("static/missing", "GET", "/static/none", nil)
	u.do("static/dots", "GET", "/static/../../secret", nil)
	u.do("proxy", "GET", "/proxy/echo?x=1", field("X-Own", "value"))
	u.do("proxy/post", "POST", "/proxy/echo", func(req *fasthttp.Request) { req.SetBodyString("through the proxy") })
	u.do("proxy/missing", "GET", "/proxy/nothing", nil)
	u.do("stream", "GET", "/stream?n=5", nil)
	u.do("slow", "GET", "/slow", nil)
	close(over)
	u.do("redirect", "GET", "/old?keep=this", nil)
	report.Run("redirect/followed", func(c *report.Case) {
		status, body, err := u.client.Get(nil, u.base+"/old?keep=this")
		c.Val("got", fmt.Sprint(status, " ", string(body), " ", err))
	})
	u.do("logout", "POST", "/logout", nil)
	u.do("private/after", "GET", "/private", nil)
	u.do("stats", "GET", "/stats", nil)
}

// upload makes a form with files.
func upload(files map[string]string) func(*fasthttp.Request) {
	return func(req *fasthttp.Request) {
		var buf bytes.Buffer
		w := multipart.NewWriter(&buf)
		_ = w.WriteField("comment", "for you")
		for name, text := range report.Sorted(files) {
			part, err := w.CreateFormFile("files", name)
			if err != nil {
				panic(err)
			}
			_, _ = part.Write([]byte(text))
		}
		_ = w.Close()
		req.Header.SetContentType(w.FormDataContentType())
		req.SetBody(buf.Bytes())
	}
}

// Command client reports the requests that clients send and how they handle responses:
// requests as they are written, responses of all kinds, connections that are kept or not,
// retries, redirects and errors.
package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/compat/internal/report"
)

func main() {
	defer report.Flush()
	runRequests()
	runResponses()
	runRedirects()
	runRetries()
	runErrors()
	runHosts()
}

const ok = "HTTP/1.1 200 OK\r\nContent-Type: text/x\r\nContent-Length: 2\r\n\r\nok"

// requests are ways to build a request.
var requests = []struct {
	name  string
	setup func(hc *fasthttp.HostClient, req *fasthttp.Request)
}{
	{"get", func(*fasthttp.HostClient, *fasthttp.Request) {}},
	{"head", func(_ *fasthttp.HostClient, req *fasthttp.Request) { req.Header.SetMethod("HEAD") }},
	{"post", func(_ *fasthttp.HostClient, req *fasthttp.Request) {
		req.Header.SetMethod("POST")
		req.SetBodyString("body")
	}},
	{"post-empty", func(_ *fasthttp.HostClient, req *fasthttp.Request) { req.Header.SetMethod("POST") }},
	{"post-args", func(_ *fasthttp.HostClient, req *fasthttp.Request) {
		req.Header.SetMethod("POST")
		req.Header.SetContentType("application/x-www-form-urlencoded")
		req.PostArgs().Set("a", "b c")
	}},
	{"post-stream", func(_ *fasthttp.HostClient, req *fasthttp.Request) {
		req.Header.SetMethod("POST")
		req.SetBodyStream(strings.NewReader("stream"), 6)
	}},
	{"post-chunked", func(_ *fasthttp.HostClient, req *fasthttp.Request) {
		req.Header.SetMethod("POST")
		req.SetBodyStream(strings.NewReader("stream"), -1)
	}},
	{"put-large", func(_ *fasthttp.HostClient, req *fasthttp.Request) {
		req.Header.SetMethod("PUT")
		req.SetBodyString(strings.Repeat("0123456789", 5000))
	}},
	{"get-body", func(_ *fasthttp.HostClient, req *fasthttp.Request) { req.SetBodyString("body") }},
	{"user-agent", func(_ *fasthttp.HostClient, req *fasthttp.Request) { req.Header.SetUserAgent("own") }},
	{"name", func(hc *fasthttp.HostClient, _ *fasthttp.Request) { hc.Name = "named" }},
	{"no-user-agent", func(hc *fasthttp.HostClient, _ *fasthttp.Request) { hc.NoDefaultUserAgentHeader = true }},
	{"close", func(_ *fasthttp.HostClient, req *fasthttp.Request) { req.SetConnectionClose() }},
	{"path-normalised", func(_ *fasthttp.HostClient, req *fasthttp.Request) {
		req.SetRequestURI("http://example.com//a/./b/../c%20d?e=f#g")
	}},
	{"path-kept", func(hc *fasthttp.HostClient, req *fasthttp.Request) {
		hc.DisablePathNormalizing = true
		req.SetRequestURI("http://example.com//a/./b/../c%20d?e=f#g")
	}},
	{"names-kept", func(hc *fasthttp.HostClient, req *fasthttp.Request) {
		hc.DisableHeaderNamesNormalizing = true
		req.Header.Set("x-own", "1")
	}},
	{"userinfo", func(_ *fasthttp.HostClient, req *fasthttp.Request) {
		req.SetRequestURI("http://me:secret@example.com/")
	}},
	{"host-header", func(_ *fasthttp.HostClient, req *fasthttp.Request) {
		req.Header.SetHost("other.test")
		req.UseHostHeader = true
	}},
	{"host-ignored", func(_ *fasthttp.HostClient, req *fasthttp.Request) { req.Header.SetHost("other.test") }},
	{"uri-changed", func(_ *fasthttp.HostClient, req *fasthttp.Request) {
		req.URI().SetPath("/changed")
		req.URI().QueryArgs().Set("q", "1")
	}},
	{"cookies", func(_ *fasthttp.HostClient, req *fasthttp.Request) {
		req.Header.SetCookie("a", "1")
		req.Header.SetCookie("b", "2")
	}},
	{"injection", func(_ *fasthttp.HostClient, req *fasthttp.Request) {
		req.Header.Set("X-Own", "a\r\nX-Injected: b")
		req.Header.SetUserAgent("a\r\nX-Injected: b")
	}},
}

func runRequests() {
	for _, tt := range requests {
		p := &peer{answer: always(ok)}
		hc := &fasthttp.HostClient{Addr: "example.com:80", Dial: p.dial}
		var req fasthttp.Request
		var resp fasthttp.Response
		req.SetRequestURI("http://example.com/path?query=1")
		tt.setup(hc, &req)
		report.Run("request/"+tt.name, func(c *report.Case) {
			c.Err("err", hc.Do(&req, &resp))
			c.Str("wire", p.requests())
			c.Str("body", string(resp.Body()))
			c.Str("method", string(req.Header.Method()))
			c.Str("uri", req.URI().String())
			c.Str("agent", string(req.Header.UserAgent()))
		})
		hc.CloseIdleConnections()
		p.running.Wait()
	}
}

// responses are the responses of a server. closes is set if the server then closes the
// connection.
var responses = []struct {
	name     string
	method   string
	response string
	closes   bool
}{
	{"plain", "GET", ok, false},
	{"plain-closed", "GET", ok, true},
	{"close", "GET", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", true},
	{"http10", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", true},
	{"http10-keep", "GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", false},
	{"chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", false},
	{"trailers", "GET", "HTTP/1.1 200 OK\r\nTrailer: X-End\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-End: yes\r\n\r\n", false},
	{"until-close", "GET", "HTTP/1.1 200 OK\r\n\r\nall of it", true},
	{"empty", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false},
	{"204", "GET", "HTTP/1.1 204 No Content\r\n\r\n", false},
	{"304", "GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", false},
	{"head", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false},
	{"100", "GET", "HTTP/1.1 100 Continue\r\n\r\n" + ok, false},
	{"103", "GET", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + ok, false},
	{"404", "GET", "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno", false},
	{"reason", "GET", "HTTP/1.1 299 Some Reason\r\nContent-Length: 0\r\n\r\n", false},
	{"no-reason", "GET", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", false},
	{"cookies", "GET", "HTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2; Path=/\r\nContent-Length: 0\r\n\r\n", false},
	{"surplus", "GET", ok + "surplus", false},
	{"large-head", "GET", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("v", 8000) + "\r\nContent-Length: 2\r\n\r\nok", false},
	{"nothing", "POST", "", true},
	{"half-head", "POST", "HTTP/1.1 200 OK\r\nContent-Le", true},
	{"half-body", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", true},
	{"half-chunks", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", true},
	{"bad-chunks", "POST", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", true},
	{"garbage", "POST", "garbage\r\n\r\n", true},
	{"two-lengths", "POST", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok", true},
}

func runResponses() {
	for _, tt := range responses {
		for _, stream := range []bool{false, true} {
			p := &peer{answer: always(tt.response)}
			if tt.closes {
				p.answer = closing(tt.response)
			}
			hc := &fasthttp.HostClient{Addr: "example.com:80", Dial: p.dial}
			name := "response/" + tt.name
			if stream {
				name += "/stream"
			}
			report.Run(name, func(c *report.Case) {
				// twice, to see whether the connection is kept
				for i := range 2 {
					var req fasthttp.Request
					var resp fasthttp.Response
					resp.StreamBody = stream
					req.Header.SetMethod(tt.method)
					req.SetRequestURI("http://example.com/")
					err := hc.Do(&req, &resp)
					n := fmt.Sprint(i)
					c.Err("err"+n, err)
					if err == nil {
						c.Str("status"+n, fmt.Sprint(resp.StatusCode(), " ", string(resp.Header.StatusMessage())))
						var body strings.Builder
						c.Err("body-err"+n, resp.BodyWriteTo(&body))
						c.Str("body"+n, body.String())
						c.Str("length"+n, fmt.Sprint(resp.Header.ContentLength()))
						c.Str("closes"+n, fmt.Sprint(resp.ConnectionClose()))
						c.Str("trailer"+n, string(resp.Header.Peek("X-End")))
						c.Str("skip"+n, fmt.Sprint(resp.SkipBody))
					}
					_ = resp.CloseBodyStream()
				}
				c.Str("connections", fmt.Sprint(p.connections()))
				c.Str("idle", fmt.Sprint(hc.IdleConnsCount(), " of ", hc.ConnsCount()))
			})
			hc.CloseIdleConnections()
			p.running.Wait()
		}
	}
}

func runRedirects() {
	for _, status := range []int{301, 302, 303, 304, 307, 308} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE"} {
			p := &peer{answer: func(_ int, req *http.Request) (string, bool) {
				if req.URL.Path != "/from" {
					return "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false
				}
				return fmt.Sprintf("HTTP/1.1 %d Moved\r\nLocation: /to?x=y\r\nContent-Length: 0\r\n\r\n", status), false
			}}
			client := &fasthttp.Client{Dial: p.dial}
			report.Run(fmt.Sprintf("redirect/%d/%s", status, method), func(c *report.Case) {
				var req fasthttp.Request
				var resp fasthttp.Response
				req.Header.SetMethod(method)
				req.SetRequestURI("http://example.com/from")
				if method != "GET" && method != "HEAD" {
					req.SetBodyString("body")
				}
				c.Err("err", client.DoRedirects(&req, &resp, 3))
				c.Str("wire", p.requests())
				c.Str("uri", req.URI().String())
				c.Str("status", fmt.Sprint(resp.StatusCode()))
			})
			client.CloseIdleConnections()
			p.running.Wait()
		}
	}
	for name, location := range report.Sorted(map[string]string{
		"absolute": "http://example.com/to", "other-host": "http://other.test/to", "other-port": "http://example.com:8080/to",
		"relative": "to", "query": "?to", "parent": "../to", "fragment": "/to#part", "none": "", "scheme": "ftp://example.com/to", "space": "/t o",
	}) {
		p := &peer{answer: func(n int, _ *http.Request) (string, bool) {
			if n > 0 {
				return ok, false
			}
			return "HTTP/1.1 302 Found\r\nLocation: " + location + "\r\nContent-Length: 0\r\n\r\n", false
		}}
		client := &fasthttp.Client{Dial: p.dial}
		report.Run("location/"+name, func(c *report.Case) {
			var req fasthttp.Request
			var resp fasthttp.Response
			req.SetRequestURI("http://example.com/a/b/from")
			req.Header.Set("Authorization", "secret")
			req.Header.SetCookie("c", "secret")
			req.Header.Set("X-Own", "1")
			c.Err("err", client.DoRedirects(&req, &resp, 3))
			c.Str("wire", p.requests())
		})
		client.CloseIdleConnections()
		p.running.Wait()
	}
	report.Run("redirect/loop", func(c *report.Case) {
		p := &peer{answer: always("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")}
		client := &fasthttp.Client{Dial: p.dial}
		_, _, err := client.Get(nil, "http://example.com/")
		c.Str("too many", fmt.Sprint(errors.Is(err, fasthttp.ErrTooManyRedirects)))
		c.Str("requests", fmt.Sprint(strings.Count(p.requests(), "GET ")))
		client.CloseIdleConnections()
	})
}

func runRetries() {
	for _, method := range []string{"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH"} {
		for _, attempts := range []int{0, 1, 3} {
			p := &peer{answer: closing("")}
			hc := &fasthttp.HostClient{Addr: "example.com:80", Dial: p.dial, MaxIdemponentCallAttempts: attempts}
			report.Run(fmt.Sprintf("retry/%s/%d", method, attempts), func(c *report.Case) {
				var req fasthttp.Request
				req.Header.SetMethod(method)
				req.SetRequestURI("http://example.com/")
				err := hc.Do(&req, nil)
				c.Str("closed", fmt.Sprint(err == fasthttp.ErrConnectionClosed))
				c.Str("attempts", fmt.Sprint(p.connections()))
			})
			p.running.Wait()
		}
	}
	for _, again := range []bool{true, false} {
		p := &peer{answer: closing("")}
		hc := &fasthttp.HostClient{Addr: "example.com:80", Dial: p.dial}
		report.Run(fmt.Sprint("retry/hook/", again), func(c *report.Case) {
			var asked []string
			hc.RetryIfErr = func(_ *fasthttp.Request, attempts int, err error) (bool, bool) {
				asked = append(asked, fmt.Sprint(attempts, " ", report.ErrClass(err)))
				return false, again
			}
			var req fasthttp.Request
			req.Header.SetMethod("POST")
			req.SetRequestURI("http://example.com/")
			err := hc.Do(&req, nil)
			c.Str("closed", fmt.Sprint(err == fasthttp.ErrConnectionClosed))
			c.Str("asked", strings.Join(asked, ", "))
		})
		p.running.Wait()
	}
}

func runErrors() {
	down := errors.New("down")
	for name, uri := range report.Sorted(map[string]string{
		"scheme": "ftp://example.com/", "no-host": "/path", "other-scheme": "https://example.com/", "bad-port": "http://example.com:99999/",
	}) {
		report.Run("error/"+name, func(c *report.Case) {
			hc := &fasthttp.HostClient{Addr: "example.com:80", Dial: func(string) (net.Conn, error) { return nil, down }}
			client := &fasthttp.Client{Dial: hc.Dial}
			var req fasthttp.Request
			req.SetRequestURI(uri)
			c.Str("client", fmt.Sprint(client.Do(&req, nil) != nil))
			req.SetRequestURI(uri)
			err := hc.Do(&req, nil)
			c.Str("host client", fmt.Sprint(err != nil, " ", err == fasthttp.ErrHostClientRedirectToDifferentScheme))
		})
	}
	report.Run("error/dial", func(c *report.Case) {
		hc := &fasthttp.HostClient{Addr: "example.com:80", Dial: func(string) (net.Conn, error) { return nil, down }}
		var req fasthttp.Request
		req.SetRequestURI("http://example.com/")
		c.Str("cause", fmt.Sprint(errors.Is(hc.Do(&req, nil), down)))
		c.Str("connections", fmt.Sprint(hc.ConnsCount()))
	})
	report.Run("error/timeout", func(c *report.Case) {
		p := &peer{answer: always("")}
		hc := &fasthttp.HostClient{Addr: "example.com:80", Dial: p.dial}
		var req fasthttp.Request
		var resp fasthttp.Response
		req.SetRequestURI("http://example.com/")
		c.Str("timeout", fmt.Sprint(hc.DoTimeout(&req, &resp, 30*time.Millisecond) == error(fasthttp.ErrTimeout)))
		c.Str("negative", fmt.Sprint(hc.DoTimeout(&req, &resp, -1) == error(fasthttp.ErrTimeout)))
		c.Str("zero", fmt.Sprint(hc.DoTimeout(&req, &resp, 0) == error(fasthttp.ErrTimeout)))
		c.Str("past", fmt.Sprint(hc.DoDeadline(&req, &resp, time.Now().Add(-time.Second)) == error(fasthttp.ErrTimeout)))
		c.Str("connections", fmt.Sprint(hc.ConnsCount()))
		c.Str("net error text", fasthttp.ErrTimeout.Error())
	})
	report.Run("error/too-large", func(c *report.Case) {
		p := &peer{answer: always(ok)}
		hc := &fasthttp.HostClient{Addr: "example.com:80", Dial: p.dial, MaxResponseBodySize: 1}
		_, _, err := hc.Get(nil, "http://example.com/")
		c.Err("err", err)
		c.Str("requests", fmt.Sprint(p.connections(), " ", hc.ConnsCount()))
	})
}

func runHosts() {
	for name, uris := range report.Sorted(map[string][]string{
		"default-port": {"http://a.test/", "http://a.test:80/"},
		"case":         {"http://a.test/", "http://A.TEST/"},
		"ports":        {"http://a.test/", "http://a.test:81/"},
		"ipv6":         {"http://[::1]/", "http://[::1]:8080/"},
	}) {
		report.Run("host/"+name, func(c *report.Case) {
			p := &peer{answer: always(ok)}
			client := &fasthttp.Client{Dial: p.dial, ConfigureClient: func(hc *fasthttp.HostClient) error {
				if hc.Addr == "" {
					return errors.New("no address")
				}
				return nil
			}}
			for _, uri := range uris {
				status, body, err := client.Get(nil, uri)
				c.Err("err "+uri, err)
				c.Str("got "+uri, fmt.Sprint(status, " ", string(body)))
			}
			c.Str("dialed", strings.Join(p.dialed, ","))
			c.Str("wire", p.requests())
			client.CloseIdleConnections()
		})
	}
}

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/compat/internal/report"
)

func runRetries() {
	for name, answer := range report.Sorted(map[string]string{
		"garbage":     "garbage\r\n\r\n",
		"half-head":   "HTTP/1.1 200 OK\r\nContent-Le",
		"half-body":   "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
		"bad-status":  "HTTP/1.1 xyz OK\r\n\r\n",
		"bad-length":  "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		"bad-chunks":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"two-lengths": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nok",
		"bad-field":   "HTTP/1.1 200 OK\r\nfield\r\n\r\n",
		"too-large":   "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + strings.Repeat("x", 200),
		"closed":      "",
		"silent":      "",
	}) {
		for _, method := range []string{"GET", "POST"} {
			for hook, set := range report.Sorted(map[string]func(hc *fasthttp.HostClient, asked *int){
				"none": func(*fasthttp.HostClient, *int) {},
				"always": func(hc *fasthttp.HostClient, asked *int) {
					hc.RetryIf = func(*fasthttp.Request) bool { *asked++; return true }
				},
				"never": func(hc *fasthttp.HostClient, asked *int) {
					hc.RetryIf = func(*fasthttp.Request) bool { *asked++; return false }
				},
				"err": func(hc *fasthttp.HostClient, asked *int) {
					hc.RetryIfErr = func(*fasthttp.Request, int, error) (bool, bool) { *asked++; return false, true }
				},
			}) {
				if name == "silent" && hook == "none" {
					continue
				}
				report.Run("retry/"+name+"/"+method+"/"+hook, func(c *report.Case) {
					s := &server{answer: always(answer)}
					switch name {
					case "silent":
						over := make(chan struct{})
						defer close(over)
						s.answer = func(int) string { <-over; return "" }
						s.wrap = func(c net.Conn) net.Conn { return &expiring{Conn: c} }
					case "half-head", "half-body":
						s.wrap = func(c net.Conn) net.Conn { return &expiring{Conn: c, rest: len(answer)} }
					}
					hc := s.client()
					hc.MaxIdemponentCallAttempts = 3
					hc.MaxResponseBodySize = 100
					hc.ReadTimeout = time.Minute
					asked := 0
					set(hc, &asked)
					var req fasthttp.Request
					var resp fasthttp.Response
					req.Header.SetMethod(method)
					req.SetRequestURI("http://name.test/")
					err := hc.Do(&req, &resp)
					c.Val("ok", err == nil)
					c.Str("~err", fmt.Sprint(err))
					c.Val("asked", asked)
					c.Val("attempts", s.dialed())
				})
			}
		}
	}
}

// expiring is a connection whose read deadline passes once rest bytes have been read.
type expiring struct {
	net.Conn
	rest int
}

func (e *expiring) Read(p []byte) (int, error) {
	if e.rest == 0 {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := e.Conn.Read(p[:min(len(p), e.rest)])
	e.rest -= n
	return n, err
}

func runRedirects() {
	redirect := func(status int, location string) string {
		return fmt.Sprintf("HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", status, location)
	}
	for name, answers := range report.Sorted(map[string][]string{
		"303-307": {redirect(303, "/b"), redirect(307, "/c")},
		"303-308": {redirect(303, "/b"), redirect(308, "/c")},
		"302-307": {redirect(302, "/b"), redirect(307, "/c")},
		"301-307": {redirect(301, "/b"), redirect(307, "/c")},
		"307":     {redirect(307, "/b")},
		"307-303": {redirect(307, "/b"), redirect(303, "/c")},
		"303":     {redirect(303, "/b")},
		// invalid locations
		"bad-port":   {redirect(302, "http://name.test:99999/b")},
		"letters":    {redirect(302, "http://name.test:port/b")},
		"bad-host":   {redirect(302, "http://na me.test/b")},
		"bad-quote":  {redirect(302, "http://na\"me.test/b")},
		"bracket":    {redirect(302, "http://[::1/b")},
		"bad-escape": {redirect(302, "http://na%zzme.test/b")},
		"user":       {redirect(302, "http://u:p@name.test/b")},
		"bad-user":   {redirect(302, "http://u\\:p@name.test/b")},
		"two-ports":  {redirect(302, "http://name.test:80:80/b")},
	}) {
		for _, kind := range []string{"stream", "body", "none"} {
			for _, method := range []string{"POST", "PUT"} {
				report.Run("redirect/"+name+"/"+kind+"/"+method, func(c *report.Case) {
					s := &server{answer: inTurn(answers...)}
					client := &fasthttp.Client{Dial: s.dial}
					var req fasthttp.Request
					var resp fasthttp.Response
					req.Header.SetMethod(method)
					req.SetRequestURI("http://name.test/a")
					switch kind {
					case "stream":
						req.SetBodyStream(bytes.NewReader([]byte("body")), 4)
					case "body":
						req.SetBodyString("body")
					}
					err := client.DoRedirects(&req, &resp, 5)
					c.Val("ok", err == nil)
					c.Val("stream", err == fasthttp.ErrRedirectBodyStream)
					c.Str("~err", fmt.Sprint(err))
					var lines []string
					for _, r := range s.requests() {
						line, _, found := strings.Cut(r, "\r\n")
						if found && strings.Contains(line, "HTTP/1.1") {
							lines = append(lines, line)
						}
					}
					c.Str("lines", strings.Join(lines, ", "))
					c.Str("host", string(req.URI().Host()))
					c.Str("path", string(req.URI().Path()))
				})
			}
		}
	}
}

package main

import (
	"io"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/fake"
	"github.com/valyala/fasthttp/compat/internal/report"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"golang.org/x/net/http/httpproxy"
)

func runProxies() {
	const yes = "HTTP/1.1 200 OK\r\n\r\n"
	for _, in := range []struct{ name, proxy, target, answer string }{
		{"name", "PROXY", "name.test:80", yes},
		{"url", "http://PROXY", "name.test:443", yes},
		{"ipv6", "PROXY", "[2001:db8::1]:443", yes},
		{"local", "PROXY", "localhost:80", yes},
		{"credentials", "user:pass@PROXY", "name.test:80", yes},
		{"escaped-credentials", "http://u%40h:p%3Ax@PROXY", "name.test:80", yes},
		{"user-only", "user@PROXY", "name.test:80", yes},
		{"empty-password", "user:@PROXY", "name.test:80", yes},
		{"target-without-port", "PROXY", "name.test", yes},
		{"target-with-space", "PROXY", "na me.test:80", yes},
		{"target-with-line", "PROXY", "name.test:80\r\nX: y", yes},
		{"forbidden", "PROXY", "name.test:80", "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno"},
		{"created", "PROXY", "name.test:80", "HTTP/1.1 201 Created\r\n\r\n"},
		{"http10", "PROXY", "name.test:80", "HTTP/1.0 200 OK\r\n\r\n"},
		{"hint", "PROXY", "name.test:80", "HTTP/1.1 100 Continue\r\n\r\n" + yes},
		{"early", "PROXY", "name.test:80", yes + "early bytes"},
		{"garbage", "PROXY", "name.test:80", "garbage\r\n\r\n"},
		{"socks", "socks5://PROXY", "name.test:80", "\x05\xff"},
		{"unknown-scheme", "ftp://PROXY", "name.test:80", yes},
	} {
		report.Run("proxy/"+in.name, func(c *report.Case) {
			addr, got := fake.Proxy(in.answer)
			proxy := replace(in.proxy, addr)
			conn, err := fasthttpproxy.FasthttpHTTPDialerTimeout(proxy, time.Minute)(in.target)
			c.Val("ok", err == nil)
			if err == nil {
				first, err := io.ReadAll(conn)
				c.Bytes("first", first)
				c.Err("end", err)
				_ = conn.Close()
			} else {
				c.Str("~err", unreplace(err.Error(), addr))
			}
			c.Str("asked", got())
		})
	}
	runProxyChoice()
}

func runProxyChoice() {
	for name, d := range report.Sorted(map[string]*fasthttpproxy.Dialer{
		"both":     {Config: httpproxy.Config{HTTPProxy: "PROXY", HTTPSProxy: "http://PROXY"}},
		"plain":    {Config: httpproxy.Config{HTTPProxy: "PROXY"}},
		"secure":   {Config: httpproxy.Config{HTTPSProxy: "PROXY"}},
		"excluded": {Config: httpproxy.Config{HTTPProxy: "PROXY", HTTPSProxy: "PROXY", NoProxy: "name.test"}},
	}) {
		for _, target := range []string{"name.test:80", "name.test:443", "name.test:8443"} {
			for how, get := range report.Sorted(map[string]func() (fasthttp.DialFunc, error){
				"guess":  func() (fasthttp.DialFunc, error) { return d.GetDialFunc(false) },
				"plain":  func() (fasthttp.DialFunc, error) { return d.GetDialFuncForTLS(false, false) },
				"secure": func() (fasthttp.DialFunc, error) { return d.GetDialFuncForTLS(false, true) },
			}) {
				report.Run("choice/"+name+"/"+how+"/"+target, func(c *report.Case) {
					addr, got := fake.Proxy("HTTP/1.1 200 OK\r\n\r\n")
					before := d.Config
					d.HTTPProxy, d.HTTPSProxy = replace(before.HTTPProxy, addr), replace(before.HTTPSProxy, addr)
					d.Resolver = &resolver{addresses: []string{"127.0.0.1"}}
					d.Timeout = time.Minute
					dial, err := get()
					c.Val("valid", err == nil)
					if err == nil {
						conn, err := dial(target)
						c.Val("ok", err == nil)
						if err == nil {
							_ = conn.Close()
						}
					}
					c.Str("asked", got())
					d.Config = before
				})
			}
		}
	}
}

package main

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/compat/internal/report"
)

// oddURIs are unusual and invalid URIs.
var oddURIs = []string{
	"http://name.test:99999/b", "http://name.test:port/b?q", "http://na me.test/b", "http://na\"me.test/b#f", "http://na|me.test/b",
	"http://[::1/b", "http://::1/b", "http://na%zzme.test/b", "http://name.test:80:80/b", "http://name.test:-1/b", "http://a<b>/",
	"http://u\\:p@name.test/b", "http://u[:p]@name.test/b", "http://us er:p@name.test/b", "http://user@/b",
	"http://user:p@ss@name.test/b", "http://user:p:ss@name.test/b", "http://us@er@name.test/b", "http://@name.test/b", "http://:@name.test/b",
	"http://a\x01b/c", "http://name.test/\x01", "/\x01", "\x01", "1http://name.test/b", "ht tp://name.test/b", "http://a,b/",
}

func runURIs() {
	for _, text := range oddURIs {
		for _, base := range []string{"http://base.test/a?q#f", "https://u:p@base.test:8443/a/b"} {
			report.Run("update/"+base+"/"+text, func(c *report.Case) {
				var u fasthttp.URI
				c.Err("base", u.Parse(nil, []byte(base)))
				u.Update(text)
				uri(c, &u)
			})
		}
		report.Run("update/authority/"+text, func(c *report.Case) {
			var u fasthttp.URI
			c.Err("base", u.Parse(nil, []byte("https://base.test/a")))
			u.Update(strings.TrimPrefix(text, "http:"))
			uri(c, &u)
		})
		report.Run("request/"+text, func(c *report.Case) {
			var req fasthttp.Request
			req.SetRequestURI(text)
			uri(c, req.URI())
		})
		report.Run("parse/"+text, func(c *report.Case) {
			var u fasthttp.URI
			c.Val("ok", u.Parse(nil, []byte(text)) == nil)
			uri(c, &u)
		})
		for _, form := range []string{"client", "uri-first", "updated", "host-client", "updated-host-client"} {
			report.Run("send/"+form+"/"+text, func(c *report.Case) { send(c, form, text) })
		}
	}
	for _, host := range []string{"na me.test", "a:99999", "[::1", "a\"b", "u@h", "a/b", "h:80:80"} {
		report.Run("host/"+host, func(c *report.Case) {
			var req fasthttp.Request
			req.Header.SetHost(host)
			req.SetRequestURI("/path?q")
			uri(c, req.URI())
		})
	}
}

// send sends a request to an odd URI. Only one host exists; a HostClient dials no other
// anyway.
func send(c *report.Case, form, text string) {
	s := &server{answer: always(ok)}
	hc := s.client()
	client := &fasthttp.Client{Dial: func(addr string) (net.Conn, error) {
		if addr != "name.test:80" {
			return nil, errors.New("no such host")
		}
		return s.dial(addr)
	}}
	var req fasthttp.Request
	req.SetRequestURI(text)
	do := client.Do
	switch form {
	case "uri-first":
		_ = req.URI()
	case "host-client":
		do = hc.Do
	case "updated-host-client":
		do = hc.Do
		fallthrough
	case "updated":
		req.SetRequestURI("http://base.test/a")
		req.URI().Update(text)
	}
	err := do(&req, nil)
	c.Val("ok", err == nil)
	c.Str("~err", fmt.Sprint(err))
	for _, r := range s.requests() {
		line, fields, _ := strings.Cut(r, "\r\n")
		c.Str("line", line)
		_, user, _ := strings.Cut(fields, "Authorization: ")
		user, _, _ = strings.Cut(user, "\r\n")
		c.Str("user", user)
	}
}

// uri prints the parts of a URI.
func uri(c *report.Case, u *fasthttp.URI) {
	c.Str("scheme", string(u.Scheme()))
	c.Str("user", string(u.Username())+":"+string(u.Password()))
	c.Str("host", string(u.Host()))
	c.Str("path", string(u.Path()))
	c.Str("original", string(u.PathOriginal()))
	c.Str("query", string(u.QueryString()))
	c.Str("hash", string(u.Hash()))
}

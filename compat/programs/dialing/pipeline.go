package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

// peer answers the requests of each connection with the given texts, one each, and then closes
// it. It records the requests.
type peer struct {
	ln net.Listener

	mu  sync.Mutex
	got []string
}

func startPeer(answers []string) *peer {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	p := &peer{ln: ln}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go p.serve(c, answers)
		}
	}()
	return p
}

func (p *peer) serve(c net.Conn, answers []string) {
	defer func() { _ = c.Close() }()
	r := bufio.NewReader(c)
	for _, answer := range answers {
		var req fasthttp.Request
		if req.Read(r) != nil {
			return
		}
		p.mu.Lock()
		p.got = append(p.got, req.String())
		p.mu.Unlock()
		_, _ = io.WriteString(c, answer)
	}
}

func runPipeline() {
	const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for _, in := range []struct {
		name    string
		client  *fasthttp.PipelineClient
		set     func(req *fasthttp.Request, resp *fasthttp.Response)
		answers []string
	}{
		{name: "plain", answers: []string{ok, ok}},
		{name: "named", client: &fasthttp.PipelineClient{Name: "me"}, answers: []string{ok, ok}},
		{name: "unnamed", client: &fasthttp.PipelineClient{NoDefaultUserAgentHeader: true}, answers: []string{ok, ok}},
		{name: "raw-path", client: &fasthttp.PipelineClient{DisablePathNormalizing: true}, answers: []string{ok, ok}},
		{name: "raw-names", client: &fasthttp.PipelineClient{DisableHeaderNamesNormalizing: true},
			answers: []string{"HTTP/1.1 200 OK\r\nx-lower: 1\r\ncontent-length: 2\r\n\r\nok", ok}},
		{name: "limit", client: &fasthttp.PipelineClient{MaxResponseBodySize: 1}, answers: []string{ok, ok}},
		{name: "head", set: func(req *fasthttp.Request, _ *fasthttp.Response) { req.Header.SetMethod("HEAD") },
			answers: []string{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"}},
		{name: "post", set: func(req *fasthttp.Request, _ *fasthttp.Response) {
			req.Header.SetMethod("POST")
			req.SetBodyString("body")
		}, answers: []string{ok, ok}},
		{name: "stream-body", set: func(req *fasthttp.Request, resp *fasthttp.Response) {
			req.Header.SetMethod("POST")
			req.SetBodyStream(strings.NewReader("body"), -1)
			resp.StreamBody = true
		}, answers: []string{ok, ok}},
		{name: "close", set: func(req *fasthttp.Request, _ *fasthttp.Response) { req.SetConnectionClose() }, answers: []string{ok, ok}},
		{name: "hints", answers: []string{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n" + ok, ok}},
		{name: "no-content", answers: []string{"HTTP/1.1 204 No Content\r\n\r\n", ok}},
		{name: "chunked", answers: []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", ok}},
		{name: "closing", answers: []string{"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"}},
		{name: "http10", answers: []string{"HTTP/1.0 200 OK\r\n\r\nok"}},
		{name: "until-close", answers: []string{"HTTP/1.1 200 OK\r\n\r\nok"}},
		{name: "silent", answers: nil},
		{name: "truncated", answers: []string{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok"}},
		{name: "garbage", answers: []string{"garbage\r\n\r\n"}},
	} {
		report.Run("pipeline/"+in.name, func(c *report.Case) {
			p := startPeer(in.answers)
			client := in.client
			if client == nil {
				client = &fasthttp.PipelineClient{}
			}
			client.Addr = p.ln.Addr().String()
			client.Logger = quiet{}
			client.MaxIdleConnDuration = 50 * time.Millisecond
			requests := "requests"
			for i, path := range []string{"/a/../b//c?d", "/second"} {
				field := []string{"first", "second"}[i]
				req, resp := &fasthttp.Request{}, &fasthttp.Response{}
				req.SetRequestURI("http://name.test" + path)
				if in.set != nil {
					in.set(req, resp)
				}
				err := client.DoTimeout(req, resp, time.Minute)
				c.Val(field+".ok", err == nil)
				c.Val(field+".timeout", errors.Is(err, fasthttp.ErrTimeout))
				if err != nil {
					// how often such a request is sent depends on timing
					requests = "~requests"
					c.Str("~"+field+".err", unreplace(err.Error(), client.Addr))
					continue
				}
				c.Val(field+".status", resp.StatusCode())
				c.Val(field+".stream", resp.IsBodyStream())
				c.Bytes(field+".body", resp.Body())
				c.Val(field+".close", resp.ConnectionClose())
				c.Bytes(field+".lower", resp.Header.Peek("x-lower"))
			}
			_ = p.ln.Close()
			p.mu.Lock()
			c.Str(requests, strings.Join(p.got, "|"))
			p.mu.Unlock()
			c.Val("pending", client.PendingRequests())
		})
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func replace(text, addr string) string { return strings.ReplaceAll(text, "PROXY", addr) }

func unreplace(text, addr string) string { return strings.ReplaceAll(text, addr, "PROXY") }

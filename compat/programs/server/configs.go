package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

// configInputs are tried on every configuration.
func configInputs() []input {
	return []input{
		{"get", "GET /a?b=c HTTP/1.1\r\nHost: h\r\nfoo-bar: x\r\n\r\n"},
		{"get-10", "GET /a HTTP/1.0\r\n\r\n"},
		{"get-10-ka", "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"},
		{"get-close", "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"},
		{"head", "HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"post", "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"},
		{"post-unread", "POST /unread HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"},
		{"post-empty", "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"},
		{"post-11", "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello world"},
		{"post-100", "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n" + strings.Repeat("x", 100)},
		{"post-big-unread", "POST /unread HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000)},
		{"put", "PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"},
		{"chunked", "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nFoo: bar\r\n\r\n"},
		{"chunked-unread", "POST /unread HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
		{"chunked-11", "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"},
		{"chunked-bad", "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n"},
		{"chunked-cut", "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5000\r\nhello"},
		{"expect", "POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello"},
		{"expect-11", "POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\nhello world"},
		{"form", "POST /a HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\na=b"},
		{"multipart", multipartRequest("")},
		{"garbage", "garbage\r\n\r\n"},
		{"pipelined", "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\nGET /3 HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"long-head", "GET /a HTTP/1.1\r\nHost: h\r\nFoo: " + strings.Repeat("x", 600) + "\r\n\r\n"},
		{"stream", "GET /stream-chunked HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"error", "GET /error?n=500 HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"set", "GET /set?Server=x&Date=y&Content-Type=z HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"empty", "GET /empty HTTP/1.1\r\nHost: h\r\n\r\n"},
		{"nothing", ""},
	}
}

func multipartRequest(extra string) string {
	body := "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nvalue\r\n--xx--\r\n" + extra
	return fmt.Sprintf("POST /a HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=xx\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

var errRejected = errors.New("rejected")

func configs() []config {
	return []config{
		{id: "GetOnly", set: func(s *fasthttp.Server) { s.GetOnly = true }},
		{id: "DisableKeepalive", set: func(s *fasthttp.Server) { s.DisableKeepalive = true }},
		{id: "MaxRequestsPerConn-2", set: func(s *fasthttp.Server) { s.MaxRequestsPerConn = 2 }},
		{id: "MaxRequestsPerConn-1", set: func(s *fasthttp.Server) { s.MaxRequestsPerConn = 1 }},
		{id: "MaxRequestBodySize-10", set: func(s *fasthttp.Server) { s.MaxRequestBodySize = 10 }},
		{id: "StreamRequestBody", set: func(s *fasthttp.Server) { s.StreamRequestBody = true }},
		{id: "StreamRequestBody-10", set: func(s *fasthttp.Server) { s.StreamRequestBody, s.MaxRequestBodySize = true, 10 }},
		{id: "DisableHeaderNamesNormalizing", set: func(s *fasthttp.Server) { s.DisableHeaderNamesNormalizing = true }, inputs: []input{
			{"lower", "GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\nuser-agent: u\r\nCOOKIE: a=b\r\n\r\n"},
			{"lower-post", "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 5\r\ncontent-type: a/b\r\n\r\nhello"},
			{"lower-chunked", "POST / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"},
		}},
		{id: "NoDefaultDate", set: func(s *fasthttp.Server) { s.NoDefaultDate = true }},
		{id: "NoDefaultServerHeader", set: func(s *fasthttp.Server) { s.NoDefaultServerHeader = true }},
		{id: "NoDefaultContentType", set: func(s *fasthttp.Server) { s.NoDefaultContentType = true }},
		{id: "NoDefaults", set: func(s *fasthttp.Server) {
			s.NoDefaultDate, s.NoDefaultServerHeader, s.NoDefaultContentType = true, true, true
		}},
		{id: "Name", set: func(s *fasthttp.Server) { s.Name = "my server" }},
		{id: "Name-hostile", set: func(s *fasthttp.Server) { s.Name = "a\r\nX: y" }},
		{id: "Name-no-default", set: func(s *fasthttp.Server) { s.Name, s.NoDefaultServerHeader = "n", true }},
		{id: "ReadBufferSize-512", set: func(s *fasthttp.Server) { s.ReadBufferSize = 512 }},
		{id: "WriteBufferSize-64", set: func(s *fasthttp.Server) { s.WriteBufferSize = 64 }},
		{id: "ReduceMemoryUsage", set: func(s *fasthttp.Server) { s.ReduceMemoryUsage = true }},
		{id: "DisablePreParseMultipartForm", set: func(s *fasthttp.Server) { s.DisablePreParseMultipartForm = true }},
		{id: "ContinueHandler-yes", set: func(s *fasthttp.Server) {
			s.ContinueHandler = func(*fasthttp.RequestHeader) bool { return true }
		}},
		{id: "ContinueHandler-no", set: func(s *fasthttp.Server) {
			s.ContinueHandler = func(*fasthttp.RequestHeader) bool { return false }
		}},
		{id: "ExpectHandler-100", set: func(s *fasthttp.Server) {
			s.ExpectHandler = func(*fasthttp.RequestCtx) int { return 100 }
		}},
		{id: "ExpectHandler-403", set: func(s *fasthttp.Server) {
			s.ExpectHandler = func(*fasthttp.RequestCtx) int { return 403 }
			s.ContinueHandler = func(*fasthttp.RequestHeader) bool { return true }
		}},
		{id: "ExpectHandler-200", set: func(s *fasthttp.Server) {
			s.ExpectHandler = func(*fasthttp.RequestCtx) int { return 200 }
		}},
		{id: "HeaderReceived-limit", set: func(s *fasthttp.Server) {
			s.HeaderReceived = func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
				if h.IsPut() {
					return fasthttp.RequestConfig{MaxRequestBodySize: 3}
				}
				return fasthttp.RequestConfig{MaxRequestBodySize: 50}
			}
		}},
		{id: "ErrorHandler", set: func(s *fasthttp.Server) {
			s.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) {
				ctx.SetStatusCode(fasthttp.StatusTeapot)
				ctx.SetBodyString("class " + report.ErrClass(err))
			}
		}, inputs: inputs()},
		{id: "ErrorHandler-10", set: func(s *fasthttp.Server) {
			s.MaxRequestBodySize = 10
			s.ErrorHandler = func(ctx *fasthttp.RequestCtx, err error) {
				ctx.Error("class "+report.ErrClass(err), fasthttp.StatusBadRequest)
			}
		}},
		{id: "HeaderReceived-panics-not", set: func(s *fasthttp.Server) {
			s.HeaderReceived = func(*fasthttp.RequestHeader) fasthttp.RequestConfig { return fasthttp.RequestConfig{} }
		}},
		{id: "Error-value", set: func(s *fasthttp.Server) {
			s.ErrorHandler = func(ctx *fasthttp.RequestCtx, _ error) { ctx.Error(errRejected.Error(), 499) }
		}},
	}
}

package main

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/compat/internal/report"
)

// responses are responses of servers that violate HTTP slightly.
var responses = []struct{ name, response string }{
	{"two-spaces", "HTTP/1.1  200 OK\r\nContent-Length: 2\r\n\r\nok"},
	{"two-spaces-behind", "HTTP/1.1 200  OK\r\nContent-Length: 2\r\n\r\nok"},
	{"three-spaces", "HTTP/1.1   200 OK\r\nContent-Length: 2\r\n\r\nok"},
	{"space-behind-status", "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"},
	{"no-reason", "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok"},
	{"name-space-before-colon", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\nX-Own : 1\r\n\r\nok"},
	{"name-tab-before-colon", "HTTP/1.1 200 OK\r\nContent-Length\t: 2\r\nX-Own\t: 1\r\n\r\nok"},
	{"name-with-space", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX Own: 1\r\n\r\nok"},
	{"name-with-spaces", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx  own-field name: 1\r\n\r\nok"},
	{"name-with-tab", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX\tOwn: 1\r\n\r\nok"},
	{"name-leading-space", "HTTP/1.1 200 OK\r\n X-Own: 1\r\nContent-Length: 2\r\n\r\nok"},
	{"name-with-slash", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX/Own: 1\r\n\r\nok"},
	{"name-with-at", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX@Own: 1\r\n\r\nok"},
	{"name-empty", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n: 1\r\n\r\nok"},
	{"name-utf8", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-\xc3\xa4: 1\r\n\r\nok"},
	{"no-colon", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Own\r\n\r\nok"},
	{"coding-space-before-colon", "HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
	{"both-space-before-colon", "HTTP/1.1 200 OK\r\nContent-Length : 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"},
	{"two-lengths-space", "HTTP/1.1 200 OK\r\nContent-Length : 3\r\nContent-Length: 2\r\n\r\nok"},
	{"chunk-space", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\nok\r\n0\r\n\r\n"},
	{"chunk-spaces", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2    \r\nok\r\n0   \r\n\r\n"},
	{"chunk-tab", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\t\r\nok\r\n0\r\n\r\n"},
	{"chunk-zeros", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0002\r\nok\r\n000\r\n\r\n"},
	{"trailer-name-space", "HTTP/1.1 200 OK\r\nTrailer: X-End\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-End : 1\r\n\r\n"},
	{"length-spaces", "HTTP/1.1 200 OK\r\nContent-Length:   2  \r\n\r\nok"},
	{"value-controls", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Own: a\x01b\r\n\r\nok"},
}

func runResponses() {
	for _, tt := range responses {
		for _, how := range []string{"buffered", "stream", "pipeline"} {
			report.Run("response/"+tt.name+"/"+how, func(c *report.Case) {
				s := &server{answer: always(tt.response)}
				var do func(req *fasthttp.Request, resp *fasthttp.Response, timeout time.Duration) error
				hc := s.client()
				hc.StreamResponseBody = how == "stream"
				do = hc.DoTimeout
				if how == "pipeline" {
					do = (&fasthttp.PipelineClient{Addr: "name.test:80", Dial: s.dial, Logger: quiet{}}).DoTimeout
				}
				var req fasthttp.Request
				var resp fasthttp.Response
				req.Header.SetMethod("POST")
				req.SetRequestURI("http://name.test/")
				err := do(&req, &resp, time.Minute)
				c.Err("err", err)
				if err != nil {
					return
				}
				c.Str("body", string(resp.Body()))
				c.Val("status", resp.StatusCode())
				c.Str("reason", string(resp.Header.StatusMessage()))
				c.Val("length", resp.Header.ContentLength())
				c.Str("own", string(resp.Header.Peek("X-Own")))
				c.Str("end", string(resp.Header.Peek("X-End")))
				fields := ""
				for k, v := range resp.Header.All() {
					fields += fmt.Sprintf("%q=%q ", k, v)
				}
				c.Str("fields", fields)
				_ = resp.CloseBodyStream()
				if how != "pipeline" {
					c.Val("idle", hc.IdleConnsCount())
				}
			})
		}
	}
}

// runHeads reads heads above the usual limit.
func runHeads() {
	many := strings.Repeat("X-Field: "+strings.Repeat("v", 90)+"\r\n", 1000)
	for name, fields := range report.Sorted(map[string]string{"long": "X: " + strings.Repeat("v", 100_000) + "\r\n", "many": many}) {
		text := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + fields + "\r\nok"
		const size = 128 << 10
		report.Run("head/"+name, func(c *report.Case) {
			s := &server{answer: always(text)}
			hc := s.client()
			hc.ReadBufferSize = size
			pc := &fasthttp.PipelineClient{Addr: "name.test:80", Dial: s.dial, Logger: quiet{}, ReadBufferSize: size}
			var req fasthttp.Request
			var resp fasthttp.Response
			req.SetRequestURI("http://name.test/")
			c.Err("host client", hc.DoTimeout(&req, &resp, time.Minute))
			c.Err("pipeline client", pc.DoTimeout(&req, &resp, time.Minute))
			c.Err("response", resp.Read(bufio.NewReaderSize(strings.NewReader(text), size)))
			c.Err("header", resp.Header.Read(bufio.NewReaderSize(strings.NewReader(text), size)))
		})
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

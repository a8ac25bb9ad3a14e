package main

import (
	"fmt"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/compat/internal/report"
)

// roundTrip is a transport made of a function.
type roundTrip func(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (bool, error)

func (f roundTrip) RoundTrip(hc *fasthttp.HostClient, req *fasthttp.Request, resp *fasthttp.Response) (bool, error) {
	return f(hc, req, resp)
}

func runTransports() {
	for name, f := range report.Sorted(map[string]roundTrip{
		"append": func(_ *fasthttp.HostClient, _ *fasthttp.Request, resp *fasthttp.Response) (bool, error) {
			resp.AppendBodyString("x")
			resp.Header.Add("X-Seen", "1")
			return false, nil
		},
		"nothing": func(*fasthttp.HostClient, *fasthttp.Request, *fasthttp.Response) (bool, error) {
			return false, nil
		},
		"fails": func(_ *fasthttp.HostClient, _ *fasthttp.Request, resp *fasthttp.Response) (bool, error) {
			resp.AppendBodyString("x")
			return false, fmt.Errorf("no")
		},
		"retries": func() roundTrip {
			n := 0
			return func(_ *fasthttp.HostClient, _ *fasthttp.Request, resp *fasthttp.Response) (bool, error) {
				resp.AppendBodyString("x")
				if n++; n%2 == 1 {
					return true, fmt.Errorf("no")
				}
				return false, nil
			}
		}(),
	}) {
		report.Run("transport/"+name, func(c *report.Case) {
			hc := &fasthttp.HostClient{Addr: "name.test:80", Transport: f}
			var req fasthttp.Request
			var resp fasthttp.Response
			req.SetRequestURI("http://name.test/")
			resp.SetStatusCode(418)
			resp.Header.Set("X-Left", "1")
			resp.SetBodyString("left")
			resp.SkipBody, resp.StreamBody = true, true
			for i := range 3 {
				n := fmt.Sprint(i)
				err := hc.Do(&req, &resp)
				c.Val("ok"+n, err == nil)
				c.Str("body"+n, string(resp.Body()))
				c.Val("status"+n, resp.StatusCode())
				c.Val("fields"+n, fmt.Sprint(len(resp.Header.PeekAll("X-Seen")), len(resp.Header.PeekAll("X-Left"))))
				c.Val("flags"+n, fmt.Sprint(resp.SkipBody, resp.StreamBody))
			}
		})
	}
	report.Run("transport/nil-response", func(c *report.Case) {
		hc := &fasthttp.HostClient{Addr: "name.test:80", Transport: roundTrip(
			func(_ *fasthttp.HostClient, _ *fasthttp.Request, resp *fasthttp.Response) (bool, error) {
				c.Val("response", resp != nil)
				return false, nil
			})}
		var req fasthttp.Request
		req.SetRequestURI("http://name.test/")
		c.Err("err", hc.Do(&req, nil))
	})
}

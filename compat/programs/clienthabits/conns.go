package main

import (
	"errors"
	"fmt"
	"net"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/compat/internal/report"
)

func runConns() {
	// a body stream of each kind, and whether its connection is reused
	for name, answer := range report.Sorted(map[string]string{
		"empty":         "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"length":        ok,
		"chunked":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"empty-chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"no-content":    "HTTP/1.1 204 No Content\r\n\r\n",
	}) {
		for _, how := range []string{"read", "close", "body", "leave"} {
			report.Run("stream/"+name+"/"+how, func(c *report.Case) {
				s := &server{answer: always(answer)}
				hc := s.client()
				hc.StreamResponseBody = true
				hc.MaxConns = 10
				for i := range 3 {
					var req fasthttp.Request
					resp := fasthttp.AcquireResponse()
					req.SetRequestURI("http://name.test/")
					err := hc.DoTimeout(&req, resp, time.Minute)
					n := fmt.Sprint(i)
					c.Err("err"+n, err)
					c.Val("stream"+n, resp.BodyStream() != nil)
					c.Val("is-stream"+n, resp.IsBodyStream())
					switch how {
					case "read":
						var body strings.Builder
						c.Val("written"+n, resp.BodyWriteTo(&body) == nil)
						c.Str("body"+n, body.String())
						_ = resp.CloseBodyStream()
					case "close":
						_ = resp.CloseBodyStream()
					case "body":
						c.Str("body"+n, string(resp.Body()))
						_ = resp.CloseBodyStream()
					}
					if how != "leave" {
						fasthttp.ReleaseResponse(resp)
					}
				}
				if how == "read" || how == "body" {
					c.Val("connections", s.dialed())
					c.Val("idle", fmt.Sprint(hc.IdleConnsCount(), " of ", hc.ConnsCount()))
				}
				hc.CloseIdleConnections()
			})
		}
	}
	runUnwanted()
	report.Run("conn/deadline-left", func(c *report.Case) {
		for name, set := range report.Sorted(map[string]func(net.Conn){
			"both":  func(conn net.Conn) { _ = conn.SetDeadline(time.Unix(1, 0)) },
			"read":  func(conn net.Conn) { _ = conn.SetReadDeadline(time.Unix(1, 0)) },
			"write": func(conn net.Conn) { _ = conn.SetWriteDeadline(time.Unix(1, 0)) },
		}) {
			for _, timeout := range []time.Duration{0, time.Minute} {
				s := &server{answer: always(ok)}
				hc := s.client()
				cc, err := hc.AcquireConn(0, false)
				c.Val("acquired", err == nil)
				set(cc.Conn())
				hc.ReleaseConn(cc)
				var req fasthttp.Request
				req.Header.SetMethod("POST")
				req.SetRequestURI("http://name.test/")
				if timeout > 0 {
					err = hc.DoTimeout(&req, nil, timeout)
				} else {
					err = hc.Do(&req, nil)
				}
				c.Val(fmt.Sprint(name, " ", timeout, " ok"), err == nil)
				if err != nil {
					c.Str("~err", err.Error())
				}
				c.Val(fmt.Sprint(name, " ", timeout, " connections"), s.dialed())
			}
		}
	})
}

// runUnwanted does calls without a response, with a limit for bodies.
func runUnwanted() {
	const head = "HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n"
	for name, answer := range report.Sorted(map[string]string{
		"head alone": head, "too large": head + strings.Repeat("x", 200), "small": ok,
	}) {
		for _, stream := range []bool{false, true} {
			report.Run(fmt.Sprint("unwanted/", name, "/", stream), func(c *report.Case) {
				s := &server{answer: always(answer)}
				hc := s.client()
				hc.StreamResponseBody, hc.MaxResponseBodySize = stream, 100
				var req fasthttp.Request
				req.SetRequestURI("http://name.test/")
				start := time.Now()
				err := hc.DoTimeout(&req, nil, time.Minute)
				c.Err("err", err)
				c.Val("waits", time.Since(start) > 30*time.Second)
			})
		}
	}
}

// watched is a connection with its own read and write deadlines, like a connection of a
// program that overrides only these two methods. Calls are counted.
type watched struct {
	net.Conn
	mu    sync.Mutex
	calls map[string]bool
}

func (w *watched) note(call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls == nil {
		w.calls = map[string]bool{}
	}
	w.calls[call] = true
}

func (w *watched) list() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for call := range w.calls {
		all = append(all, call)
	}
	sort.Strings(all)
	return strings.Join(all, " ")
}

func (w *watched) SetDeadline(time.Time) error { w.note("both"); return nil }

func (w *watched) SetReadDeadline(t time.Time) error {
	w.note("read")
	return w.Conn.SetReadDeadline(t)
}

func (w *watched) SetWriteDeadline(t time.Time) error {
	w.note("write")
	return w.Conn.SetWriteDeadline(t)
}

// runDeadlines calls through connections for which SetDeadline has no effect.
func runDeadlines() {
	const none = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
	for name, set := range report.Sorted(map[string]func(hc *fasthttp.HostClient, req *fasthttp.Request) func(*fasthttp.Response) error{
		"call": func(hc *fasthttp.HostClient, req *fasthttp.Request) func(*fasthttp.Response) error {
			return func(resp *fasthttp.Response) error { return hc.DoTimeout(req, resp, 50*time.Millisecond) }
		},
		"client": func(hc *fasthttp.HostClient, req *fasthttp.Request) func(*fasthttp.Response) error {
			hc.ReadTimeout, hc.WriteTimeout = 50*time.Millisecond, 50*time.Millisecond
			return func(resp *fasthttp.Response) error { return hc.Do(req, resp) }
		},
		"read": func(hc *fasthttp.HostClient, req *fasthttp.Request) func(*fasthttp.Response) error {
			hc.ReadTimeout = 50 * time.Millisecond
			return func(resp *fasthttp.Response) error { return hc.Do(req, resp) }
		},
		"request": func(hc *fasthttp.HostClient, req *fasthttp.Request) func(*fasthttp.Response) error {
			req.SetTimeout(50 * time.Millisecond)
			return func(resp *fasthttp.Response) error { return hc.Do(req, resp) }
		},
	}) {
		report.Run("deadline/"+name, func(c *report.Case) {
			var last *watched
			s := &server{answer: always(none), wrap: func(conn net.Conn) net.Conn {
				last = &watched{Conn: conn}
				return last
			}}
			hc := s.client()
			hc.MaxIdemponentCallAttempts = 1
			var req fasthttp.Request
			var resp fasthttp.Response
			req.Header.SetMethod("POST")
			req.SetRequestURI("http://name.test/")
			do := set(hc, &req)
			outcome(c, "timeout", func() error { return do(&resp) })
			if last != nil {
				c.Str("~calls", last.list())
			}
		})
	}
	for name, set := range report.Sorted(map[string]func(pc *fasthttp.PipelineClient) time.Duration{
		"call":   func(*fasthttp.PipelineClient) time.Duration { return 50 * time.Millisecond },
		"client": func(pc *fasthttp.PipelineClient) time.Duration { pc.ReadTimeout = 50 * time.Millisecond; return 0 },
	}) {
		report.Run("deadline/pipeline/"+name, func(c *report.Case) {
			s := &server{answer: always(none), wrap: func(conn net.Conn) net.Conn { return &watched{Conn: conn} }}
			pc := &fasthttp.PipelineClient{Addr: "name.test:80", Dial: s.dial, Logger: quiet{}}
			timeout := set(pc)
			var req fasthttp.Request
			var resp fasthttp.Response
			req.Header.SetMethod("POST")
			req.SetRequestURI("http://name.test/")
			outcome(c, "~timeout", func() error {
				if timeout > 0 {
					return pc.DoTimeout(&req, &resp, timeout)
				}
				return pc.Do(&req, &resp)
			})
		})
	}
	// no peer reads the request
	unread := func(string) (net.Conn, error) {
		here, _ := net.Pipe()
		return &watched{Conn: here}, nil
	}
	for name, do := range report.Sorted(map[string]func(req *fasthttp.Request) error{
		"host": func(req *fasthttp.Request) error {
			return (&fasthttp.HostClient{Addr: "name.test:80", Dial: unread, WriteTimeout: 50 * time.Millisecond}).Do(req, nil)
		},
		"pipeline": func(req *fasthttp.Request) error {
			return (&fasthttp.PipelineClient{Addr: "name.test:80", Dial: unread, WriteTimeout: 50 * time.Millisecond, Logger: quiet{}}).Do(req, nil)
		},
		"tls": func(req *fasthttp.Request) error {
			return (&fasthttp.HostClient{Addr: "name.test:443", IsTLS: true, Dial: unread}).DoTimeout(req, nil, 50*time.Millisecond)
		},
	}) {
		report.Run("deadline/write/"+name, func(c *report.Case) {
			var req fasthttp.Request
			req.Header.SetMethod("POST")
			req.SetRequestURI("http://name.test/")
			if name == "tls" {
				req.SetRequestURI("https://name.test/")
			}
			outcome(c, "~timeout", func() error { return do(&req) })
		})
	}
}

// outcome prints whether a call fails in time and, in field, whether its error is a timeout:
// in v1.77.0 that depends on where the time was spent.
func outcome(c *report.Case, field string, do func() error) {
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		var timeout net.Error
		c.Val("fails", err != nil)
		c.Val(field, errors.Is(err, fasthttp.ErrTimeout) || errors.As(err, &timeout) && timeout.Timeout())
		c.Str("~err", fmt.Sprint(err))
	case <-time.After(30 * time.Second):
		c.Str("fails", "hangs")
	}
}

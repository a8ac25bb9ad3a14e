// Command packages reports on the packages other than the root: listeners and connections in
// memory, bridges to net/http, proxies, handlers for profiles and variables, stackless calls.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"expvar"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
	"github.com/valyala/fasthttp/expvarhandler"
	"github.com/valyala/fasthttp/fasthttpadaptor"
	"github.com/valyala/fasthttp/fasthttpproxy"
	"github.com/valyala/fasthttp/fasthttputil"
	"github.com/valyala/fasthttp/pprofhandler"
	"github.com/valyala/fasthttp/prefork"
	"github.com/valyala/fasthttp/reuseport"
	"github.com/valyala/fasthttp/stackless"
	"github.com/valyala/fasthttp/tcplisten"
)

func main() {
	defer report.Flush()
	runMemory()
	runBridge()
	runBridgeHabits()
	runProxies()
	runHandlers()
	runListeners()
	runStackless()
}

func runMemory() {
	for i := range 20 {
		report.Run(fmt.Sprint("pipe/", i), func(c *report.Case) {
			pipes := fasthttputil.NewPipeConns()
			pipes.SetAddresses(&net.UnixAddr{Name: "a"}, &net.UnixAddr{Name: "b"}, nil, nil)
			one, two := pipes.Conn1(), pipes.Conn2()
			c.Val("addresses", fmt.Sprint(one.LocalAddr(), one.RemoteAddr(), two.LocalAddr(), two.RemoteAddr()))
			text := strings.Repeat("x", i*i*i*10)
			n, err := one.Write([]byte(text))
			c.Val("write", fmt.Sprint(n, err))
			c.Err("close", one.Close())
			got, err := io.ReadAll(two)
			c.Val("read", fmt.Sprint(len(got), err, string(got) == text))
			_, err = two.Write([]byte("late"))
			c.Val("late", fmt.Sprint(err != nil, errors.Is(err, fasthttputil.ErrConnectionClosed)))
			c.Err("close-both", pipes.Close())
		})
	}
	report.Run("listener", func(c *report.Case) {
		ln := fasthttputil.NewInmemoryListener()
		c.Val("addr", fmt.Sprint(ln.Addr().Network(), " ", ln.Addr()))
		ln.SetLocalAddr(&net.UnixAddr{Name: "own", Net: "unix"})
		c.Val("own", ln.Addr())
		accepted := make(chan net.Conn, 2)
		go func() {
			for range 2 {
				nc, err := ln.Accept()
				if err != nil {
					return
				}
				accepted <- nc
			}
		}()
		a, err := ln.Dial()
		c.Err("dial", err)
		b, err := ln.DialWithLocalAddr(&net.UnixAddr{Name: "client", Net: "unix"})
		c.Err("dial-local", err)
		<-accepted
		peer := <-accepted
		c.Val("peer", fmt.Sprint(peer.RemoteAddr(), b.LocalAddr(), a != nil))
		c.Err("close", ln.Close())
		_, err = ln.Dial()
		c.Val("closed", fmt.Sprint(err == fasthttputil.ErrInmemoryListenerClosed))
		_, err = ln.Accept()
		c.Val("closed", fmt.Sprint(err == fasthttputil.ErrInmemoryListenerClosed))
		c.Val("timeout", fasthttputil.ErrTimeout.Error())
	})
}

func runBridge() {
	targets := []string{"/", "/a?b=c", "/é", "/%2f", "//x", "http://other.com/x?y", "*", "/a b", "", "?q"}
	for _, method := range []string{"GET", "POST", "PUT", "HEAD", "OPTIONS"} {
		for i, target := range targets {
			ctx := func() *fasthttp.RequestCtx {
				var req fasthttp.Request
				req.Header.SetMethod(method)
				req.Header.SetHost("example.com")
				req.SetRequestURI(target)
				req.Header.Add("X-Two", "1")
				req.Header.Add("X-Two", "2")
				req.Header.SetCookie("k", "v")
				if method == "POST" || method == "PUT" {
					req.SetBodyString("the body")
					req.Header.SetContentLength(8)
				}
				ctx := &fasthttp.RequestCtx{}
				ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 5}, nil)
				return ctx
			}
			report.Run(fmt.Sprintf("convert/%s/%d-%s", method, i, target), func(c *report.Case) {
				var r http.Request
				err := fasthttpadaptor.ConvertRequest(ctx(), &r, true)
				c.Val("fails", err != nil)
				if err != nil {
					return
				}
				body, err := io.ReadAll(r.Body)
				c.Val("request", fmt.Sprint(r.Method, " ", r.URL, " ", r.Proto, " ", r.Host, " ", r.RemoteAddr, " ", r.RequestURI, " ", r.ContentLength, " ", string(body), " ", err))
				c.Val("header", fmt.Sprint(r.Header["X-Two"], r.Header["Cookie"], r.Header["Host"]))
			})
			report.Run(fmt.Sprintf("handler/%s/%d-%s", method, i, target), func(c *report.Case) {
				h := func(w http.ResponseWriter, r *http.Request) {
					w.Header().Add("X-A", "1")
					w.Header().Add("X-A", "2")
					w.WriteHeader(201)
					fmt.Fprintf(w, "%s %s", r.Method, r.URL.Path)
				}
				for name, bridge := range report.Sorted(map[string]fasthttp.RequestHandler{"handler": fasthttpadaptor.NewFastHTTPHandler(http.HandlerFunc(h)), "func": fasthttpadaptor.NewFastHTTPHandlerFunc(h)}) {
					ctx := ctx()
					bridge(ctx)
					c.Val(name, fmt.Sprint(ctx.Response.StatusCode(), " ", string(ctx.Response.Body()), " ", len(ctx.Response.Header.PeekAll("X-A"))))
				}
			})
			report.Run(fmt.Sprintf("back/%s/%d-%s", method, i, target), func(c *report.Case) {
				r, err := http.NewRequest(method, "http://example.com"+target, strings.NewReader("body"))
				c.Val("made", err == nil)
				if err != nil {
					return
				}
				r.Header.Set("X-Own", "1")
				var req fasthttp.Request
				fasthttpadaptor.ConvertNetHTTPRequestToFastHTTPRequest(r, &req)
				c.Str("request", req.String())
			})
		}
	}
}

func runProxies() {
	addr := "127.0.0.1:1"
	dialers := map[string]fasthttp.DialFunc{
		"http": fasthttpproxy.FasthttpHTTPDialer(addr), "http-dual": fasthttpproxy.FasthttpHTTPDialerDualStack(addr), "http-dual-timeout": fasthttpproxy.FasthttpHTTPDialerDualStackTimeout(addr, 1e9),
		"env": fasthttpproxy.FasthttpProxyHTTPDialer(), "env-timeout": fasthttpproxy.FasthttpProxyHTTPDialerTimeout(1e9), "socks": fasthttpproxy.FasthttpSocksDialer(addr), "socks-dual": fasthttpproxy.FasthttpSocksDialerDualStack(addr),
		"direct": fasthttp.Dial, "direct-dual": fasthttp.DialDualStack,
		"direct-timeout":      func(addr string) (net.Conn, error) { return fasthttp.DialTimeout(addr, 1e9) },
		"direct-dual-timeout": func(addr string) (net.Conn, error) { return fasthttp.DialDualStackTimeout(addr, 1e9) },
		"own":                 func(addr string) (net.Conn, error) { return (&fasthttp.TCPDialer{}).DialDualStackTimeout(addr, 1e9) },
		"proxy-dialer":        func(addr string) (net.Conn, error) { return (&fasthttpproxy.Dialer{}).Dial("tcp", addr) },
		"func": func(addr string) (net.Conn, error) {
			return fasthttpproxy.DialerFunc(func(network, addr string) (net.Conn, error) { return nil, errors.New(network + addr) }).Dial("tcp", addr)
		},
	}
	for name, dial := range report.Sorted(dialers) {
		report.Run("dial/"+name, func(c *report.Case) {
			_, err := dial("127.0.0.1:1")
			c.Val("fails", err != nil)
			var upstream *fasthttp.ErrDialWithUpstream
			if errors.As(err, &upstream) {
				c.Val("upstream", fmt.Sprint(upstream.Upstream, upstream.Error() != "", upstream.Unwrap() != nil))
			}
		})
	}
	fasthttp.FlushDNSCache()
	(&fasthttp.TCPDialer{}).FlushDNSCache()
}

// changingVars are variables that are different in each process.
var changingVars = regexp.MustCompile(`"(cmdline|memstats)": .*`)

func runHandlers() {
	expvar.NewMap("own").Add("a", 1)
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/cmdline", "/debug/pprof/none", "/debug/pprof/heap/", "/debug/pprof/goroutine?debug=1", "/debug/pprof/symbol", "/x"} {
		report.Run("pprof/"+path, func(c *report.Case) {
			var ctx fasthttp.RequestCtx
			ctx.Request.SetRequestURI(path)
			pprofhandler.PprofHandler(&ctx)
			c.Val("status", fmt.Sprint(ctx.Response.StatusCode(), " ", len(ctx.Response.Body()) > 0))
		})
	}
	// the handler counts its calls
	for i, query := range []string{"", "?r=cmdline", "?r=none", "?r=(", "?r=^mem", "?r=expvar", "?r=", "?r=%5B", "?r=expvar", "?r=own", "?x=1&r=Calls"} {
		report.Run(fmt.Sprint("expvar/", i, query), func(c *report.Case) {
			var ctx fasthttp.RequestCtx
			ctx.Request.SetRequestURI("/vars" + query)
			expvarhandler.ExpvarHandler(&ctx)
			c.Val("status", fmt.Sprint(ctx.Response.StatusCode(), " ", string(ctx.Response.Header.ContentType()), " ", bytes.Contains(ctx.Response.Body(), []byte("memstats")), bytes.Contains(ctx.Response.Body(), []byte("cmdline"))))
			c.Val("content", changingVars.ReplaceAllString(string(ctx.Response.Body()), "$1: ..."))
		})
	}
}

func runListeners() {
	for _, network := range []string{"tcp4", "tcp6", "tcp", "udp", ""} {
		for _, addr := range []string{"127.0.0.1:0", "[::1]:0", "nowhere", "127.0.0.1:x"} {
			report.Run("listen/"+network+"/"+addr, func(c *report.Case) {
				ln, err := reuseport.Listen(network, addr)
				c.Val("reuseport", err == nil)
				if err == nil {
					c.Err("close", ln.Close())
				}
				for _, cfg := range []tcplisten.Config{{}, {ReusePort: true, DeferAccept: true, FastOpen: true, Backlog: 10}} {
					ln, err := cfg.NewListener(network, addr)
					c.Val("tcplisten", err == nil)
					if err == nil {
						c.Err("close", ln.Close())
					}
				}
			})
		}
	}
	report.Run("prefork", func(c *report.Case) {
		c.Val("child", prefork.IsChild())
		p := prefork.New(&fasthttp.Server{})
		c.Val("network", p.Network)
		c.Val("threshold", p.RecoverThreshold > 0)
		c.Val("no-support", (&reuseport.ErrNoReusePort{}).Error() != "")
	})
}

func runStackless() {
	for i := range 20 {
		report.Run(fmt.Sprint("stackless/", i), func(c *report.Case) {
			sum := 0
			f := stackless.NewFunc(func(ctx any) { sum += ctx.(int) })
			c.Val("called", fmt.Sprint(f(i), sum))
			var buf bytes.Buffer
			w := stackless.NewWriter(&buf, func(w io.Writer) stackless.Writer { return gzip.NewWriter(w) })
			text := strings.Repeat("stackless ", i*50)
			n, err := w.Write([]byte(text))
			c.Val("write", fmt.Sprint(n, err, w.Flush(), w.Close()))
			zr, err := gzip.NewReader(&buf)
			c.Err("reader", err)
			got, err := io.ReadAll(zr)
			c.Val("same", fmt.Sprint(string(got) == text, err))
			w.Reset(io.Discard)
			c.Err("reset", w.Close())
		})
	}
}

// Command calls reports the results of every form of a client call, of connections acquired
// from a HostClient explicitly, of stream readers, and of servers over TLS.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

func main() {
	defer report.Flush()
	base := "http://" + listen(func(ln net.Listener) error { return fasthttp.Serve(ln, handle) })
	runCalls(base)
	runConns(base)
	runStreams()
	runTLS()
}

func handle(ctx *fasthttp.RequestCtx) {
	switch string(ctx.Path()) {
	case "/redirect":
		ctx.Redirect("/end", fasthttp.StatusFound)
	case "/slow":
		time.Sleep(200 * time.Millisecond)
	}
	fmt.Fprintf(ctx, "%s %s %s", ctx.Method(), ctx.RequestURI(), ctx.PostBody())
}

func listen(serve func(net.Listener) error) string {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() { _ = serve(ln) }()
	return ln.Addr().String()
}

type getter func(dst []byte, url string) (int, []byte, error)

func runCalls(base string) {
	client, hc := &fasthttp.Client{}, &fasthttp.HostClient{Addr: base[len("http://"):]}
	later := func() time.Time { return time.Now().Add(time.Minute) }
	var args fasthttp.Args
	args.Set("a", "b c")
	getters := map[string]getter{
		"Get": fasthttp.Get, "Client.Get": client.Get, "HostClient.Get": hc.Get,
		"Post": func(dst []byte, url string) (int, []byte, error) { return fasthttp.Post(dst, url, &args) }, "Client.Post": func(dst []byte, url string) (int, []byte, error) { return client.Post(dst, url, &args) }, "HostClient.Post": func(dst []byte, url string) (int, []byte, error) { return hc.Post(dst, url, nil) },
		"GetTimeout": func(dst []byte, url string) (int, []byte, error) {
			return fasthttp.GetTimeout(dst, url, time.Minute)
		}, "Client.GetTimeout": func(dst []byte, url string) (int, []byte, error) { return client.GetTimeout(dst, url, time.Minute) }, "HostClient.GetTimeout": func(dst []byte, url string) (int, []byte, error) { return hc.GetTimeout(dst, url, time.Minute) },
		"GetDeadline": func(dst []byte, url string) (int, []byte, error) { return fasthttp.GetDeadline(dst, url, later()) }, "Client.GetDeadline": func(dst []byte, url string) (int, []byte, error) { return client.GetDeadline(dst, url, later()) }, "HostClient.GetDeadline": func(dst []byte, url string) (int, []byte, error) { return hc.GetDeadline(dst, url, later()) },
		"in no time": func(dst []byte, url string) (int, []byte, error) { return fasthttp.GetTimeout(dst, url, -1) },
	}
	for name, get := range report.Sorted(getters) {
		for _, path := range []string{"/", "/a?b=c", "/redirect", "/%41%20b", "/é", "/a//b/../c", "?q"} {
			report.Run("get/"+name+path, func(c *report.Case) {
				status, body, err := get([]byte("before"), base+path)
				c.Val("got", fmt.Sprint(status, " ", string(body), " ", err == fasthttp.ErrTimeout))
				c.Err("err", err)
			})
		}
	}
	pc := &fasthttp.PipelineClient{Addr: hc.Addr}
	type doer func(req *fasthttp.Request, resp *fasthttp.Response) error
	doers := map[string]doer{
		"Do": fasthttp.Do, "Client.Do": client.Do, "HostClient.Do": hc.Do, "PipelineClient.Do": pc.Do,
		"DoTimeout": func(req *fasthttp.Request, resp *fasthttp.Response) error {
			return fasthttp.DoTimeout(req, resp, time.Minute)
		},
		"DoDeadline": func(req *fasthttp.Request, resp *fasthttp.Response) error {
			return fasthttp.DoDeadline(req, resp, later())
		},
		"DoRedirects": func(req *fasthttp.Request, resp *fasthttp.Response) error { return fasthttp.DoRedirects(req, resp, 1) },
		"Client.DoDeadline": func(req *fasthttp.Request, resp *fasthttp.Response) error {
			return client.DoDeadline(req, resp, later())
		},
		"HostClient.DoRedirects":    func(req *fasthttp.Request, resp *fasthttp.Response) error { return hc.DoRedirects(req, resp, 0) },
		"PipelineClient.DoDeadline": func(req *fasthttp.Request, resp *fasthttp.Response) error { return pc.DoDeadline(req, resp, later()) },
	}
	for name, do := range report.Sorted(doers) {
		for _, method := range []string{"GET", "POST", "HEAD", "PUT"} {
			for _, path := range []string{"/", "/redirect", "/x?y"} {
				report.Run("do/"+name+"/"+method+path, func(c *report.Case) {
					var req fasthttp.Request
					var resp fasthttp.Response
					req.Header.SetMethod(method)
					req.SetRequestURI(base + path)
					if method == "POST" || method == "PUT" {
						req.SetBodyString("content")
					}
					err := do(&req, &resp)
					c.Err("err", err)
					c.Val("many", err == fasthttp.ErrTooManyRedirects)
					c.Val("got", fmt.Sprint(resp.StatusCode(), " ", string(resp.Body())))
				})
			}
		}
	}
	report.Run("counts", func(c *report.Case) {
		c.Val("client", fmt.Sprint(client.ConnsCount(), client.IdleConnsCount()))
		c.Val("host", fmt.Sprint(hc.ConnsCount(), hc.IdleConnsCount(), hc.PendingRequests(), time.Since(hc.LastUseTime()) < time.Minute))
		hc.SetMaxConns(1)
		client.CloseIdleConnections()
		c.Val("closed", fmt.Sprint(client.IdleConnsCount()))
	})
}

// runConns acquires and releases connections explicitly.
func runConns(base string) {
	for i := range 20 {
		report.Run(fmt.Sprint("conn/", i), func(c *report.Case) {
			hc := &fasthttp.HostClient{Addr: base[len("http://"):], MaxConns: 1}
			cc, err := hc.AcquireConn(time.Minute, i%2 == 0)
			c.Err("acquire", err)
			c.Val("counts", fmt.Sprint(hc.ConnsCount(), hc.IdleConnsCount()))
			if i < 10 {
				hc.CloseConn(cc)
			} else {
				hc.ReleaseConn(cc)
			}
			c.Val("after", fmt.Sprint(hc.ConnsCount(), hc.IdleConnsCount()))
			left, right := net.Pipe()
			r, w := hc.AcquireReader(left), hc.AcquireWriter(left)
			go func() { _, _ = right.Write([]byte("answer")); _ = right.Close() }()
			got, err := io.ReadAll(r)
			c.Val("read", fmt.Sprint(string(got), err, w.Buffered()))
			hc.ReleaseReader(r)
			hc.ReleaseWriter(w)
			hc.CloseIdleConnections()
		})
	}
}

func runStreams() {
	for i := range 20 {
		report.Run(fmt.Sprint("stream/", i), func(c *report.Case) {
			for name, open := range report.Sorted(map[string]func(fasthttp.StreamWriter) io.ReadCloser{"stream": fasthttp.NewStreamReader, "bounded": fasthttp.NewBoundedStreamReader}) {
				r := open(func(w *bufio.Writer) {
					for n := range i {
						fmt.Fprintf(w, "part %d,", n)
						if n%3 == 0 && w.Flush() != nil {
							return
						}
					}
				})
				if i%5 == 4 {
					_, err := io.ReadFull(r, make([]byte, 4))
					c.Err(name+"-part", err)
				} else {
					got, err := io.ReadAll(r)
					c.Val(name, fmt.Sprint(string(got), err))
				}
				c.Err(name+"-close", r.Close())
			}
		})
	}
}

func runTLS() {
	cert, key, err := fasthttp.GenerateTestCertificate("localhost")
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "calls")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	certFile, keyFile := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	_, _ = os.WriteFile(certFile, cert, 0o600), os.WriteFile(keyFile, key, 0o600)
	ask := func(c *report.Case, addr string) {
		client := &fasthttp.Client{TLSConfig: &tls.Config{InsecureSkipVerify: true}}
		status, body, err := client.Get(nil, "https://"+addr+"/tls")
		c.Val("got", fmt.Sprint(status, " ", string(body), " ", err))
		client.CloseIdleConnections()
	}
	for name, serve := range report.Sorted(map[string]func(net.Listener) error{
		"ServeTLS":      func(ln net.Listener) error { return fasthttp.ServeTLS(ln, certFile, keyFile, handle) },
		"ServeTLSEmbed": func(ln net.Listener) error { return fasthttp.ServeTLSEmbed(ln, cert, key, handle) },
		"Server.ServeTLS": func(ln net.Listener) error {
			return (&fasthttp.Server{Handler: handle}).ServeTLS(ln, certFile, keyFile)
		},
		"Server.ServeTLSEmbed": func(ln net.Listener) error { return (&fasthttp.Server{Handler: handle}).ServeTLSEmbed(ln, cert, key) },
	}) {
		report.Run("tls/"+name, func(c *report.Case) { ask(c, listen(serve)) })
	}
	report.Run("tls/certificates", func(c *report.Case) {
		s := &fasthttp.Server{Handler: handle}
		c.Err("embed", s.AppendCertEmbed(cert, key))
		c.Err("file", s.AppendCert(certFile, keyFile))
		c.Val("bad-embed", s.AppendCertEmbed([]byte("x"), key) != nil)
		c.Val("bad-file", s.AppendCert(certFile, filepath.Join(dir, "none")) != nil)
		s.NextProto("own", func(net.Conn) error { return nil })
		ask(c, listen(func(ln net.Listener) error { return s.ServeTLS(ln, "", "") }))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c.Err("shutdown", s.ShutdownWithContext(ctx))
	})
	report.Run("address/bad", func(c *report.Case) {
		s := &fasthttp.Server{Handler: handle}
		c.Val("tcp", s.ListenAndServe("nowhere") != nil)
		c.Val("tls", s.ListenAndServeTLS("nowhere", certFile, keyFile) != nil)
		c.Val("embed", s.ListenAndServeTLSEmbed("nowhere", cert, key) != nil)
		c.Val("unix", s.ListenAndServeUNIX(filepath.Join(dir, "none", "socket"), 0o600) != nil)
		c.Val("package tcp", fasthttp.ListenAndServe("nowhere", handle) != nil)
		c.Val("package tls", fasthttp.ListenAndServeTLS("nowhere", certFile, keyFile, handle) != nil)
		c.Val("package embed", fasthttp.ListenAndServeTLSEmbed("nowhere", cert, key, handle) != nil)
		c.Val("package unix", fasthttp.ListenAndServeUNIX(filepath.Join(dir, "none", "socket"), 0o600, handle) != nil)
	})
	report.Run("files", func(c *report.Case) {
		h := fasthttp.FSHandler(dir, 1)
		for _, path := range []string{"/x/cert", "/x/none", "/x/", "/x"} {
			var req fasthttp.Request
			req.SetRequestURI(path)
			var ctx fasthttp.RequestCtx
			ctx.Init(&req, nil, nil)
			h(&ctx)
			c.Val(path, ctx.Response.StatusCode())
		}
	})
}

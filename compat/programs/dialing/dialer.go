package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

// resolver has the same addresses for all names.
type resolver struct {
	addresses []string
	err       error
	asked     atomic.Int64
}

func (r *resolver) LookupIPAddr(context.Context, string) (found []net.IPAddr, err error) {
	r.asked.Add(1)
	for _, a := range r.addresses {
		found = append(found, net.IPAddr{IP: net.ParseIP(a)})
	}
	return found, r.err
}

// accept listens on this host and closes each connection.
func accept() (port string, stop func()) {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	_, port, _ = net.SplitHostPort(ln.Addr().String())
	return port, func() { _ = ln.Close() }
}

func runDialer() {
	port, stop := accept()
	defer stop()
	noSuchHost := errors.New("no such host")
	for _, in := range []struct {
		name string
		r    *resolver
		addr string
	}{
		{"one", &resolver{addresses: []string{"127.0.0.1"}}, "name.test:PORT"},
		{"second", &resolver{addresses: []string{"127.0.0.2", "127.0.0.1"}}, "name.test:PORT"},
		{"refused", &resolver{addresses: []string{"127.0.0.1"}}, "name.test:1"},
		{"all-refused", &resolver{addresses: []string{"127.0.0.1", "127.0.0.2"}}, "name.test:1"},
		{"both-versions", &resolver{addresses: []string{"::1", "127.0.0.1"}}, "name.test:PORT"},
		{"other-version", &resolver{addresses: []string{"::1"}}, "name.test:PORT"},
		{"none", &resolver{}, "name.test:PORT"},
		{"error", &resolver{err: noSuchHost}, "name.test:PORT"},
		{"literal", &resolver{addresses: []string{"127.0.0.1"}}, "127.0.0.1:PORT"},
		{"no-port", &resolver{addresses: []string{"127.0.0.1"}}, "name.test"},
		{"large-port", &resolver{addresses: []string{"127.0.0.1"}}, "name.test:70000"},
		{"negative-port", &resolver{addresses: []string{"127.0.0.1"}}, "name.test:-1"},
		{"two-ports", &resolver{addresses: []string{"127.0.0.1"}}, "name.test:1:2"},
		{"empty", &resolver{addresses: []string{"127.0.0.1"}}, ""},
	} {
		addr := strings.ReplaceAll(in.addr, "PORT", port)
		for kind, dial := range report.Sorted(map[string]func(d *fasthttp.TCPDialer) (net.Conn, error){
			"plain":   func(d *fasthttp.TCPDialer) (net.Conn, error) { return d.Dial(addr) },
			"timeout": func(d *fasthttp.TCPDialer) (net.Conn, error) { return d.DialTimeout(addr, time.Minute) },
			"dual":    func(d *fasthttp.TCPDialer) (net.Conn, error) { return d.DialDualStack(addr) },
			"late":    func(d *fasthttp.TCPDialer) (net.Conn, error) { return d.DialTimeout(addr, 0) },
		}) {
			report.Run("dial/"+in.name+"/"+kind, func(c *report.Case) {
				d := &fasthttp.TCPDialer{Resolver: in.r}
				in.r.asked.Store(0)
				for i := range 2 {
					conn, err := dial(d)
					field := fmt.Sprint("dial", i)
					c.Val(field+".ok", err == nil)
					if err == nil {
						c.Str(field+".to", strings.ReplaceAll(conn.RemoteAddr().String(), port, "PORT"))
						_ = conn.Close()
						continue
					}
					c.Str("~"+field+".err", strings.ReplaceAll(err.Error(), port, "PORT"))
					c.Val(field+".timeout", errors.Is(err, fasthttp.ErrDialTimeout))
					c.Val(field+".cause", errors.Is(err, noSuchHost))
					if e, ok := errors.AsType[*fasthttp.ErrDialWithUpstream](err); ok {
						c.Str(field+".upstream", strings.ReplaceAll(e.Upstream, port, "PORT"))
					}
				}
				c.Val("asked", in.r.asked.Load())
			})
		}
	}
}

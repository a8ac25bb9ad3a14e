// Command context reports the properties of a RequestCtx: its request, its connection, its
// user values and its responses, for requests of all kinds.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

func main() {
	defer report.Flush()
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "CONNECT", "QUERY", "FOO", "get", "", "A B"} {
		report.Run("method/"+method, func(c *report.Case) {
			ctx := made(func(req *fasthttp.Request) { req.Header.SetMethod(method) })
			c.Val("is", fmt.Sprint(ctx.IsGet(), ctx.IsHead(), ctx.IsPost(), ctx.IsPut(), ctx.IsDelete(), ctx.IsOptions(), ctx.IsTrace(), ctx.IsPatch(), ctx.IsConnect(), ctx.IsQuery()))
			c.Bytes("method", ctx.Method())
		})
	}
	for i, text := range texts {
		report.Run(fmt.Sprintf("text/%d-%.20s", i, text), func(c *report.Case) { look(c, text) })
		report.Run(fmt.Sprintf("values/%d-%.20s", i, text), func(c *report.Case) { values(c, text) })
		report.Run(fmt.Sprintf("answer/%d-%.20s", i, text), func(c *report.Case) { answer(c, text) })
	}
	runAddresses()
	runTimeouts()
	runServed()
}

var texts = []string{
	"", "a", "a b", "é", "\xff", "a\r\nb", "a\x00b", "/x?y#z", "http://example.com/x", "?q", "a=b&c=d", "a;b", "\"q\"", "<b>", "100%", "%41", "..", "text/html", "multipart/form-data; boundary=x", "1", "99999999999999999999", "日本",
}

// made returns a context as tests of handlers create it.
func made(set func(req *fasthttp.Request)) *fasthttp.RequestCtx {
	var req fasthttp.Request
	req.Header.SetHost("example.com")
	req.SetRequestURI("/path?a=1")
	if set != nil {
		set(&req)
	}
	ctx := &fasthttp.RequestCtx{}
	ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(1, 2, 3, 4), Port: 5}, nil)
	return ctx
}

func look(c *report.Case, text string) {
	ctx := made(func(req *fasthttp.Request) {
		req.SetRequestURI(text)
		req.Header.SetReferer(text)
		req.Header.SetUserAgent(text)
		req.Header.SetMethod("POST")
		req.Header.SetContentType(text)
		req.SetBodyString(text)
	})
	c.Bytes("referer", ctx.Referer())
	c.Bytes("agent", ctx.UserAgent())
	c.Bytes("body", ctx.PostBody())
	c.Str("args", ctx.QueryArgs().String()+" "+ctx.PostArgs().String())
	_, err := ctx.MultipartFormWithLimit(5)
	c.Err("form", err)
	c.Bytes("path", ctx.Path())
	c.Bytes("value", ctx.FormValue("a"))
	c.Val("modified", ctx.IfModifiedSince(time.Unix(0, 0)))
}

func values(c *report.Case, text string) {
	ctx := made(nil)
	type own struct{ key string }
	ctx.SetUserValue(text, 1)
	ctx.SetUserValue(own{text}, 2)
	ctx.SetUserValueBytes([]byte(text+"b"), 3)
	show := func(field string) {
		c.Val(field, fmt.Sprint(ctx.UserValue(text), ctx.UserValueBytes([]byte(text)), ctx.UserValue(own{text}), ctx.UserValue(text+"b"), ctx.Value(text), ctx.Value(own{text}), ctx.Value(5)))
		ctx.VisitUserValues(func(k []byte, v any) { c.Val(field+"-visit", fmt.Sprintf("%q %v", k, v)) })
		n := 0
		ctx.VisitUserValuesAll(func(any, any) { n++ })
		c.Val(field+"-all", n)
	}
	show("set")
	ctx.SetUserValue(text, nil)
	show("nil")
	ctx.RemoveUserValue(own{text})
	ctx.RemoveUserValueBytes([]byte(text + "b"))
	show("removed")
	ctx.SetUserValue(text, "again")
	ctx.ResetUserValues()
	show("reset")
}

func answer(c *report.Case, text string) {
	ctx := made(nil)
	ctx.SetBodyString("gone")
	ctx.ResetBody()
	n, err := ctx.Write([]byte(text))
	c.Val("write", fmt.Sprint(n, err))
	c.Bytes("body", ctx.Response.Body())
	ctx.SuccessString(text, text)
	ctx.SetContentTypeBytes([]byte(text))
	c.Bytes("type", ctx.Response.Header.ContentType())
	c.Bytes("success", ctx.Response.Body())
	ctx.Redirect(text, fasthttp.StatusSeeOther)
	c.Bytes("location", ctx.Response.Header.Peek("Location"))
	c.Val("status", ctx.Response.StatusCode())
	c.Val("hijacked", ctx.Hijacked())
	ctx.Hijack(nil)
	c.Val("hijacked-by-none", ctx.Hijacked())
}

type conn struct {
	net.Conn
	local, remote net.Addr
	deadlines     int
}

func (c *conn) LocalAddr() net.Addr              { return c.local }
func (c *conn) RemoteAddr() net.Addr             { return c.remote }
func (c *conn) SetReadDeadline(time.Time) error  { c.deadlines++; return nil }
func (c *conn) SetWriteDeadline(time.Time) error { c.deadlines++; return errors.New("no") }

type logs struct{ bytes.Buffer }

func (l *logs) Printf(format string, args ...any) { fmt.Fprintf(&l.Buffer, format+"\n", args...) }

func runAddresses() {
	tcp := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 80}
	for i, addr := range []net.Addr{tcp, &net.TCPAddr{IP: net.ParseIP("::1"), Port: 1}, &net.TCPAddr{}, &net.UnixAddr{Name: "/s", Net: "unix"}, &net.UDPAddr{IP: net.IPv4(1, 1, 1, 1)}, &net.IPAddr{IP: net.IPv4(1, 1, 1, 1)}} {
		report.Run(fmt.Sprint("address/", i), func(c *report.Case) {
			ctx := made(nil)
			ctx.SetRemoteAddr(addr)
			c.Val("remote", fmt.Sprint(ctx.RemoteAddr(), ctx.RemoteIP()))
			ctx.SetRemoteAddr(nil)
			c.Val("nil", fmt.Sprint(ctx.RemoteAddr(), ctx.RemoteIP()))
			c.Val("local", fmt.Sprint(ctx.LocalAddr(), ctx.LocalIP()))
			var own fasthttp.RequestCtx
			nc := &conn{local: addr, remote: addr}
			var log logs
			own.Init2(nc, &log, i%2 == 0)
			own.Request.SetRequestURI("http://h/x")
			c.Val("init2", fmt.Sprint(own.RemoteAddr(), own.RemoteIP(), own.LocalAddr(), own.LocalIP(), own.Conn() == net.Conn(nc), own.IsTLS(), own.TLSConnectionState() == nil))
			c.Val("deadlines", fmt.Sprint(own.SetReadDeadline(time.Now()) == nil, own.SetWriteDeadline(time.Now()) == nil, nc.deadlines))
			own.Logger().Printf("said %d", i)
			c.Val("logged", bytes.Contains(log.Bytes(), []byte(fmt.Sprint("said ", i))))
			c.Val("numbers", fmt.Sprint(own.ConnID() > 0, own.ID() > 0, own.ConnRequestNum(), time.Since(own.ConnTime()) < time.Minute, own.Time().IsZero()))
		})
	}
	report.Run("zero", func(c *report.Case) {
		var ctx fasthttp.RequestCtx
		c.Val("addresses", fmt.Sprint(ctx.RemoteAddr(), ctx.RemoteIP(), ctx.LocalAddr(), ctx.LocalIP()))
		c.Val("conn", ctx.Conn() == nil)
		c.Val("text", len(ctx.Path())+len(ctx.Host()))
		c.Val("user", ctx.UserValue("x"))
	})
	report.Run("text", func(c *report.Case) { c.Str("string", made(nil).String()) })
}

func runTimeouts() {
	for i := range 3 {
		report.Run(fmt.Sprint("timeout/", i), func(c *report.Case) {
			ctx := made(nil)
			c.Val("before", ctx.LastTimeoutErrorResponse() == nil)
			switch i {
			case 0:
				ctx.TimeoutError("late")
			case 1:
				ctx.TimeoutErrorWithCode("late", 599)
			default:
				var resp fasthttp.Response
				resp.SetBodyString("own")
				resp.SetStatusCode(418)
				ctx.TimeoutErrorWithResponse(&resp)
				resp.SetBodyString("changed")
			}
			resp := ctx.LastTimeoutErrorResponse()
			c.Val("response", fmt.Sprint(resp.StatusCode(), " ", string(resp.Body())))
		})
	}
}

// runServed reports from inside of servers.
func runServed() {
	for i, path := range []string{"/", "/a?b", "/hijack"} {
		report.Run("served/"+path, func(c *report.Case) {
			client, server := net.Pipe()
			done := make(chan struct{})
			s := &fasthttp.Server{Name: "s", Handler: func(ctx *fasthttp.RequestCtx) {
				deadline, ok := ctx.Deadline()
				select {
				case <-ctx.Done():
					c.Str("done", "yes")
				default:
					c.Str("done", "no")
				}
				c.Val("context", fmt.Sprint(deadline.IsZero(), ok, ctx.Err()))
				c.Val("numbers", fmt.Sprint(ctx.ConnRequestNum(), ctx.ID() > 0, ctx.ConnID() > 0, ctx.Time().IsZero(), ctx.ConnTime().IsZero(), ctx.IsTLS()))
				c.Val("concurrency", fmt.Sprint(i >= 0))
				if path == "/hijack" {
					ctx.Hijack(func(net.Conn) {})
				}
				c.Val("hijacked", ctx.Hijacked())
				_, _ = ctx.WriteString("ok")
			}}
			go func() {
				defer close(done)
				_ = fasthttp.ServeConn(server, s.Handler)
			}()
			_, _ = fmt.Fprintf(client, "GET %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", path)
			buf := make([]byte, 4096)
			n, err := client.Read(buf)
			c.Val("answered", fmt.Sprint(n > 0, err))
			_ = client.Close()
			<-done
			c.Val("rejected", fmt.Sprint(s.GetRejectedConnectionsCount(), s.GetCurrentConcurrency(), s.GetOpenConnectionsCount()))
		})
	}
}

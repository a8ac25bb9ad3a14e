// Command lifecycle reports the order of events in a request: hijacking, the close of user
// values, responses before the end of bodies; and the state of contexts meanwhile.
package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
	"github.com/valyala/fasthttp/fasthttputil"
)

func main() {
	defer report.Flush()
	for _, without := range []bool{false, true} {
		report.Run(fmt.Sprint("hijack/no-response-", without), func(c *report.Case) { hijacked(c, without) })
	}
	report.Run("closers", closers)
	for id, raw := range report.Sorted(map[string]string{
		"chunks":       "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
		"half-a-chunk": "Transfer-Encoding: chunked\r\n\r\n6\r\nabc",
	}) {
		report.Run("early/"+id, func(c *report.Case) { early(c, raw) })
	}
	for _, name := range []string{"", "mine"} {
		report.Run("name/"+name, func(c *report.Case) { names(c, name) })
	}
	for id, lines := range report.Sorted(map[string]string{
		"1.0": "1.0\r\nHost: a\r\nConnection: Upgrade", "1.0-keep": "1.0\r\nHost: a\r\nConnection: keep-alive, Upgrade",
		"1.1": "1.1\r\nHost: a\r\nConnection: Upgrade", "1.1-close": "1.1\r\nHost: a\r\nConnection: close, Upgrade",
	}) {
		report.Run("upgrade/"+id, func(c *report.Case) {
			var req fasthttp.Request
			err := req.Read(bufio.NewReader(strings.NewReader("GET / HTTP/" + lines + "\r\n\r\n")))
			c.Val("upgrade", req.Header.ConnectionUpgrade())
			c.Val("err", err == nil)
		})
	}
	for _, key := range []string{"trailer", "Trailer"} {
		report.Run("no-special/"+key, func(c *report.Case) {
			var h fasthttp.RequestHeader
			h.DisableSpecialHeader()
			err := h.Read(bufio.NewReader(strings.NewReader("GET / HTTP/1.1\r\nHost: a\r\nTrailer: Foo\r\n\r\n")))
			c.Val("err", err == nil)
			c.Val("peek", string(h.Peek(key)))
			c.Val("peek-all", len(h.PeekAll(key)))
		})
	}
}

type closer func()

func (f closer) Close() error {
	f()
	return nil
}

func seen(ctx *fasthttp.RequestCtx) string {
	return fmt.Sprintf("%s %s %s %q %q %d %q", ctx.Method(), ctx.Path(), ctx.Host(), ctx.Request.Header.Peek("X"), ctx.PostBody(),
		ctx.Response.StatusCode(), ctx.Response.Body())
}

const request = "POST /p HTTP/1.1\r\nHost: a\r\nX: y\r\nContent-Length: 3\r\n\r\nabc"

// hijacked reports the state in a HijackHandler and in Close of a user value, their order, and
// that ServeConn does not wait for them.
func hijacked(c *report.Case, without bool) {
	events := make(chan string, 8)
	release, closed := make(chan struct{}), make(chan struct{})
	s := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetUserValue("key", closer(func() { events <- "closed " + seen(ctx); close(closed) }))
		ctx.SetBodyString("resp")
		ctx.HijackSetNoResponse(without)
		ctx.Hijack(func(net.Conn) {
			<-release
			events <- fmt.Sprint("hijacked ", seen(ctx), " ", ctx.UserValue("key") != nil)
		})
	}}
	pipe, served := serve(s)
	if _, err := io.WriteString(pipe.Conn2(), request); err != nil {
		panic(err)
	}
	c.Val("ServeConn", <-served == nil)
	events <- "released"
	close(release)
	<-closed
	tell(c, events)
}

// serve serves one side of a pipe.
func serve(s *fasthttp.Server) (pipe *fasthttputil.PipeConns, served chan error) {
	pipe, served = fasthttputil.NewPipeConns(), make(chan error, 1)
	go func() { served <- s.ServeConn(pipe.Conn1()) }()
	return pipe, served
}

// tell prints the events, which are complete.
func tell(c *report.Case, events chan string) {
	close(events)
	n := 0
	for e := range events {
		n++
		c.Val(fmt.Sprint("event-", n), e)
	}
}

// closers reports the state in Close of user values, and the next request of the connection.
func closers(c *report.Case) {
	events := make(chan string, 8)
	s := &fasthttp.Server{Name: "mine", Handler: func(ctx *fasthttp.RequestCtx) {
		events <- fmt.Sprintf("handler %s", ctx.Path())
		ctx.SetUserValue("key", closer(func() { events <- fmt.Sprintf("closed %s %s", seen(ctx), ctx.Response.Header.Server()) }))
		ctx.SetBodyString("resp")
	}}
	pipe, served := serve(s)
	r := bufio.NewReader(pipe.Conn2())
	for _, raw := range []string{request, "GET /next HTTP/1.1\r\nHost: b\r\nConnection: close\r\n\r\n"} {
		var resp fasthttp.Response
		_, _ = io.WriteString(pipe.Conn2(), raw)
		c.Val("err", resp.Read(r) == nil)
	}
	<-served
	tell(c, events)
}

// early reports that a response is sent before the rest of the body is received.
func early(c *report.Case, raw string) {
	s := &fasthttp.Server{StreamRequestBody: true, Handler: func(ctx *fasthttp.RequestCtx) {
		b := make([]byte, 3)
		n, err := io.ReadFull(ctx.RequestBodyStream(), b)
		fmt.Fprintf(ctx, "%s %v", b[:n], err)
	}}
	pipe, served := serve(s)
	_, _ = io.WriteString(pipe.Conn2(), "POST / HTTP/1.1\r\nHost: a\r\n"+raw)
	var resp fasthttp.Response
	err := resp.Read(bufio.NewReader(pipe.Conn2()))
	c.Val("err", err == nil)
	c.Val("body", string(resp.Body()))
	c.Val("close", resp.ConnectionClose())
	_ = pipe.Close()
	<-served
}

// names reports Server.Name in handlers.
func names(c *report.Case, name string) {
	s := &fasthttp.Server{Name: name, Handler: func(ctx *fasthttp.RequestCtx) {
		h := &ctx.Response.Header
		c.Val("server", string(h.Server()))
		c.Val("peek", string(h.Peek("server")))
		c.Val("len", h.Len())
		var copied fasthttp.Response
		ctx.Response.CopyTo(&copied)
		c.Val("copied", string(copied.Header.Server()))
		h.Del("Server")
		c.Val("deleted", string(h.Server()))
	}}
	pipe, served := serve(s)
	_, _ = io.WriteString(pipe.Conn2(), "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	var resp fasthttp.Response
	c.Val("err", resp.Read(bufio.NewReader(pipe.Conn2())) == nil)
	c.Val("sent", string(resp.Header.Server()))
	<-served
}

package main

import (
	"bufio"
	"fmt"
	"strings"

	"github.com/valyala/fasthttp"
)

// respond answers as the path demands; the response to any other path is an echo.
func respond(ctx *fasthttp.RequestCtx) {
	args := ctx.QueryArgs()
	switch string(ctx.Path()) {
	case "/close":
		ctx.SetConnectionClose()
		ctx.SetBodyString("closing")
	case "/status":
		ctx.SetStatusCode(args.GetUintOrZero("n"))
		ctx.SetBodyString("the body")
	case "/status-empty":
		ctx.SetStatusCode(args.GetUintOrZero("n"))
	case "/empty":
	case "/error":
		ctx.Response.Header.Set("Foo", "gone")
		ctx.Error("an error", args.GetUintOrZero("n"))
	case "/redirect":
		ctx.RedirectBytes(args.Peek("to"), args.GetUintOrZero("n"))
	case "/notfound":
		ctx.NotFound()
	case "/notmodified":
		ctx.SetBodyString("dropped")
		ctx.NotModified()
	case "/success":
		ctx.Success("a/b", []byte("fine"))
	case "/stream":
		ctx.SetBodyStream(strings.NewReader("streamed"), 8)
	case "/stream-chunked":
		ctx.SetBodyStream(strings.NewReader("streamed"), -1)
	case "/stream-short":
		ctx.SetBodyStream(strings.NewReader("str"), 8)
	case "/stream-long":
		ctx.SetBodyStream(strings.NewReader("streamed and more"), 8)
	case "/writer":
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range 3 {
				fmt.Fprintf(w, "part %d", i)
				if err := w.Flush(); err != nil {
					return
				}
			}
		})
	case "/trailer":
		if err := ctx.Response.Header.SetTrailer("Foo"); err != nil {
			ctx.SetBodyString(err.Error())
			return
		}
		ctx.SetBodyStream(strings.NewReader("streamed"), -1)
		ctx.Response.Header.Set("Foo", "late")
	case "/panic":
		panic("the handler's panic")
	case "/timeout":
		ctx.TimeoutError("too slow")
	case "/timeout-code":
		ctx.TimeoutErrorWithCode("too slow", 504)
	case "/hints":
		ctx.Response.Header.Add("Link", "</a>")
		if err := ctx.EarlyHints(); err != nil {
			ctx.SetBodyString(err.Error())
			return
		}
		ctx.SetBodyString("after hints")
	case "/set":
		for k, v := range args.All() {
			ctx.Response.Header.SetBytesKV(k, v)
		}
		ctx.SetBodyString("set")
	case "/cookies":
		for k, v := range args.All() {
			var c fasthttp.Cookie
			c.SetKeyBytes(k)
			c.SetValueBytes(v)
			ctx.Response.Header.SetCookie(&c)
		}
	case "/skip":
		ctx.SetBodyString("skipped")
		ctx.Response.SkipBody = true
	case "/write":
		fmt.Fprintf(ctx, "a")
		ctx.WriteString("b")
	case "/unread":
		ctx.SetBodyString("did not look")
	case "/reset":
		ctx.SetBodyString("old")
		ctx.Response.Reset()
		ctx.SetStatusCode(201)
	case "/proto10":
		ctx.Response.Header.SetProtocol([]byte("HTTP/1.0"))
		ctx.SetBodyString("ten")
	case "/gzip":
		ctx.SetBodyString(strings.Repeat("compress me ", 50))
	default:
		ctx.SetBodyString(echo(ctx))
	}
}

func echo(ctx *fasthttp.RequestCtx) string {
	if ctx.Request.IsBodyStream() {
		return fmt.Sprintf("%s %s\nstreamed", ctx.Method(), ctx.RequestURI())
	}
	body := string(ctx.Request.Body())
	if len(body) > 200 {
		body = fmt.Sprint(len(body), " bytes")
	}
	return fmt.Sprintf("%s %s\n%s", ctx.Method(), ctx.RequestURI(), body)
}

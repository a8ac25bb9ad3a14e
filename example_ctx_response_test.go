package fasthttp_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/valyala/fasthttp"
)

// A RequestCtx is an io.Writer: encoders, templates and fmt.Fprintf append to the body.
func ExampleRequestCtx_Write() {
	answer(func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("text/csv")
		table := csv.NewWriter(ctx)
		table.Write([]string{"name", "city"})
		table.Write([]string{"Eve", "Paris, Texas"})
		table.Flush()
		if err := table.Error(); err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		}
	}, get("/people.csv"))
	// Output:
	// 200 name,city
	// Eve,"Paris, Texas"
}

// WriteString appends to the body. SetBodyString replaces it.
func ExampleRequestCtx_WriteString() {
	answer(func(ctx *fasthttp.RequestCtx) {
		ctx.WriteString("Hello, ")
		ctx.WriteString("world!")
	}, get("/"))
	// Output: 200 Hello, world!
}

// SetBody copies its argument, which the handler may change or reuse afterwards.
func ExampleRequestCtx_SetBody() {
	answer(func(ctx *fasthttp.RequestCtx) {
		data, err := json.Marshal(map[string]int{"page": 2})
		if err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
		ctx.SetContentType("application/json")
		ctx.SetBody(data)
	}, get("/"))
	// Output: 200 {"page":2}
}

// SetBodyString replaces everything that was written before.
func ExampleRequestCtx_SetBodyString() {
	answer(func(ctx *fasthttp.RequestCtx) {
		ctx.WriteString("half a page")
		ctx.SetBodyString("another page")
	}, get("/"))
	// Output: 200 another page
}

// The default type is plain text. The server does not guess it from the content.
func ExampleRequestCtx_SetContentType() {
	var ctx fasthttp.RequestCtx
	ctx.Init(get("/"), nil, nil)
	fmt.Printf("%s\n", ctx.Response.Header.ContentType())
	ctx.SetContentType("text/html; charset=utf-8")
	ctx.WriteString("<h1>hello</h1>")
	fmt.Printf("%s\n", ctx.Response.Header.ContentType())
	// Output:
	// text/plain; charset=utf-8
	// text/html; charset=utf-8
}

// NotFound resets the response and makes it a 404. For a page of your own, set the body
// after the call.
func ExampleRequestCtx_NotFound() {
	answer(func(ctx *fasthttp.RequestCtx) {
		ctx.NotFound()
		ctx.SetContentType("text/html; charset=utf-8")
		ctx.SetBodyString("<h1>This page has moved</h1>")
	}, get("/lost"))
	// Output: 404 <h1>This page has moved</h1>
}

// A handler returns while one of its goroutines still uses ctx. TimeoutError leaves ctx to
// that goroutine: without the call, ctx would already belong to another request.
func ExampleRequestCtx_TimeoutError() {
	slow := make(chan struct{})
	client, stop := serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			<-slow
			fmt.Fprintf(ctx, "%s is done", ctx.Path())
		}()
		select {
		case <-done:
		case <-time.After(10 * time.Millisecond):
			ctx.TimeoutError("too slow")
		}
	}})
	defer stop()
	defer close(slow)

	status, body, err := client.Get(nil, "http://any.host/report")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)
	// Output: 408 too slow
}

// The status of TimeoutHandler is 408. TimeoutWithCodeHandler sends another one, here the
// status of net/http's TimeoutHandler.
func ExampleTimeoutWithCodeHandler() {
	late := make(chan struct{})
	defer close(late)
	handler := fasthttp.TimeoutWithCodeHandler(func(ctx *fasthttp.RequestCtx) {
		<-late // never returns in time
	}, 10*time.Millisecond, "try again later", fasthttp.StatusServiceUnavailable)

	answer(handler, get("/"))
	// Output: 503 try again later
}

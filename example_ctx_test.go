package fasthttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// QueryArgs returns the arguments of the query. GetUint and similar methods parse
// numbers.
func ExampleRequestCtx_QueryArgs() {
	handler := func(ctx *fasthttp.RequestCtx) {
		args := ctx.QueryArgs()
		page, err := args.GetUint("page")
		if errors.Is(err, fasthttp.ErrNoArgValue) {
			page = 1
		} else if err != nil {
			ctx.Error("page is no number", fasthttp.StatusBadRequest)
			return
		}
		fmt.Fprintf(ctx, "page %d of %q, tags %q", page, args.Peek("q"), args.PeekMulti("tag"))
	}

	answer(handler, get("/?q=go+http&tag=a&tag=b&page=2"))
	answer(handler, get("/?q=go"))
	answer(handler, get("/?page=two"))
	// Output:
	// 200 page 2 of "go http", tags ["a" "b"]
	// 200 page 1 of "go", tags []
	// 400 page is no number
}

// A handler decodes JSON from the request and encodes JSON into the response.
func ExampleRequestCtx_PostBody() {
	type note struct {
		Text string `json:"text"`
		Done bool   `json:"done"`
	}
	handler := func(ctx *fasthttp.RequestCtx) {
		var n note
		if err := json.Unmarshal(ctx.PostBody(), &n); err != nil {
			ctx.Error("this is no note", fasthttp.StatusBadRequest)
			return
		}
		n.Done = true
		ctx.SetContentType("application/json")
		if err := json.NewEncoder(ctx).Encode(n); err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
		}
	}

	req := get("/notes")
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetBodyString(`{"text": "buy milk"}`)
	answer(handler, req)
	req.SetBodyString(`{`)
	answer(handler, req)
	// Output:
	// 200 {"text":"buy milk","done":true}
	//
	// 400 this is no note
}

// PostArgs returns the fields of a form in the body.
func ExampleRequestCtx_PostArgs() {
	handler := func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "name %q", ctx.PostArgs().Peek("name"))
	}

	req := get("/")
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType("application/x-www-form-urlencoded")
	req.SetBodyString("name=J%C3%BCrgen&age=40")
	answer(handler, req)
	// Output: 200 name "Jürgen"
}

// FormFile returns an uploaded file. The client chooses the file name, so it must
// not be used as a path.
func ExampleRequestCtx_FormFile() {
	handler := func(ctx *fasthttp.RequestCtx) {
		header, err := ctx.FormFile("photo")
		if err != nil {
			ctx.Error("there is no photo: "+err.Error(), fasthttp.StatusBadRequest)
			return
		}
		// fasthttp.SaveMultipartFile(header, path) would save it
		file, err := header.Open()
		if err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
		defer file.Close()
		content, err := io.ReadAll(file)
		if err != nil {
			ctx.Error(err.Error(), fasthttp.StatusInternalServerError)
			return
		}
		fmt.Fprintf(ctx, "%s has %d bytes: %s", header.Filename, header.Size, content)
	}

	req := get("/upload")
	req.Header.SetMethod(fasthttp.MethodPost)
	var body strings.Builder
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("photo", "cat.jpg")
	if err != nil {
		log.Fatal(err)
	}
	io.WriteString(part, "meow")
	form.Close()
	req.Header.SetContentType(form.FormDataContentType())
	req.SetBodyString(body.String())
	answer(handler, req)
	// Output: 200 cat.jpg has 4 bytes: meow
}

// A handler reads a cookie, and sets another one.
func ExampleResponseHeader_SetCookie() {
	handler := func(ctx *fasthttp.RequestCtx) {
		if id := ctx.Request.Header.Cookie("session"); len(id) > 0 {
			fmt.Fprintf(ctx, "welcome back, %s", id)
			return
		}
		c := fasthttp.AcquireCookie()
		defer fasthttp.ReleaseCookie(c)
		c.SetKey("session")
		c.SetValue("4711")
		c.SetPath("/")
		c.SetMaxAge(3600)
		c.SetHTTPOnly(true)
		c.SetSecure(true)
		c.SetSameSite(fasthttp.CookieSameSiteLaxMode)
		ctx.Response.Header.SetCookie(c)
		ctx.WriteString(c.String())
	}

	req := get("/")
	answer(handler, req)
	req.Header.SetCookie("session", "4711")
	answer(handler, req)
	// Output:
	// 200 session=4711; max-age=3600; path=/; HttpOnly; secure; SameSite=Lax
	// 200 welcome back, 4711
}

// A streamed body may be larger than the handler accepts. LimitRequestBody sets a
// limit.
func ExampleRequestCtx_LimitRequestBody() {
	handler := func(ctx *fasthttp.RequestCtx) {
		if err := ctx.LimitRequestBody(25); err != nil {
			ctx.Error("no more than 25 bytes", fasthttp.StatusRequestEntityTooLarge)
			return
		}
		n, err := io.Copy(io.Discard, ctx.RequestBodyStream())
		if errors.Is(err, fasthttp.ErrBodyTooLarge) {
			ctx.Error("no more than 25 bytes, in chunks neither", fasthttp.StatusRequestEntityTooLarge)
			return
		}
		fmt.Fprintf(ctx, "%d bytes", n)
	}
	client, stop := serve(&fasthttp.Server{Handler: handler, StreamRequestBody: true})
	defer stop()

	const short, long = "as long as is allowed", "much longer than what is taken"
	for _, body := range []struct {
		text string
		size int
	}{
		{short, len(short)},
		{long, len(long)},
		{long, -1}, // chunked
	} {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		req.SetRequestURI("http://any.host/")
		req.Header.SetMethod(fasthttp.MethodPost)
		req.SetBodyStream(strings.NewReader(body.text), body.size)
		if err := client.Do(req, resp); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s\n", resp.StatusCode(), resp.Body())
		fasthttp.ReleaseRequest(req)
		fasthttp.ReleaseResponse(resp)
	}
	// Output:
	// 200 21 bytes
	// 413 no more than 25 bytes
	// 413 no more than 25 bytes, in chunks neither
}

// SetBodyStreamWriter produces a body while it is sent. The function runs after the
// handler has returned, so it must not use ctx.
func ExampleRequestCtx_SetBodyStreamWriter() {
	handler := func(ctx *fasthttp.RequestCtx) {
		name := string(ctx.QueryArgs().Peek("name"))
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range 3 {
				fmt.Fprintf(w, "%d: hello, %s\n", i, name)
			}
		})
	}

	answer(handler, get("/?name=you"))
	// Output:
	// 200 0: hello, you
	// 1: hello, you
	// 2: hello, you
}

// A handler sends events and flushes each one. If the client disconnects, Flush fails, and the
// channel of Done is closed.
func ExampleRequestCtx_WatchDisconnect() {
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.WatchDisconnect()
		done := ctx.Done() // may be used after the handler has returned
		ctx.SetContentType("text/event-stream")
		ctx.SetBodyStreamWriter(func(w *bufio.Writer) {
			for i := range 2 {
				select {
				case <-done:
					return
				default:
				}
				fmt.Fprintf(w, "data: %d\n\n", i)
				if err := w.Flush(); err != nil {
					return
				}
			}
		})
	}}
	client, stop := serve(server)
	defer stop()

	_, body, err := client.Get(nil, "http://any.host/events")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", body)
	// Output:
	// data: 0
	//
	// data: 1
}

// Hijack takes over a connection, here for a protocol of its own.
func ExampleRequestCtx_Hijack() {
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.SetStatusCode(fasthttp.StatusSwitchingProtocols)
		ctx.Response.Header.Set(fasthttp.HeaderConnection, "Upgrade")
		ctx.Response.Header.Set(fasthttp.HeaderUpgrade, "shout")
		ctx.Hijack(func(c net.Conn) {
			line, err := bufio.NewReader(c).ReadString('\n')
			if err != nil {
				return
			}
			io.WriteString(c, strings.ToUpper(line))
		})
	}}
	client, stop := serve(server)
	defer stop()

	c, err := client.Dial("")
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: any.host\r\nConnection: Upgrade\r\nUpgrade: shout\r\n\r\n")
	r := bufio.NewReader(c)
	var resp fasthttp.Response
	if err := resp.Header.Read(r); err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.StatusCode())
	fmt.Fprint(c, "hello\n")
	line, err := r.ReadString('\n')
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(line)
	// Output:
	// 101
	// HELLO
}

// Init prepares a context for a test of a handler, without a server.
func ExampleRequestCtx_Init() {
	handler := func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "%s from %s", ctx.Path(), ctx.RemoteIP())
	}

	var req fasthttp.Request
	req.SetRequestURI("/where")
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4711}, nil)
	handler(&ctx)
	fmt.Printf("%d %s\n", ctx.Response.StatusCode(), ctx.Response.Body())
	// Output: 200 /where from 192.0.2.1
}

// TimeoutHandler limits the time of a handler.
func ExampleTimeoutHandler() {
	late := make(chan struct{})
	handler := fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
		<-late // never returns in time
	}, 10*time.Millisecond, "too slow")
	client, stop := serve(&fasthttp.Server{Handler: handler})
	defer stop()
	defer close(late)

	status, body, err := client.Get(nil, "http://any.host/")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d %s\n", status, body)
	// Output: 408 too slow
}

// Middleware around a handler with a timeout sees the final response, and can add to it.
func ExampleTimeoutHandler_middleware() {
	late := make(chan struct{})
	limited := fasthttp.TimeoutHandler(func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("X-Late", "this is not sent")
		<-late
	}, 10*time.Millisecond, "too slow")
	handler := func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("X-Request-Id", "42")
		limited(ctx)
		ctx.Response.Header.Set("X-Answer", fmt.Sprint(ctx.Response.StatusCode()))
	}
	defer close(late)

	var ctx fasthttp.RequestCtx
	ctx.Init(get("/"), nil, nil)
	handler(&ctx)
	fmt.Printf("%d %s\n", ctx.Response.StatusCode(), ctx.Response.Body())
	fmt.Printf("%s %s %q\n", ctx.Response.Header.Peek("X-Request-Id"), ctx.Response.Header.Peek("X-Answer"), ctx.Response.Header.Peek("X-Late"))
	// Output:
	// 408 too slow
	// 42 408 ""
}

// CompressHandler compresses responses for clients that accept it.
func ExampleCompressHandler() {
	handler := fasthttp.CompressHandler(func(ctx *fasthttp.RequestCtx) {
		ctx.WriteString(strings.Repeat("hello ", 1000))
	})

	req := get("/")
	req.Header.Set(fasthttp.HeaderAcceptEncoding, "gzip")
	var ctx fasthttp.RequestCtx
	ctx.Init(req, nil, nil)
	handler(&ctx)
	fmt.Println(string(ctx.Response.Header.ContentEncoding()), len(ctx.Response.Body()) < 200)
	plain, err := ctx.Response.BodyUncompressed()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(plain))
	// Output:
	// gzip true
	// 6000
}

// spanOf is the key of a span in contexts, as tracing libraries have one.
type spanOf struct{}

// A handler around others sets a context, whose values they find in theirs.
func ExampleRequestCtx_SetContext() {
	traced := func(next fasthttp.RequestHandler) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) {
			ctx.SetContext(context.WithValue(ctx.Context(), spanOf{}, "span of "+string(ctx.Path())))
			next(ctx)
		}
	}
	query := func(ctx context.Context) { fmt.Println("query in the", ctx.Value(spanOf{})) }
	handler := traced(func(ctx *fasthttp.RequestCtx) { query(ctx) })

	var req fasthttp.Request
	req.SetRequestURI("/users")
	var ctx fasthttp.RequestCtx
	ctx.Init(&req, nil, nil)
	handler(&ctx)
	// Output: query in the span of /users
}

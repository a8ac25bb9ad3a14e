package fasthttp_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net"
	"strings"

	"github.com/valyala/fasthttp"
)

// upload returns a request with a form that has a title and a file.
func upload(title, name, content string) *fasthttp.Request {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	if err := w.WriteField("title", title); err != nil {
		log.Fatal(err)
	}
	file, err := w.CreateFormFile("file", name)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := io.WriteString(file, content); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	req := get("/upload")
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType(w.FormDataContentType())
	req.SetBody(form.Bytes())
	return req
}

// The conversion to a string in a switch does not allocate.
func ExampleRequestCtx_Method() {
	handler := func(ctx *fasthttp.RequestCtx) {
		switch string(ctx.Method()) {
		case fasthttp.MethodGet, fasthttp.MethodHead:
			ctx.WriteString("a note")
		case fasthttp.MethodDelete:
			ctx.SetStatusCode(fasthttp.StatusNoContent)
		default:
			ctx.Error("not allowed", fasthttp.StatusMethodNotAllowed)
			ctx.Response.Header.Set(fasthttp.HeaderAllow, "GET, HEAD, DELETE")
		}
	}
	req := get("/notes/7")
	answer(handler, req)
	req.Header.SetMethod(fasthttp.MethodPut)
	answer(handler, req)
	// Output:
	// 200 a note
	// 405 not allowed
}

// IsGet does not report HEAD, which IsHead does. The server sends no body to HEAD, so a
// handler may treat both alike.
func ExampleRequestCtx_IsGet() {
	handler := func(ctx *fasthttp.RequestCtx) {
		if !ctx.IsGet() && !ctx.IsHead() {
			ctx.Error("read only", fasthttp.StatusMethodNotAllowed)
			ctx.Response.Header.Set(fasthttp.HeaderAllow, "GET, HEAD")
			return
		}
		ctx.WriteString("the list")
	}
	req := get("/list")
	answer(handler, req)
	req.Header.SetMethod(fasthttp.MethodPost)
	answer(handler, req)
	// Output:
	// 200 the list
	// 405 read only
}

// One server answers for several hosts. Host returns the name in lower case.
func ExampleRequestCtx_Host() {
	hosts := map[string]fasthttp.RequestHandler{
		"api.example.com": func(ctx *fasthttp.RequestCtx) { ctx.WriteString("the API") },
		"www.example.com": func(ctx *fasthttp.RequestCtx) { ctx.WriteString("the site") },
	}
	handler := func(ctx *fasthttp.RequestCtx) {
		h, ok := hosts[string(ctx.Host())]
		if !ok {
			ctx.Error("unknown host", fasthttp.StatusMisdirectedRequest)
			return
		}
		h(ctx)
	}
	answer(handler, get("http://API.example.com/"))
	answer(handler, get("http://other.example/"))
	// Output:
	// 200 the API
	// 421 unknown host
}

// RequestURI is the target as the client sent it, with the query. Path is decoded and
// normalized.
func ExampleRequestCtx_RequestURI() {
	answer(func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "%s means %s", ctx.RequestURI(), ctx.Path())
	}, get("/a/../b%20c?page=2"))
	// Output: 200 /a/../b%20c?page=2 means /b c
}

// URI has the parts of the URI. A part is read before the next method is called, because
// that call may change the part.
func ExampleRequestCtx_URI() {
	answer(func(ctx *fasthttp.RequestCtx) {
		uri := ctx.URI()
		fmt.Fprintf(ctx, "%s", uri.FullURI())
		fmt.Fprintf(ctx, " has the scheme %s", uri.Scheme())
		fmt.Fprintf(ctx, ", and ends in %s", uri.LastPathSegment())
	}, get("http://example.com/notes/7?page=2"))
	// Output: 200 http://example.com/notes/7?page=2 has the scheme http, and ends in 7
}

// RemoteIP is the address of the connection. For the client of a proxy, see ClientIP.
func ExampleRequestCtx_RemoteIP() {
	office := net.IPNet{IP: net.IPv4(192, 0, 2, 0), Mask: net.CIDRMask(24, 32)}
	handler := func(ctx *fasthttp.RequestCtx) {
		if !office.Contains(ctx.RemoteIP()) {
			ctx.Error("for the office only", fasthttp.StatusForbidden)
			return
		}
		ctx.WriteString("welcome")
	}
	for _, ip := range []net.IP{net.IPv4(192, 0, 2, 7), net.IPv4(198, 51, 100, 1)} {
		var ctx fasthttp.RequestCtx
		ctx.Init(get("/"), &net.TCPAddr{IP: ip, Port: 4711}, nil)
		handler(&ctx)
		fmt.Printf("%d %s\n", ctx.Response.StatusCode(), ctx.Response.Body())
	}
	// Output:
	// 200 welcome
	// 403 for the office only
}

// The handler counts clients by name. The key of the map outlives the handler, so it is a
// copy.
func ExampleRequestCtx_UserAgent() {
	seen := map[string]int{}
	handler := func(ctx *fasthttp.RequestCtx) {
		seen[string(ctx.UserAgent())]++
		ctx.WriteString("hello")
	}

	req := get("/")
	req.Header.SetUserAgent("curl/8.9.1")
	answer(handler, req)
	answer(handler, req)
	fmt.Println(seen)
	// Output:
	// 200 hello
	// 200 hello
	// map[curl/8.9.1:2]
}

// RequestBodyStream reads a body piece by piece. With Server.StreamRequestBody the handler
// begins before the body has arrived. The result is nil if there is no content.
func ExampleRequestCtx_RequestBodyStream() {
	handler := func(ctx *fasthttp.RequestCtx) {
		body := ctx.RequestBodyStream()
		if body == nil {
			ctx.Error("no content", fasthttp.StatusBadRequest)
			return
		}
		sum := sha256.New()
		n, err := io.Copy(sum, body)
		if err != nil {
			ctx.Error("the body is incomplete", fasthttp.StatusBadRequest)
			return
		}
		fmt.Fprintf(ctx, "%d bytes, %x", n, sum.Sum(nil)[:4])
	}
	client, stop := serve(&fasthttp.Server{Handler: handler, StreamRequestBody: true})
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/")
	req.Header.SetMethod(fasthttp.MethodPost)
	req.SetBodyString(strings.Repeat("x", 100_000))
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", resp.Body())
	// Output: 100000 bytes, d69e6898
}

// FormValue finds a value in the query and in the forms that browsers send.
func ExampleRequestCtx_FormValue() {
	handler := func(ctx *fasthttp.RequestCtx) {
		name := ctx.FormValue("name")
		if len(name) == 0 {
			ctx.Error("name is missing", fasthttp.StatusBadRequest)
			return
		}
		fmt.Fprintf(ctx, "hello, %s", name)
	}
	answer(handler, get("/?name=eve"))
	post := get("/")
	post.Header.SetMethod(fasthttp.MethodPost)
	post.Header.SetContentType("application/x-www-form-urlencoded")
	post.SetBodyString("name=adam")
	answer(handler, post)
	answer(handler, get("/"))
	// Output:
	// 200 hello, eve
	// 200 hello, adam
	// 400 name is missing
}

// A multipart form has values and files. It is removed when the handler returns.
func ExampleRequestCtx_MultipartForm() {
	handler := func(ctx *fasthttp.RequestCtx) {
		form, err := ctx.MultipartForm()
		if err != nil {
			ctx.Error("this is no form: "+err.Error(), fasthttp.StatusBadRequest)
			return
		}
		fmt.Fprintf(ctx, "%q", form.Value["title"])
		for _, file := range form.File["file"] {
			fmt.Fprintf(ctx, " %s: %d bytes", file.Filename, file.Size)
		}
	}
	answer(handler, upload("holidays", "beach.jpg", "sand and sea"))
	// Output: 200 ["holidays"] beach.jpg: 12 bytes
}

// A router keeps a part of the path for the handlers that it calls. It keeps a copy, as
// for all values that may outlive the handler.
func ExampleRequestCtx_UserValue() {
	note := func(ctx *fasthttp.RequestCtx) {
		id, ok := ctx.UserValue("id").(string)
		fmt.Fprintf(ctx, "note %q %v", id, ok)
	}
	router := func(ctx *fasthttp.RequestCtx) {
		if id, ok := strings.CutPrefix(string(ctx.Path()), "/notes/"); ok {
			ctx.SetUserValue("id", id)
			note(ctx)
			return
		}
		ctx.NotFound()
	}
	answer(router, get("/notes/7"))
	// Output: 200 note "7" true
}

// A handler waits for news, until the server shuts down. With WatchDisconnect, Done ends the
// wait if the client disconnects, too.
func ExampleRequestCtx_Done() {
	news, begun := make(chan string), make(chan struct{})
	client, stop := serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.WatchDisconnect()
		close(begun)
		select {
		case text := <-news:
			ctx.WriteString(text)
		case <-ctx.Done():
			ctx.Error("no news", fasthttp.StatusServiceUnavailable)
		}
	}})
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		status, body, err := client.Get(nil, "http://any.host/news")
		fmt.Printf("%d %s %v\n", status, body, err)
	}()
	<-begun
	stop()
	<-answered
	// Output: 503 no news <nil>
}

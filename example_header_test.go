package fasthttp_test

import (
	"fmt"
	"log"
	"mime"

	"github.com/valyala/fasthttp"
)

// PeekAll returns the values of all lines of a field.
func ExampleRequestHeader_PeekAll() {
	var h fasthttp.RequestHeader
	h.Add("X-Forwarded-For", "192.0.2.7")
	h.Add("X-Forwarded-For", "198.51.100.1")

	fmt.Printf("%s\n", h.Peek("X-Forwarded-For"))
	for i, value := range h.PeekAll("X-Forwarded-For") {
		fmt.Printf("%d: %s\n", i, value)
	}
	// Output:
	// 192.0.2.7
	// 0: 192.0.2.7
	// 1: 198.51.100.1
}

// Set replaces all values of a field. Names may be written in any case.
func ExampleRequestHeader_Set() {
	client, stop := serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "%s", ctx.Request.Header.Peek(fasthttp.HeaderAuthorization))
	}})
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/")
	req.Header.Set("authorization", "Bearer old")
	req.Header.Set(fasthttp.HeaderAuthorization, "Bearer new")
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", resp.Body())
	// Output: Bearer new
}

// Add keeps the values that a field has.
func ExampleRequestHeader_Add() {
	var h fasthttp.RequestHeader
	h.Add(fasthttp.HeaderAcceptLanguage, "da")
	h.Add(fasthttp.HeaderAcceptLanguage, "en;q=0.7")
	fmt.Printf("%q\n", h.PeekAll(fasthttp.HeaderAcceptLanguage))
	// Output: ["da" "en;q=0.7"]
}

// Middleware removes a field that only a proxy may set.
func ExampleRequestHeader_Del() {
	withoutUser := func(next fasthttp.RequestHandler) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) {
			ctx.Request.Header.Del("X-User")
			next(ctx)
		}
	}
	req := get("/")
	req.Header.Set("X-User", "root")
	answer(withoutUser(func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "the user is %q", ctx.Request.Header.Peek("X-User"))
	}), req)
	// Output: 200 the user is ""
}

// All visits each field line. Name and value are valid for one step of the loop, so a map
// gets copies.
func ExampleRequestHeader_All() {
	req := get("http://example.com/")
	req.Header.SetUserAgent("curl/8.9.1")
	req.Header.Add("Via", "1.1 a")
	req.Header.Add("Via", "1.1 b")

	fields := map[string][]string{}
	for name, value := range req.Header.All() {
		fields[string(name)] = append(fields[string(name)], string(value))
	}
	fmt.Println(len(fields["Via"]), fields["User-Agent"])
	// Output: 2 [curl/8.9.1]
}

// The default method is GET.
func ExampleRequestHeader_SetMethod() {
	client, stop := hello()
	defer stop()

	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	req.SetRequestURI("http://any.host/notes/7")
	req.Header.SetMethod(fasthttp.MethodDelete)
	if err := client.Do(req, resp); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", resp.Body())
	// Output: DELETE /notes/7
}

// A client names the type of the content that it sends.
func ExampleRequestHeader_SetContentType() {
	req := get("http://any.host/notes")
	req.Header.SetMethod(fasthttp.MethodPost)
	req.Header.SetContentType("application/json")
	req.SetBodyString(`{"text":"buy milk"}`)

	answer(func(ctx *fasthttp.RequestCtx) {
		fmt.Fprintf(ctx, "%s: %s", ctx.Request.Header.ContentType(), ctx.PostBody())
	}, req)
	// Output: 200 application/json: {"text":"buy milk"}
}

// The field may have parameters: compare the media type without them.
func ExampleRequestHeader_ContentType() {
	handler := func(ctx *fasthttp.RequestCtx) {
		kind, _, err := mime.ParseMediaType(string(ctx.Request.Header.ContentType()))
		if err != nil || kind != "application/json" {
			ctx.Error("send JSON", fasthttp.StatusUnsupportedMediaType)
			return
		}
		ctx.WriteString("thank you")
	}
	req := get("/")
	req.Header.SetMethod(fasthttp.MethodPost)
	for _, contentType := range []string{"Application/JSON; charset=utf-8", "text/plain"} {
		req.Header.SetContentType(contentType)
		answer(handler, req)
	}
	// Output:
	// 200 thank you
	// 415 send JSON
}

// Cookie returns nil if the client has sent no such cookie.
func ExampleRequestHeader_Cookie() {
	handler := func(ctx *fasthttp.RequestCtx) {
		theme := ctx.Request.Header.Cookie("theme")
		if theme == nil {
			theme = []byte("light")
		}
		fmt.Fprintf(ctx, "the theme is %s", theme)
	}
	req := get("/")
	answer(handler, req)
	req.Header.SetCookie("theme", "dark")
	answer(handler, req)
	// Output:
	// 200 the theme is light
	// 200 the theme is dark
}

// A client sends cookies in one field.
func ExampleRequestHeader_SetCookie() {
	var h fasthttp.RequestHeader
	h.SetCookie("theme", "dark")
	h.SetCookie("session", "42")
	fmt.Printf("%s\n", h.Peek(fasthttp.HeaderCookie))
	// Output: theme=dark; session=42
}

// Peek finds a field of a response in any case. The result is a part of the response, so it
// is copied if it must outlive that.
func ExampleResponseHeader_Peek() {
	client, stop := serve(&fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set(fasthttp.HeaderETag, `"v7"`)
	}})
	defer stop()

	etag := func() (string, error) {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(req)
		defer fasthttp.ReleaseResponse(resp)
		req.SetRequestURI("http://any.host/")
		if err := client.Do(req, resp); err != nil {
			return "", err
		}
		return string(resp.Header.Peek("etag")), nil
	}
	fmt.Println(etag())
	// Output: "v7" <nil>
}

// Set replaces all values of a field.
func ExampleResponseHeader_Set() {
	var ctx fasthttp.RequestCtx
	ctx.Init(get("/"), nil, nil)
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "no-store")
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "max-age=60")
	fmt.Printf("%q\n", ctx.Response.Header.PeekAll(fasthttp.HeaderCacheControl))
	// Output: ["max-age=60"]
}

// Middleware adds a value to a field that a handler may also have set.
func ExampleResponseHeader_Add() {
	vary := func(name string, next fasthttp.RequestHandler) fasthttp.RequestHandler {
		return func(ctx *fasthttp.RequestCtx) {
			next(ctx)
			ctx.Response.Header.Add(fasthttp.HeaderVary, name)
		}
	}
	handler := vary(fasthttp.HeaderOrigin, func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set(fasthttp.HeaderVary, fasthttp.HeaderAccept)
	})
	var ctx fasthttp.RequestCtx
	ctx.Init(get("/"), nil, nil)
	handler(&ctx)
	fmt.Printf("%q\n", ctx.Response.Header.PeekAll(fasthttp.HeaderVary))
	// Output: ["Accept" "Origin"]
}

// A proxy removes a field of the server to which it has sent the request.
func ExampleResponseHeader_Del() {
	var resp fasthttp.Response
	resp.Header.Set("X-Powered-By", "an old version")
	resp.Header.Del("X-Powered-By")
	fmt.Printf("%q\n", resp.Header.Peek("X-Powered-By"))
	// Output: ""
}

// An empty type means the default, which is plain text. SetNoDefaultContentType prevents
// that.
func ExampleResponseHeader_SetContentType() {
	var h fasthttp.ResponseHeader
	h.SetContentType("image/png")
	fmt.Printf("%s\n", h.ContentType())
	h.SetContentType("")
	fmt.Printf("%s\n", h.ContentType())
	// Output:
	// image/png
	// text/plain; charset=utf-8
}

// DelClientCookie deletes a cookie without path and domain. For another one, send a cookie
// with the same path and domain that has expired: see Cookie.SetExpire.
func ExampleResponseHeader_DelClientCookie() {
	var ctx fasthttp.RequestCtx
	ctx.Init(get("/logout"), nil, nil)
	ctx.Response.Header.DelClientCookie("session")

	c := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(c)
	c.SetKey("session")
	fmt.Println(ctx.Response.Header.Cookie(c))
	fmt.Println(c)
	// Output:
	// true
	// session=; expires=Tue, 10 Nov 2009 23:00:00 GMT
}

package fasthttp_test

import (
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/valyala/fasthttp"
)

// Peek returns nil if there is no such argument, and an empty slice if it has no value.
func ExampleArgs_Peek() {
	var args fasthttp.Args
	args.Parse("q=go+http&debug")
	fmt.Printf("%q %v %v\n", args.Peek("q"), args.Peek("debug") != nil, args.Peek("page") == nil)
	// Output: "go http" true true
}

// An argument may occur several times.
func ExampleArgs_PeekMulti() {
	var args fasthttp.Args
	args.Parse("tag=go&page=2&tag=http")
	fmt.Printf("%q\n", args.PeekMulti("tag"))
	// Output: ["go" "http"]
}

// Has finds an argument with or without a value.
func ExampleArgs_Has() {
	var args fasthttp.Args
	args.Parse("verbose&page=2")
	fmt.Println(args.Has("verbose"), args.Has("page"), args.Has("q"))
	// Output: true true false
}

// GetUint distinguishes a missing argument from one that is no number. GetUintOrZero does
// not.
func ExampleArgs_GetUint() {
	var args fasthttp.Args
	args.Parse("page=2&size=large")

	page, err := args.GetUint("page")
	fmt.Println(page, err)
	_, err = args.GetUint("size")
	fmt.Println(err != nil, errors.Is(err, fasthttp.ErrNoArgValue))
	_, err = args.GetUint("limit")
	fmt.Println(err != nil, errors.Is(err, fasthttp.ErrNoArgValue))
	fmt.Println(args.GetUintOrZero("limit"))
	// Output:
	// 2 <nil>
	// true false
	// true true
	// 0
}

// All visits the arguments in their order. A map that outlives them gets copies.
func ExampleArgs_All() {
	values := map[string]string{}
	handler := func(ctx *fasthttp.RequestCtx) {
		for key, value := range ctx.QueryArgs().All() {
			values[string(key)] = string(value)
			fmt.Fprintf(ctx, "%s=%s;", key, value)
		}
	}
	answer(handler, get("/?q=go&page=2"))
	fmt.Println(values)
	// Output:
	// 200 q=go;page=2;
	// map[page:2 q:go]
}

// Set takes plain text, which is encoded when the arguments are written.
func ExampleArgs_Set() {
	var args fasthttp.Args
	args.Set("q", "fish & chips")
	args.Set("page", "1")
	args.Set("page", "2")
	fmt.Println(args.String())
	// Output: q=fish+%26+chips&page=2
}

// Add keeps the arguments that have the same key.
func ExampleArgs_Add() {
	var args fasthttp.Args
	args.Add("tag", "go")
	args.Add("tag", "http")
	fmt.Println(args.String())
	// Output: tag=go&tag=http
}

// Del removes all arguments with the key.
func ExampleArgs_Del() {
	var args fasthttp.Args
	args.Parse("tag=go&page=2&tag=http")
	args.Del("tag")
	fmt.Println(args.String())
	// Output: page=2
}

// Parse replaces the arguments by those of a query, without its question mark.
func ExampleArgs_Parse() {
	args := fasthttp.AcquireArgs()
	defer fasthttp.ReleaseArgs(args)
	args.Parse("name=J%C3%BCrgen&city=S%C3%A3o+Paulo")
	fmt.Printf("%s, %s\n", args.Peek("name"), args.Peek("city"))
	// Output: Jürgen, São Paulo
}

// Parse reads the value of a Set-Cookie field.
func ExampleCookie_Parse() {
	var c fasthttp.Cookie
	if err := c.Parse("session=42; Path=/app; HttpOnly"); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s for %s\n", c.Key(), c.Value(), c.Path())
	// Output: session: 42 for /app
}

// A cookie for a session, which scripts cannot read, and which is sent over TLS only.
func ExampleCookie_SetValue() {
	c := fasthttp.AcquireCookie()
	defer fasthttp.ReleaseCookie(c)
	c.SetKey("session")
	c.SetValue("42")
	c.SetPath("/")
	c.SetHTTPOnly(true)
	c.SetSecure(true)
	fmt.Println(c)
	// Output: session=42; path=/; HttpOnly; secure
}

// A client deletes a cookie if it gets it again with a time in the past, and with the same
// path and domain.
func ExampleCookie_SetExpire() {
	var c fasthttp.Cookie
	c.SetKey("theme")
	c.SetValue("dark")
	c.SetPath("/app")
	c.SetExpire(time.Date(2030, time.May, 1, 12, 0, 0, 0, time.UTC))
	fmt.Println(c.String())
	c.SetValue("")
	c.SetExpire(fasthttp.CookieExpireDelete)
	fmt.Println(c.String())
	// Output:
	// theme=dark; expires=Wed, 01 May 2030 12:00:00 GMT; path=/app
	// theme=; expires=Tue, 10 Nov 2009 23:00:00 GMT; path=/app
}

// Clients send a strict cookie with requests from pages of the same site only.
func ExampleCookie_SetSameSite() {
	var c fasthttp.Cookie
	c.SetKey("session")
	c.SetValue("42")
	c.SetSameSite(fasthttp.CookieSameSiteStrictMode)
	fmt.Println(c.String())
	// Output: session=42; SameSite=Strict
}

// AcquireCookie returns an empty cookie. SetCookie copies it, so it may be released after
// that.
func ExampleAcquireCookie() {
	handler := func(ctx *fasthttp.RequestCtx) {
		c := fasthttp.AcquireCookie()
		defer fasthttp.ReleaseCookie(c)
		c.SetKey("visited")
		c.SetValue("yes")
		c.SetMaxAge(24 * 60 * 60)
		ctx.Response.Header.SetCookie(c)
	}
	var ctx fasthttp.RequestCtx
	ctx.Init(get("/"), nil, nil)
	handler(&ctx)
	fmt.Printf("%s\n", ctx.Response.Header.Peek(fasthttp.HeaderSetCookie))
	// Output: visited=yes; max-age=86400
}

// A path without a host takes the host from the first argument, which may be nil for an
// absolute URI.
func ExampleURI_Parse() {
	var uri fasthttp.URI
	if err := uri.Parse([]byte("example.com"), []byte("/notes?page=2")); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", uri.FullURI())
	err := uri.Parse(nil, []byte("http://[::1/notes"))
	fmt.Println(err != nil)
	// Output:
	// http://example.com/notes?page=2
	// true
}

// Path is decoded and normalized: a client cannot leave a folder with dot segments.
func ExampleURI_Path() {
	var uri fasthttp.URI
	if err := uri.Parse(nil, []byte("http://example.com/files/%2e%2e//a%20b")); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", uri.Path())
	fmt.Printf("%s\n", uri.PathOriginal())
	// Output:
	// /a b
	// /files/%2e%2e//a%20b
}

// The arguments belong to the URI: a change of them changes it.
func ExampleURI_QueryArgs() {
	var uri fasthttp.URI
	if err := uri.Parse(nil, []byte("http://example.com/list?page=2")); err != nil {
		log.Fatal(err)
	}
	args := uri.QueryArgs()
	args.SetUint("page", args.GetUintOrZero("page")+1)
	fmt.Println(uri.String())
	// Output: http://example.com/list?page=3
}

// A URI is built from its parts. FullURI leaves out user name and password.
func ExampleURI_FullURI() {
	var uri fasthttp.URI
	uri.SetScheme("https")
	uri.SetHost("example.com")
	uri.SetUsername("eve")
	uri.SetPassword("secret")
	uri.SetPath("/a b")
	uri.SetQueryString("page=2")
	fmt.Printf("%s\n", uri.FullURI())
	// Output: https://example.com/a%20b?page=2
}

// Update resolves a reference, such as a link in a page.
func ExampleURI_Update() {
	var uri fasthttp.URI
	for _, link := range []string{"c.html", "/c.html", "?page=2", "//other.example/", "https://a.example/b"} {
		if err := uri.Parse(nil, []byte("http://example.com/a/b.html")); err != nil {
			log.Fatal(err)
		}
		uri.Update(link)
		fmt.Println(uri.String())
	}
	// Output:
	// http://example.com/a/c.html
	// http://example.com/c.html
	// http://example.com/a/b.html?page=2
	// http://other.example/
	// https://a.example/b
}

// The result is appended to a slice, which may be reused.
func ExampleAppendGzipBytes() {
	packed := fasthttp.AppendGzipBytes(nil, []byte("some text"))
	text, err := fasthttp.AppendGunzipBytes(nil, packed)
	fmt.Printf("%s %v\n", text, err)
	// Output: some text <nil>
}

// A response expires after a fixed time.
func ExampleAppendHTTPDate() {
	expires := time.Date(2030, time.May, 1, 14, 0, 0, 0, time.FixedZone("CEST", 2*60*60))
	fmt.Printf("%s\n", fasthttp.AppendHTTPDate(nil, expires))
	// Output: Wed, 01 May 2030 12:00:00 GMT
}

// A handler answers requests for a part of its content.
func ExampleParseByteRange() {
	const content = "0123456789"
	handler := func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set(fasthttp.HeaderAcceptRanges, "bytes")
		field := ctx.Request.Header.Peek(fasthttp.HeaderRange)
		start, end, err := fasthttp.ParseByteRange(field, len(content))
		if err != nil { // none, several, or a wrong one
			ctx.WriteString(content)
			return
		}
		ctx.SetStatusCode(fasthttp.StatusPartialContent)
		ctx.Response.Header.SetContentRange(start, end, len(content))
		ctx.WriteString(content[start : end+1])
	}
	req := get("/")
	for _, part := range []string{"", "bytes=2-4", "bytes=-3", "bytes=8-"} {
		req.Header.Set(fasthttp.HeaderRange, part)
		answer(handler, req)
	}
	// Output:
	// 200 0123456789
	// 206 234
	// 206 789
	// 206 89
}

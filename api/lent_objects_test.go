package api

import (
	"bufio"
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// source makes equal objects that share no memory.
type source struct {
	name string
	make func() (object any, given [][]byte)
	// owns is set if the object returns its arguments
	owns bool
}

func made[T any](name string, set func(*T)) source {
	return source{name: name, make: func() (any, [][]byte) {
		object := new(T)
		set(object)
		return object, nil
	}}
}

func received[T any, P interface {
	*T
	Read(*bufio.Reader) error
}](name, text string) source {
	return made(name, func(object *T) {
		if err := P(object).Read(bufio.NewReader(strings.NewReader(text))); err != nil {
			panic(err)
		}
	})
}

const (
	aRequest = "GET /path/file?query=1 HTTP/1.1\r\nHost: host\r\nUser-Agent: agent\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Encoding: gzip\r\n" +
		"Cookie: a=b; c=d\r\nTrailer: X-Sum\r\nReferer: r\r\nX-Other: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: 1\r\n\r\n"
	aForm     = "POST / HTTP/1.1\r\nHost: host\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\na=b&c=d"
	aResponse = "HTTP/1.1 200 Fine\r\nServer: s\r\nContent-Type: text/html\r\nContent-Encoding: x\r\nDate: d\r\nConnection: close\r\n" +
		"Set-Cookie: a=b; path=/\r\nSet-Cookie: c=d\r\nTrailer: X-Sum\r\nX-Other: x\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: 1\r\n\r\n"
	anOldResponse = "HTTP/1.0 404 Not Found\r\nContent-Length: 4\r\n\r\nbody"
)

// encoded are the encodings of "body".
var encoded = map[string][]byte{
	"gzip":    fasthttp.AppendGzipBytes(nil, []byte("body")),
	"deflate": fasthttp.AppendDeflateBytes(nil, []byte("body")),
	"br":      fasthttp.AppendBrotliBytes(nil, []byte("body")),
	"zstd":    fasthttp.AppendZstdBytes(nil, []byte("body")),
}

func inContext(init func(*fasthttp.RequestCtx)) func(*fasthttp.RequestCtx) {
	return func(ctx *fasthttp.RequestCtx) {
		ctx.Init(new(fasthttp.Request), nil, nil)
		init(ctx)
	}
}

func sources() []source {
	list := []source{
		made("RequestHeader", func(*fasthttp.RequestHeader) {}),
		made("ResponseHeader", func(*fasthttp.ResponseHeader) {}),
		made("Request", func(*fasthttp.Request) {}),
		made("Response", func(*fasthttp.Response) {}),
		made("URI", func(*fasthttp.URI) {}),
		made("Args", func(*fasthttp.Args) {}),
		made("Cookie", func(*fasthttp.Cookie) {}),
		made("RequestCtx", inContext(func(*fasthttp.RequestCtx) {})),
		received[fasthttp.RequestHeader]("received RequestHeader", aRequest),
		received[fasthttp.Request]("received Request", aRequest),
		received[fasthttp.ResponseHeader]("received ResponseHeader", aResponse),
		received[fasthttp.Response]("received Response", aResponse),
		received[fasthttp.ResponseHeader]("old ResponseHeader", anOldResponse),
		made("received RequestCtx", inContext(func(ctx *fasthttp.RequestCtx) {
			if err := ctx.Request.Read(bufio.NewReader(strings.NewReader(aForm))); err != nil {
				panic(err)
			}
		})),
		made("RequestCtx with what a handler has set", inContext(func(ctx *fasthttp.RequestCtx) {
			ctx.NotFound()
			ctx.SetUserValue("key", 1)
			ctx.Request.SetUserValueBytes([]byte("bytes"), 1)
			ctx.Request.Header.SetReferer("r")
			ctx.Request.Header.SetUserAgent("a")
			ctx.Request.SetHost("host")
		})),
		made("closing RequestHeader", func(h *fasthttp.RequestHeader) {
			h.SetConnectionClose()
			h.SetHost("h")
			h.SetContentLength(4)
		}),
		made("closing ResponseHeader", func(h *fasthttp.ResponseHeader) {
			h.SetConnectionClose()
			h.SetServer("s")
			var c fasthttp.Cookie
			c.SetKey("key")
			c.SetValue("v")
			h.SetCookie(&c)
		}),
		made("chunked ResponseHeader", func(h *fasthttp.ResponseHeader) { h.SetContentLength(-1) }),
		made("chunked RequestHeader", func(h *fasthttp.RequestHeader) { h.SetContentLength(-1) }),
		made("international URI", func(u *fasthttp.URI) {
			if err := u.Parse([]byte("b\u00fccher.example"), []byte("/%20/../a b")); err != nil {
				panic(err)
			}
		}),
		made("Request with user values", func(req *fasthttp.Request) {
			req.SetUserValue("key", 1)
			req.SetUserValueBytes([]byte("bytes"), 1)
		}),
		made("parsed URI", func(u *fasthttp.URI) {
			if err := u.Parse(nil, []byte("https://user:pass@host/path/last?query#hash")); err != nil {
				panic(err)
			}
		}),
		made("parsed Args", func(a *fasthttp.Args) { a.Parse("a=b&a=c&d&key=%20") }),
		made("parsed Cookie", func(c *fasthttp.Cookie) {
			if err := c.Parse("key=value; domain=host; path=/p; max-age=1; secure; samesite=lax"); err != nil {
				panic(err)
			}
		}),
	}
	for coding, body := range encoded {
		list = append(list,
			made("Request in "+coding, func(req *fasthttp.Request) {
				req.SetBody(body)
				req.Header.SetContentEncoding(coding)
			}),
			made("Response in "+coding, func(resp *fasthttp.Response) {
				resp.SetBody(body)
				resp.Header.SetContentEncoding(coding)
			}))
	}
	return append(list, setters()...)
}

// names and values are arguments for methods: some are known to the package, others
// are not.
var (
	names = []string{
		"key", "a", "X-Other", "x-other", "X-Sum", "bytes",
		"Host", "Content-Type", "Content-Length", "Content-Encoding", "Connection", "User-Agent", "Server", "Cookie", "Set-Cookie", "Trailer",
		"Transfer-Encoding", "Date", "Referer", "Accept-Encoding",
	}
	values = []string{
		"key", "", "GET", "POST", "HEAD", "/", "HTTP/1.1", "HTTP/1.0", "http", "https", "close", "keep-alive", "gzip", "chunked", "text/plain; charset=utf-8",
		"application/x-www-form-urlencoded", "OK", "Not Found", "localhost", "0", "1", "fasthttp", "k=v; path=/", "X-Sum", "a=b", "http://host/path?query",
	}
)

// setters makes an object for each method that sets strings, slices of bytes or
// numbers, and for each of its arguments.
func setters() (list []source) {
	for _, new := range []func() reflect.Value{
		func() reflect.Value { return reflect.ValueOf(new(fasthttp.RequestHeader)) },
		func() reflect.Value { return reflect.ValueOf(new(fasthttp.ResponseHeader)) },
		func() reflect.Value { return reflect.ValueOf(new(fasthttp.Request)) },
		func() reflect.Value { return reflect.ValueOf(new(fasthttp.Response)) },
		func() reflect.Value { return reflect.ValueOf(new(fasthttp.URI)) },
		func() reflect.Value { return reflect.ValueOf(new(fasthttp.Args)) },
		func() reflect.Value { return reflect.ValueOf(new(fasthttp.Cookie)) },
	} {
		object := new()
		for i := range object.NumMethod() {
			method := object.Type().Method(i)
			if !slices.ContainsFunc([]string{"Set", "Add", "Append", "Parse", "Update"}, func(verb string) bool { return strings.HasPrefix(method.Name, verb) }) {
				continue
			}
			for _, args := range combinations(object.Method(i).Type()) {
				name := fmt.Sprintf("%s after %s(%s)", object.Type().Elem().Name(), method.Name, text(args))
				list = append(list, source{name, func() (any, [][]byte) {
					object := new()
					args := slices.Clone(args)
					var given [][]byte
					for i, arg := range args {
						if b, ok := arg.Interface().([]byte); ok {
							b = bytes.Clone(b)
							args[i], given = reflect.ValueOf(b), append(given, b)
						}
					}
					object.Method(i).Call(args)
					return object.Interface(), given
				}, method.Name == "SetBodyRaw"})
			}
		}
	}
	return list
}

func text(args []reflect.Value) string {
	var list []string
	for _, arg := range args {
		if arg.Kind() == reflect.String || isBytes(arg.Type()) {
			list = append(list, fmt.Sprintf("%q", arg.Interface()))
		} else if arg.Kind() != reflect.Func {
			list = append(list, fmt.Sprint(arg.Interface()))
		}
	}
	return strings.Join(list, ", ")
}

// combinations returns arguments for a method, or none if it takes types that these
// tests do not make.
func combinations(method reflect.Type) (list [][]reflect.Value) {
	switch method.NumIn() {
	case 1:
		for _, v := range choices(method.In(0), values) {
			list = append(list, []reflect.Value{v})
		}
	case 2:
		for _, name := range choices(method.In(0), names) {
			for _, v := range choices(method.In(1), []string{"close", "1", "text/plain; charset=utf-8"}) {
				list = append(list, []reflect.Value{name, v})
			}
		}
	}
	return list
}

func choices(t reflect.Type, texts []string) (list []reflect.Value) {
	switch {
	case t.Kind() == reflect.String:
		for _, text := range texts {
			list = append(list, reflect.ValueOf(text).Convert(t))
		}
	case t == reflect.TypeFor[[]byte]():
		for _, text := range texts {
			list = append(list, reflect.ValueOf([]byte(text)))
		}
	case t.Kind() == reflect.Int:
		for _, n := range []int{0, 1, 200, 404} {
			list = append(list, reflect.ValueOf(n).Convert(t))
		}
	case t.Kind() == reflect.Bool:
		list = append(list, reflect.ValueOf(true), reflect.ValueOf(false))
	}
	return list
}

package fasthttp_test

import (
	"fmt"
	"log"
	"strings"
	"testing/fstest"
	"time"

	"github.com/valyala/fasthttp"
)

// FS serves the files of a folder below a prefix, compressed if the client accepts
// it.
func ExampleFS() {
	files := &fasthttp.FS{
		Root:            "/var/www",
		IndexNames:      []string{"index.html"},
		Compress:        true,
		AcceptByteRange: true,
		PathRewrite:     fasthttp.NewPathSlashesStripper(1), // removes /static
	}
	static := files.NewRequestHandler()
	handler := func(ctx *fasthttp.RequestCtx) {
		if strings.HasPrefix(string(ctx.Path()), "/static/") {
			static(ctx)
			return
		}
		ctx.NotFound()
	}
	if err := fasthttp.ListenAndServe(":8080", handler); err != nil {
		log.Fatal(err)
	}
}

// FS serves files that are part of the program. An embed.FS works in the same way.
func ExampleFS_embedded() {
	files := &fasthttp.FS{
		FS: fstest.MapFS{
			"index.html": {Data: []byte("<h1>hello</h1>"), ModTime: time.Unix(1, 0)},
			"a.txt":      {Data: []byte("some text"), ModTime: time.Unix(1, 0)},
		},
		IndexNames:      []string{"index.html"},
		AcceptByteRange: true,
		AllowEmptyRoot:  true,
	}
	handler := files.NewRequestHandler()

	for _, path := range []string{"/", "/a.txt", "/b.txt"} {
		answer(handler, get("http://any.host"+path))
	}
	part := get("http://any.host/a.txt")
	part.Header.SetByteRange(5, 8)
	answer(handler, part)
	// Output:
	// 200 <h1>hello</h1>
	// 200 some text
	// 404 Cannot open requested path
	// 206 text
}

// A public file server: browsers do not guess types and may cache the files for an hour. Files
// that were compressed when the program was built are sent as they are.
func ExampleFS_precompressed() {
	files := &fasthttp.FS{
		FS: fstest.MapFS{
			"app.js":    {Data: []byte("alert(1)")},
			"app.js.gz": {Data: fasthttp.AppendGzipBytes(nil, []byte("alert(1)"))},
			"model.glb": {Data: []byte("glTF")},
			".env":      {Data: []byte("SECRET=1")},
		},
		Precompressed: true,
		StrongETag:    true,
		NoSniff:       true,
		CacheControl:  "public, max-age=3600",
		ContentTypes:  map[string]string{".glb": "model/gltf-binary"},
	}
	handler := files.NewRequestHandler()
	for _, path := range []string{"/app.js", "/model.glb", "/.env"} {
		var ctx fasthttp.RequestCtx
		ctx.Request.SetRequestURI(path)
		ctx.Request.Header.Set("Accept-Encoding", "gzip")
		handler(&ctx)
		h := &ctx.Response.Header
		fmt.Printf("%d %s %q\n", h.StatusCode(), h.ContentType(), h.ContentEncoding())
	}
	// Output:
	// 200 text/javascript; charset=utf-8 "gzip"
	// 200 model/gltf-binary ""
	// 404 text/plain; charset=utf-8 ""
}

// A Compressor compresses a type that it does not compress by default.
func ExampleCompressor() {
	c := fasthttp.Compressor{Types: append(fasthttp.DefaultCompressTypes(), "application/x-points")}
	handler := c.Handler(func(ctx *fasthttp.RequestCtx) {
		ctx.SetContentType("application/x-points")
		ctx.SetBodyString(strings.Repeat("0 0\n", 1000))
	})
	var ctx fasthttp.RequestCtx
	ctx.Request.Header.Set("Accept-Encoding", "gzip")
	handler(&ctx)
	fmt.Println(string(ctx.Response.Header.ContentEncoding()), len(ctx.Response.Body()) < 100)
	// Output:
	// gzip true
}

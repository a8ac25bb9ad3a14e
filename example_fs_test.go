package fasthttp_test

import (
	"fmt"
	"log"
	"strings"
	"testing/fstest"
	"time"

	"github.com/valyala/fasthttp"
)

// The files of a folder, compressed where clients accept it, below a prefix.
func ExampleFS() {
	files := &fasthttp.FS{
		Root:            "/var/www",
		IndexNames:      []string{"index.html"},
		Compress:        true,
		AcceptByteRange: true,
		PathRewrite:     fasthttp.NewPathSlashesStripper(1), // takes /static off
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

// Files that come with the program. An embed.FS is used in the same way.
func ExampleFS_FS() {
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

// One file for a path.
func ExampleServeFile() {
	handler := func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/favicon.ico" {
			fasthttp.ServeFile(ctx, "static/favicon.ico")
			return
		}
		fmt.Fprint(ctx, "hello")
	}
	if err := fasthttp.ListenAndServe(":8080", handler); err != nil {
		log.Fatal(err)
	}
}

package fasthttp_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/valyala/fasthttp"
)

// folder makes a folder with a file in it.
func folder(name, content string) (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		log.Fatal(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

// ServeFile answers with one file. Its path must not be made from text that a client has
// sent: use an FS for that.
func ExampleServeFile() {
	static, remove := folder("robots.txt", "User-agent: *")
	defer remove()

	handler := func(ctx *fasthttp.RequestCtx) {
		if string(ctx.Path()) == "/robots.txt" {
			fasthttp.ServeFile(ctx, filepath.Join(static, "robots.txt"))
			return
		}
		ctx.WriteString("hello")
	}
	answer(handler, get("/robots.txt"))
	answer(handler, get("/"))
	// Output:
	// 200 User-agent: *
	// 200 hello
}

// SendFile is ServeFile as a method. Fields that describe the file, such as its name for a
// download, are set in addition.
func ExampleRequestCtx_SendFile() {
	reports, remove := folder("may.csv", "a,b")
	defer remove()

	var ctx fasthttp.RequestCtx
	ctx.Init(get("/reports/may"), nil, nil)
	ctx.Response.Header.Set(fasthttp.HeaderContentDisposition, `attachment; filename="may.csv"`)
	ctx.SendFile(filepath.Join(reports, "may.csv"))

	fmt.Printf("%d %s\n", ctx.Response.StatusCode(), ctx.Response.Body())
	fmt.Printf("%s\n", ctx.Response.Header.Peek(fasthttp.HeaderContentDisposition))
	// Output:
	// 200 a,b
	// attachment; filename="may.csv"
}

// FSHandler serves a folder with usual settings. The number 1 removes the first segment of
// paths, here /static. It is called once: each handler has a cache of its own.
func ExampleFSHandler() {
	dir, remove := folder("a.txt", "some text")
	defer remove()

	handler := fasthttp.FSHandler(dir, 1)
	answer(handler, get("http://any.host/static/a.txt"))
	answer(handler, get("http://any.host/static/b.txt"))
	// Output:
	// 200 some text
	// 404 Cannot open requested path
}

// NewRequestHandler makes a handler from the settings of an FS. Make it once: each handler
// has a cache of its own.
func ExampleFS_NewRequestHandler() {
	files := &fasthttp.FS{
		FS:             fstest.MapFS{"index.html": {Data: []byte("<h1>hello</h1>")}},
		AllowEmptyRoot: true,
		IndexNames:     []string{"index.html"},
		PathNotFound: func(ctx *fasthttp.RequestCtx) {
			ctx.Error("there is no such page", fasthttp.StatusNotFound)
		},
	}
	handler := files.NewRequestHandler()
	answer(handler, get("http://any.host/"))
	answer(handler, get("http://any.host/lost"))
	// Output:
	// 200 <h1>hello</h1>
	// 404 there is no such page
}

// The files of a folder are served below /v1/files: the first two segments are not part of
// their names.
func ExampleNewPathSlashesStripper() {
	files := &fasthttp.FS{
		FS:             fstest.MapFS{"a.txt": {Data: []byte("some text")}},
		AllowEmptyRoot: true,
		PathRewrite:    fasthttp.NewPathSlashesStripper(2),
	}
	answer(files.NewRequestHandler(), get("http://any.host/v1/files/a.txt"))
	// Output: 200 some text
}

// The name of the new file is the choice of the program. The client may have sent any name,
// such as ../../passwd.
func ExampleSaveMultipartFile() {
	uploads, remove := folder("old.jpg", "")
	defer remove()

	handler := func(ctx *fasthttp.RequestCtx) {
		header, err := ctx.FormFile("file")
		if err != nil {
			ctx.Error("there is no file: "+err.Error(), fasthttp.StatusBadRequest)
			return
		}
		if err := fasthttp.SaveMultipartFile(header, filepath.Join(uploads, "new.jpg")); err != nil {
			ctx.Error("cannot save the file", fasthttp.StatusInternalServerError)
			return
		}
		ctx.SetStatusCode(fasthttp.StatusCreated)
		fmt.Fprintf(ctx, "%d bytes", header.Size)
	}
	answer(handler, upload("a cat", "../../passwd", "meow"))
	saved, err := os.ReadFile(filepath.Join(uploads, "new.jpg"))
	fmt.Printf("%s %v\n", saved, err)
	// Output:
	// 201 4 bytes
	// meow <nil>
}

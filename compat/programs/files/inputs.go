package main

import (
	"fmt"
	"os"

	"github.com/valyala/fasthttp"
)

type request struct {
	method, target string
	fields         [][2]string
}

func (r request) name() string {
	name := r.method + " " + r.target
	for _, f := range r.fields {
		name += fmt.Sprintf(" %s=%s", f[0], f[1])
	}
	return name
}

// get makes a GET request with fields, given as names and values in turn.
func get(target string, fields ...string) request { return with("GET", target, fields) }

func with(method, target string, fields []string) request {
	r := request{method: method, target: target}
	for i := 0; i+1 < len(fields); i += 2 {
		r.fields = append(r.fields, [2]string{fields[i], fields[i+1]})
	}
	return r
}

// requests are sent under every setting.
func requests() []request {
	var list []request
	for _, target := range []string{
		"/", "/hello.txt", "/empty.txt", "/digits.txt", "/long.txt", "/image.png", "/style.css", "/data.json", "/page.html",
		"/noext", "/unknown.zzz", "/with%20space.txt", "/with space.txt", "/percent%2541.txt", "/percent%41.txt", "/plus+.txt",
		"/%C3%BCn%C3%AF.txt", "/.hidden", "/..dots", "/sub", "/sub/", "/sub/page.html", "/sub//page.html", "/sub/./page.html",
		"/list", "/list/", "/list?a=b", "/list/deep", "/list/%3Ci%3E&%22'.txt", "/noindex/", "/nothing", "/nothing/", "/nothing.txt", "/hello.txt/",
		"/hello.txt/x", "/../outside/secret.txt", "/%2e%2e/outside/secret.txt", "/sub/..%2f..%2foutside/secret.txt", "/..%5coutside%5csecret.txt",
		"/hello.txt%00", "/a%00b", "/%252e%252e/outside/secret.txt", "/..", "/../", "/../rootsibling/too.txt",
		"/inside.txt", "/outside.txt", "/outdir/secret.txt", "/outdir", "/outdir/", "/subdir/page.html", "/subdir/", "/dangling", "/loop",
		"/hello.txt?x=y", "/c:/windows", "/hello.txt::$DATA", "/con", "/HELLO.TXT", "/hello.txt.fasthttp.gz",
	} {
		list = append(list, get(target))
	}
	for _, method := range []string{"HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "FOO"} {
		for _, target := range []string{"/hello.txt", "/sub/", "/noindex/", "/nothing", "/empty.txt", "/list"} {
			list = append(list, with(method, target, nil))
		}
	}
	return append(append(list, conditionals()...), ranges()...)
}

const (
	later   = "Mon, 06 May 2024 07:08:10 GMT"
	earlier = "Mon, 06 May 2024 07:08:08 GMT"
)

func conditionals() []request {
	var list []request
	for _, date := range []string{plantedText, later, earlier, "Monday, 06-May-24 07:08:09 GMT", "Mon May  6 07:08:09 2024", "nonsense", "0", "Fri, 01 Jan 2100 00:00:00 GMT"} {
		list = append(list, get("/hello.txt", "If-Modified-Since", date), get("/hello.txt", "If-Unmodified-Since", date))
	}
	return append(list,
		with("HEAD", "/hello.txt", []string{"If-Modified-Since", plantedText}),
		with("POST", "/hello.txt", []string{"If-Modified-Since", plantedText}),
		get("/noindex/", "If-Modified-Since", plantedText),
		get("/noindex/", "If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT"),
		get("/nothing", "If-Modified-Since", plantedText),
		get("/hello.txt", "If-None-Match", "*"),
		get("/hello.txt", "If-None-Match", `"abc"`),
		get("/hello.txt", "If-Match", "*"),
		get("/hello.txt", "If-Match", `"abc"`),
		with("POST", "/hello.txt", []string{"If-None-Match", "*"}),
		with("HEAD", "/hello.txt", []string{"If-None-Match", "*"}),
	)
}

func ranges() []request {
	var list []request
	for _, value := range []string{
		"bytes=0-3", "bytes=0-", "bytes=-3", "bytes=2-2", "bytes=9-", "bytes=10-", "bytes=0-99", "bytes=-0", "bytes=-99", "bytes=5-3",
		"bytes=", "bytes=a-b", "bytes=-", "bytes", "items=0-3", "bytes=0-1,4-5", "bytes=0-1,20-", "Bytes=0-3", "bytes= 0-3", "bytes=0-3 ",
		"bytes=+0-3", "bytes=99999999999999999999-", "bytes=0-99999999999999999999", "bytes=-99999999999999999999", "0-3",
	} {
		list = append(list, get("/digits.txt", "Range", value))
	}
	return append(list,
		get("/empty.txt", "Range", "bytes=0-"), get("/empty.txt", "Range", "bytes=-1"), get("/empty.txt", "Range", "bytes=0-0"),
		with("HEAD", "/digits.txt", []string{"Range", "bytes=0-3"}),
		with("HEAD", "/digits.txt", []string{"Range", "bytes=10-"}),
		with("POST", "/digits.txt", []string{"Range", "bytes=0-3"}),
		get("/long.txt", "Range", "bytes=20000-20009"), get("/long.txt", "Range", "bytes=-10"), get("/long.txt", "Range", "bytes=50000-"),
		get("/digits.txt", "Range", "bytes=0-3", "If-Range", plantedText),
		get("/digits.txt", "Range", "bytes=0-3", "If-Range", earlier),
		get("/digits.txt", "Range", "bytes=0-3", "If-Range", `"abc"`),
		get("/digits.txt", "Range", "bytes=0-3", "If-Modified-Since", plantedText),
		get("/digits.txt", "Range", "bytes=0-3", "Accept-Encoding", "gzip"),
		get("/long.txt", "Range", "bytes=0-3", "Accept-Encoding", "gzip"),
		get("/noindex/", "Range", "bytes=0-3"), get("/nothing", "Range", "bytes=0-3"), get("/sub/", "Range", "bytes=0-3"),
	)
}

func encodings() []request {
	var list []request
	for _, value := range []string{
		"gzip", "br", "zstd", "gzip, br", "br, gzip", "gzip, zstd", "gzip, br, zstd", "deflate", "identity", "*", "gzip;q=0", "br;q=0.1, gzip;q=0.9", "GZIP", "xgzip", "",
	} {
		list = append(list, get("/long.txt", "Accept-Encoding", value), get("/digits.txt", "Accept-Encoding", value))
	}
	for _, target := range []string{"/image.png", "/empty.txt", "/noindex/", "/sub/", "/nothing", "/outside.txt", "/outdir/secret.txt", "/inside.txt", "/list/deep"} {
		list = append(list, get(target, "Accept-Encoding", "gzip"))
	}
	return append(list,
		with("HEAD", "/long.txt", []string{"Accept-Encoding", "gzip"}),
		get("/long.txt", "Accept-Encoding", "gzip", "If-Modified-Since", plantedText),
		get("/long.txt.fasthttp.gz"))
}

type setting struct {
	id   string
	make func(root string) *fasthttp.FS
	own  []request
}

func settings() []setting {
	set := func(id string, change func(fs *fasthttp.FS), own ...request) setting {
		return setting{id, func(root string) *fasthttp.FS {
			fs := &fasthttp.FS{Root: root}
			change(fs)
			return fs
		}, own}
	}
	return []setting{
		set("plain", func(*fasthttp.FS) {}),
		set("pages", func(fs *fasthttp.FS) { fs.GenerateIndexPages = true }),
		set("names", func(fs *fasthttp.FS) { fs.IndexNames = []string{"missing.html", "index.html"} }),
		set("both", func(fs *fasthttp.FS) {
			fs.IndexNames = []string{"index.html"}
			fs.GenerateIndexPages = true
		}),
		set("ranges", func(fs *fasthttp.FS) { fs.AcceptByteRange = true }),
		set("uncached", func(fs *fasthttp.FS) { fs.AcceptByteRange, fs.SkipCache = true, true }),
		set("etag", func(fs *fasthttp.FS) { fs.GenerateETag, fs.AcceptByteRange = true, true }),
		set("gzip", func(fs *fasthttp.FS) { fs.Compress, fs.AcceptByteRange = true, true }, encodings()...),
		set("all codings", func(fs *fasthttp.FS) {
			fs.Compress, fs.CompressBrotli, fs.CompressZstd = true, true, true
		}, encodings()...),
		set("compressed pages", func(fs *fasthttp.FS) { fs.Compress, fs.GenerateIndexPages = true, true }, encodings()...),
		set("compress root", func(fs *fasthttp.FS) {
			fs.Compress = true
			fs.CompressRoot = fs.Root + "/../compressed"
		}, encodings()...),
		set("links", func(fs *fasthttp.FS) { fs.AllowSymlinksOutsideRoot = true }),
		set("own 404", func(fs *fasthttp.FS) {
			fs.PathNotFound = func(ctx *fasthttp.RequestCtx) {
				ctx.SetStatusCode(fasthttp.StatusTeapot)
				ctx.SetBodyString("own page")
			}
		}),
		set("rewritten", func(fs *fasthttp.FS) { fs.PathRewrite = fasthttp.NewPathSlashesStripper(1) }),
		set("hosts", func(fs *fasthttp.FS) { fs.PathRewrite = fasthttp.NewVHostPathRewriter(0) }, get("/x.txt")),
		set("hostile", func(fs *fasthttp.FS) {
			fs.PathRewrite = func(ctx *fasthttp.RequestCtx) []byte { return ctx.QueryArgs().Peek("to") }
		}, get("/?to=/hello.txt"), get("/?to=hello.txt"), get("/?to=/../outside/secret.txt"), get("/?to=/sub/../hello.txt"), get("/?to=/sub/.."),
			get("/?to=/..dots"), get("/?to="), get("/?to=/percent%2541.txt"), get("/?to=/sub%00"), get("/?to=//hello.txt"), get("/?to=/./hello.txt")),
		set("slash at end of root", func(fs *fasthttp.FS) { fs.Root += "/" }),
		set("fs.FS", func(fs *fasthttp.FS) {
			fs.FS, fs.Root, fs.AcceptByteRange, fs.GenerateIndexPages = os.DirFS(fs.Root), "", true, true
		}),
		set("fs.FS below a root", func(fs *fasthttp.FS) { fs.FS, fs.Root = os.DirFS(fs.Root), "sub" }),
		set("fs.FS compressed", func(fs *fasthttp.FS) { fs.FS, fs.Root, fs.Compress = os.DirFS(fs.Root), "", true }, encodings()...),
		{"FSHandler's", func(root string) *fasthttp.FS {
			return &fasthttp.FS{Root: root, IndexNames: []string{"index.html"}, GenerateIndexPages: true, AcceptByteRange: true}
		}, nil},
	}
}

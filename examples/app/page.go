package main

import (
	"embed"

	"github.com/valyala/fasthttp"
)

//go:embed page
var files embed.FS

// newPage returns the handler of the page, whose files are part of the program.
func newPage() fasthttp.RequestHandler {
	fs := &fasthttp.FS{
		FS:             files,
		Root:           "page",
		IndexNames:     []string{"index.html"},
		Compress:       true,
		CompressBrotli: true,
		// a new version of the program may have other files; entity tags make revalidation
		// cheap
		CacheControl: "no-cache",
		StrongETag:   true,
	}
	return fs.NewRequestHandler()
}

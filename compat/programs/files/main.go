// Command files reports how files are served: the status, the fields and the content of
// responses from a small tree, under many settings of FS and through the functions around it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/compat/internal/report"
)

func main() {
	defer report.Flush()
	dir, err := os.MkdirTemp("", "compat-files")
	if err == nil {
		defer os.RemoveAll(dir)
		err = run(dir)
	}
	if err != nil {
		report.Flush()
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string) error {
	// every setting has a separate tree, since compressed files are written into it
	for _, set := range settings() {
		base := filepath.Join(dir, set.id)
		root, err := plant(base)
		if err != nil {
			return err
		}
		fs := set.make(root)
		stop := make(chan struct{})
		fs.CleanStop = stop
		h := fs.NewRequestHandler()
		for _, r := range append(requests(), set.own...) {
			// the second response is from the cache
			for _, turn := range []string{"first", "again"} {
				ask(set.id+"/"+r.name()+"/"+turn, h, r)
			}
		}
		close(stop)
	}
	root, err := plant(filepath.Join(dir, "functions"))
	if err != nil {
		return err
	}
	functions(root)
	rewriters()
	return nil
}

// ask calls h for a request and prints the response.
func ask(id string, h fasthttp.RequestHandler, r request) {
	report.Run(id, func(c *report.Case) {
		var ctx fasthttp.RequestCtx
		var req fasthttp.Request
		req.Header.SetMethod(r.method)
		req.SetRequestURI(r.target)
		req.Header.SetHost("example.com")
		for _, f := range r.fields {
			req.Header.Set(f[0], f[1])
		}
		ctx.Init(&req, nil, silent{})
		h(&ctx)
		describe(c, &ctx, r)
	})
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// Command files is the file server that the socket benchmarks measure. The module file with
// which it is built selects its fasthttp.
package main

import (
	"flag"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/valyala/fasthttp/bench/internal/serving"
)

var root = flag.String("root", ".", "folder to serve")

func main() { serving.Main(serve) }

func serve(ln net.Listener, job serving.Job) error {
	files := &fasthttp.FS{Root: *root, Compress: true, AcceptByteRange: true, CacheDuration: time.Minute}
	s := &fasthttp.Server{Handler: files.NewRequestHandler(), Logger: silent{}}
	if job.TLS() {
		return s.ServeTLS(ln, job.Cert, job.Key)
	}
	return s.Serve(ln)
}

// silent is a logger. The published package logs every missing file.
type silent struct{}

func (silent) Printf(string, ...any) {}

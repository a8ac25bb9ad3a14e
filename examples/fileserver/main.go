// Command fileserver serves the files of a directory over HTTP or HTTPS, with
// compression, byte ranges, index pages and an access log. After SIGINT or SIGTERM it
// completes running responses, and ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		log.SetFlags(0)
		log.Fatalf("fileserver: %v", err)
	}
}

// options has the options of the command line.
type options struct {
	addr, dir, copies, index string
	cert, key                string
	compress, ranges, pages  bool
	tags, links, quiet       bool
	maxAge, grace            time.Duration
}

func parse(args []string, output io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("fileserver", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.Usage = func() {
		fmt.Fprint(output, "usage: fileserver [options] [directory]\n\nServes a directory, the current one by default.\n\n")
		flags.PrintDefaults()
	}
	flags.StringVar(&o.addr, "addr", "localhost:8080", "the `address` to listen on; :8080 is reachable from other machines")
	flags.StringVar(&o.index, "index", "index.html", "the `names` of files that are served for their directory, separated by commas")
	flags.BoolVar(&o.pages, "pages", true, "list directories that have no index file")
	flags.BoolVar(&o.ranges, "ranges", true, "answer requests for parts of files: downloads can be resumed, videos wound")
	flags.BoolVar(&o.tags, "etag", true, "send entity tags")
	flags.BoolVar(&o.compress, "compress", true, "compress what gains from it, with gzip, brotli or zstd")
	flags.StringVar(&o.copies, "copies", "", "the `directory` for compressed copies; a temporary one by default")
	flags.BoolVar(&o.links, "follow", false, "follow symbolic links that lead out of the directory")
	flags.DurationVar(&o.maxAge, "max-age", 0, "for how long clients may use a file without asking again")
	flags.StringVar(&o.cert, "cert", "", "the `file` of a TLS certificate; with -key it makes this an HTTPS server")
	flags.StringVar(&o.key, "key", "", "the `file` of the certificate's key")
	flags.BoolVar(&o.quiet, "quiet", false, "write no access log")
	flags.DurationVar(&o.grace, "grace", 10*time.Second, "how long to wait for transfers at the end")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.dir = "."
	switch flags.NArg() {
	case 0:
	case 1:
		o.dir = flags.Arg(0)
	default:
		return o, fmt.Errorf("one directory can be served, not %d", flags.NArg())
	}
	if (o.cert == "") != (o.key == "") {
		return o, errors.New("-cert and -key go together")
	}
	return o, nil
}

// run serves until ctx ends.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	root, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	if info, err := os.Stat(root); err != nil {
		return err
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a directory", root)
	}
	if o.compress && o.copies == "" {
		// compressed copies must not be left beside the served files
		temp, err := os.MkdirTemp("", "fileserver")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temp)
		o.copies = temp
	}
	ln, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}

	out := &lines{w: stdout}
	stop := make(chan struct{})
	defer close(stop)
	server := &fasthttp.Server{
		Name:        "fileserver",
		Handler:     handler(o, root, stop, out),
		ReadTimeout: time.Minute,
		// a large file takes long on a slow line, but not without a limit
		WriteTimeout: 6 * time.Hour,
		IdleTimeout:  2 * time.Minute,
		Logger:       out,
		// 0 would be the default
		ShutdownTimeout: max(o.grace, 1),
	}
	out.Printf("serving %s on %s", root, address(ln.Addr(), o.cert != ""))
	if o.cert != "" {
		err = server.RunTLS(ctx, o.cert, o.key, ln)
	} else {
		err = server.Run(ctx, ln)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("transfers were cut off: %w", err)
	} else if err != nil {
		return err
	}
	out.Printf("stopped")
	return nil
}

// handler returns the handler of files, with the features of the options.
func handler(o options, root string, stop chan struct{}, out *lines) fasthttp.RequestHandler {
	files := &fasthttp.FS{
		Root:                     root,
		IndexNames:               strings.FieldsFunc(o.index, func(r rune) bool { return r == ',' || r == ' ' }),
		GenerateIndexPages:       o.pages,
		AcceptByteRange:          o.ranges,
		GenerateETag:             o.tags,
		Compress:                 o.compress,
		CompressBrotli:           o.compress,
		CompressZstd:             o.compress,
		CompressRoot:             o.copies,
		AllowSymlinksOutsideRoot: o.links,
		CleanStop:                stop,
	}
	serve := files.NewRequestHandler()
	cacheControl := "no-cache"
	if o.maxAge > 0 {
		cacheControl = "public, max-age=" + strconv.Itoa(int(o.maxAge.Seconds()))
	}
	return func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.Set("Cache-Control", cacheControl)
		ctx.Response.Header.Set("X-Content-Type-Options", "nosniff")
		serve(ctx)
		if !o.quiet {
			logAccess(out, ctx)
		}
	}
}

// logAccess writes a line about a response: the client, the time, the request, and the
// status, size and coding of the content.
func logAccess(out *lines, ctx *fasthttp.RequestCtx) {
	size := ctx.Response.Header.ContentLength()
	if !ctx.IsBodyStream() && !ctx.Response.SkipBody {
		size = len(ctx.Response.Body())
	}
	coding := ctx.Response.Header.ContentEncoding()
	if len(coding) == 0 {
		coding = []byte("-")
	}
	request := fmt.Sprintf("%s %s", ctx.Method(), ctx.RequestURI())
	out.Printf("%s %s %q %d %d %s", ctx.RemoteIP(), ctx.Time().Format(time.RFC3339), request, ctx.Response.StatusCode(), size, coding)
}

// address returns the URL of the server, for a browser.
func address(addr net.Addr, tls bool) string {
	scheme := "http"
	if tls {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port) + "/"
}

// lines writes whole lines, one at a time. It is a fasthttp.Logger.
type lines struct {
	mu sync.Mutex
	w  io.Writer
}

// Printf implements fasthttp.Logger.
func (l *lines) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, format+"\n", args...)
}
